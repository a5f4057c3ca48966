# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of experiments, the claims that they check and how a run of one ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
import math
import statistics
from typing import Any, TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import did_you_mean, InputError
from two_manifold_ros.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from two_manifold_ros.recordings.recording import Recording

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done and the fraction done so far."""

Findings: TypeAlias = 'tuple[list[Claim], Figure]'
"""
What the function of an experiment returns: its claims and its picture.

It is called with a `Progress`; with ``quick``, which asks for a small form for the test suite with
limits to match; and with ``seed``, the number of a set of draws (`seeds_of_set`). One that takes
recordings is called with ``recordings`` as well. The same call returns the same claims and the
same picture, made without pyplot.
"""

Axes: TypeAlias = Any
"""Axes of a figure, which are untyped in matplotlib."""


class Colour(str, Enum):
    """Okabe and Ito's colours, which colour-blind people distinguish, and a grey for the given."""

    BLUE = '#0072B2'
    VERMILION = '#D55E00'
    GREEN = '#009E73'
    PURPLE = '#CC79A7'
    ORANGE = '#E69F00'
    SKY = '#56B4E9'
    GREY = '#a6a6a6'


@dataclass(frozen=True)
class Claim:
    """A claim with the paper's and our own result."""

    what: str  # in a few words, units and limit included
    paper: str  # the paper's number, or which of its pictures shows it
    ours: str  # the measured result
    passed: bool
    value: float | None = None  # measured number and its limit, where the claim has finite ones
    limit: float | None = None
    varies: bool = False  # of time or memory, which no two runs have the same

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return verdict(passed=self.passed)


def verdict(*, passed: bool) -> str:
    """Return ``pass`` or ``fail``."""
    return 'pass' if passed else 'fail'


def at_most(what: str, paper: str, ours: float, limit: float) -> Claim:
    """Claim that a number is no more than a limit; NaN fails."""
    return _number(f'{what}, at most {limit:.3g}', paper, ours, limit, passed=ours <= limit)


def at_least(what: str, paper: str, ours: float, limit: float) -> Claim:
    """Claim that a number is no less than a limit; NaN fails."""
    return _number(f'{what}, at least {limit:.3g}', paper, ours, limit, passed=ours >= limit)


def _number(what: str, paper: str, ours: float, limit: float, *, passed: bool) -> Claim:
    # JSON has no number for what is not finite.
    value = float(ours) if math.isfinite(ours) else None
    return Claim(what, paper, f'{ours:.3g}', bool(passed), value, float(limit))


@dataclass(frozen=True)
class Experiment:
    """An experiment by name; its module is imported only when it is loaded."""

    name: str  # as on the command line
    shows: str  # its result, in one sentence
    paper: str  # where in which paper
    function: str  # ``module:function`` in this folder, see `Findings`
    takes_recordings: bool = False  # whether it can also run on recordings, by their IMU

    @property
    def picture(self) -> str:
        """Name of the file that a run writes."""
        return f'{self.name}.png'

    def to_json(self) -> dict[str, str]:
        """Return the entry of ``two-manifold reproduce --list --json``."""
        return {'name': self.name, 'shows': self.shows, 'paper': self.paper}

    def load(self) -> Callable[..., Findings]:
        """
        Import and return the function of the experiment.

        Raises
        ------
        ModuleNotFoundError
            Without a package of the offline extra.

        """
        module, _, name = self.function.partition(':')
        function: Callable[..., Findings] = getattr(import_module(f'{__package__}.{module}'), name)
        return function

    def run(
        self,
        folder: Path | None,
        progress: Progress,
        *,
        quick: bool = False,
        seed: int = 0,
        recordings: Sequence[Recording] = (),
    ) -> list[Claim]:
        """
        Run the experiment and write its picture as PNG: the same run writes the same bytes.

        Without a folder nothing is written.
        """
        given = {'recordings': tuple(recordings)} if self.takes_recordings else {}
        claims, figure = self.load()(progress, quick=quick, seed=seed, **given)
        if folder is not None:
            replace_file(
                folder / self.picture,
                lambda file: figure.savefig(file, dpi=110, metadata={'Software': None}),
                'picture',
            )
        return claims


def seeds_of_set(seed: int, count: int) -> range:
    """Return the ``count`` seeds of a set of draws: no other set has one of them."""
    return range(count * seed, count * (seed + 1))


def part_of(progress: Progress, name: str, index: int, count: int) -> Progress:
    """Return the progress of one of several runs, by name."""
    return lambda what, share: progress(f'{name}: {what}', (index + share) / count)


@dataclass(frozen=True)
class Attempt:
    """Outcome of an experiment on a set of draws: claims and wall-clock time, or an error."""

    experiment: Experiment
    seconds: float
    claims: tuple[Claim, ...] = ()
    error: str = ''

    @property
    def passed(self) -> bool:
        """True if the experiment ended and every claim passes."""
        return not self.error and all(claim.passed for claim in self.claims)

    @property
    def score(self) -> str:
        """Number of claims that pass, or a note that the experiment broke off."""
        if self.error:
            return 'broke off'
        return f'{sum(claim.passed for claim in self.claims)} of {len(self.claims)}'

    @property
    def picture(self) -> str | None:
        """Name of the file with the picture, if it came that far."""
        return None if self.error else self.experiment.picture

    def to_json(self) -> dict[str, Any]:
        """Return its entry in ``two-manifold reproduce --json``."""
        return {
            **self.experiment.to_json(),
            'picture': self.picture,
            'claims': [vars(claim) for claim in self.claims],
            'passed': self.passed,
            'seconds': round(self.seconds, 1),
            'error': self.error or None,
        }


REQUIRED_SHARE = 0.9
"""
Share of the sets of draws on which a claim has to pass.

A claim whose number has the spread of its draws fails now and then by chance; one that fails on
more than one set in ten depends on the draws.
"""


@dataclass(frozen=True)
class Tally:
    """A claim over several sets of draws."""

    what: str
    paper: str
    sets: int  # number of sets, those included on which the experiment broke off
    passes: int  # number of sets on which the claim passes
    values: tuple[float, ...]  # measured numbers, where they are finite
    limit: float | None

    @property
    def score(self) -> str:
        """On how many of the sets the claim passes; empty where it has no limit."""
        return '' if self.limit is None else f'{self.passes} of {self.sets}'

    @property
    def passed(self) -> bool:
        """True if the claim passes on enough of the sets."""
        return self.passes >= REQUIRED_SHARE * self.sets

    @property
    def mean(self) -> float | None:
        """Mean of the measured numbers."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def spread(self) -> float | None:
        """Standard deviation of the measured numbers from set to set."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """Return its entry in ``two-manifold reproduce --sets --json``."""
        figures = {'mean': self.mean, 'spread': self.spread, 'passed': self.passed}
        return {**vars(self), **figures}


@dataclass(frozen=True)
class Series:
    """Attempts of one experiment on several sets of draws, one after the other."""

    first: int  # set of the first attempt
    attempts: tuple[Attempt, ...]

    @property
    def experiment(self) -> Experiment:
        """The experiment of all attempts."""
        return self.attempts[0].experiment

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Each claim over all sets, in the order of the claims."""
        found: dict[str, list[Claim]] = {}
        for attempt in self.attempts:
            for claim in attempt.claims:
                found.setdefault(claim.what, []).append(claim)
        return tuple(
            Tally(
                what,
                claims[0].paper,
                len(self.attempts),
                sum(claim.passed for claim in claims),
                tuple(claim.value for claim in claims if claim.value is not None),
                claims[0].limit,
            )
            for what, claims in found.items()
        )

    @property
    def errors(self) -> dict[int, str]:
        """Reason by set, for those on which the experiment broke off."""
        attempts = enumerate(self.attempts, start=self.first)
        return {number: each.error for number, each in attempts if each.error}

    @property
    def passed(self) -> bool:
        """True if every claim passes on enough of the sets."""
        tallies = self.tallies
        return bool(tallies) and all(tally.passed for tally in tallies)

    @property
    def score(self) -> str:
        """Number of claims that pass on enough of the sets."""
        tallies = self.tallies
        return f'{sum(tally.passed for tally in tallies)} of {len(tallies)}'

    @property
    def seconds(self) -> float:
        """Wall-clock time of all sets."""
        return sum(each.seconds for each in self.attempts)

    @property
    def picture(self) -> str | None:
        """Name of the file with the picture of the first set, if it came that far."""
        return self.attempts[0].picture

    def to_json(self) -> dict[str, Any]:
        """Return its entry in ``two-manifold reproduce --sets --json``."""
        return {
            **self.experiment.to_json(),
            'first': self.first,
            'sets': len(self.attempts),
            'claims': [tally.to_json() for tally in self.tallies],
            'passed': self.passed,
            'picture': self.picture,
            'seconds': round(self.seconds, 1),
            'errors': self.errors,
        }


EXPERIMENTS = (
    Experiment(
        'swiss-rolls',
        'Two noisy Swiss rolls of one sheet are unrolled together where neither is alone.',
        'Boots & Gordon 2012, Figs. 1 and 2',
        'two_views:run_swiss_rolls',
    ),
    Experiment(
        'linear-iv',
        'A second view removes the bias that noise gives to principal components.',
        'Boots & Gordon 2012, section 3.1',
        'two_views:run_linear_iv',
    ),
    Experiment(
        'slot-car',
        'A manifold HSE-HMM predicts where a simulated slot car will be, better than its rivals.',
        'Boots & Gordon 2012, Fig. 3',
        'slot_car:run',
    ),
    Experiment(
        'nlica-square',
        'Brownian motion in a square is recovered behind a map that bends the square.',
        'Singer & Coifman 2008, Figs. 1 to 4',
        'independent_components:run_square',
    ),
    Experiment(
        'nlica-sphere',
        'A mushroom on the sphere is mapped back to the square that it came from.',
        'Singer & Coifman 2008, Figs. 6 and 7',
        'independent_components:run_sphere',
    ),
    Experiment(
        'slow-manifold',
        'The slow variable of a system is found behind the fast one that hides it.',
        'Singer & Coifman 2008, section 1',
        'slow_manifold:run',
    ),
    Experiment(
        'mkdr-torus',
        'A response on a torus is linear in one direction of the eigenvectors of its graph.',
        'Nilsson, Sha & Jordan 2007, Figs. 1 to 3',
        'mkdr:run_torus',
    ),
    Experiment(
        'mkdr-sphere',
        'A simulated temperature on the globe is linear in one direction of graph eigenvectors.',
        'Nilsson, Sha & Jordan 2007, Figs. 4 and 5',
        'mkdr:run_sphere',
    ),
    Experiment(
        'mkdr-images',
        'Eigenvectors that show how a rendered object is turned are found among many others.',
        'Nilsson, Sha & Jordan 2007, Figs. 6 and 7',
        'mkdr_images:run',
    ),
    Experiment(
        'rr-hmm',
        'Learned eigenvalues of a reduced-rank HMM converge to the true ones as samples add up.',
        'Boots & Gordon 2011, Fig. 1',
        'rr_hmm:run',
    ),
    Experiment(
        'slot-car-online',
        'Learned online, random features predict a simulated IMU as well as the HSE-HMM does.',
        'Boots & Gordon 2011, Fig. 2',
        'slot_car_online:run',
        takes_recordings=True,
    ),
    Experiment(
        'actions',
        'Commands as actions, weighted, predict a simulated IMU under another driver.',
        'Boots & Gordon 2011, present features and importance weights',
        'actions:run',
    ),
    Experiment(
        'video',
        'Learned online from a rendered film, the map of a room closes when the camera returns.',
        'Boots & Gordon 2011, Fig. 3',
        'video:run',
    ),
)

ALL = 'all'
"""The name that stands for every experiment."""


def experiments_named(name: str) -> tuple[Experiment, ...]:
    """
    Return the experiment of a name, or all of them.

    Raises
    ------
    InputError
        If there is no experiment of that name.

    """
    chosen = tuple(each for each in EXPERIMENTS if name in {each.name, ALL})
    if not chosen:
        names = ', '.join(each.name for each in EXPERIMENTS)
        hint = did_you_mean(name, (each.name for each in EXPERIMENTS))
        msg = f'there is no experiment {name}{hint}; choose from {names} or {ALL}'
        raise InputError(msg)
    return chosen
