# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What an experiment is: its claims, its runs and its picture.

A picture is a `matplotlib.figure.Figure`, made without pyplot and given to `save` at the end.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
import math
from typing import Any, cast, Protocol, TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from matplotlib.figure import Figure

    from two_manifold_ros.recordings.recording import Recording

    Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Claim:
    """
    A claim, what the paper says about it, what is found here, and whether that will do.

    Parameters
    ----------
    what
        The claim in a few words, units and limit included.
    paper
        The paper's number, or which of its pictures shows it.
    ours
        What was measured, as text.
    passed
        Whether the claim holds.
    value, limit
        What was measured and what it is held against, where the claim is about a number that is
        one.

    """

    what: str
    paper: str
    ours: str
    passed: bool
    value: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return 'pass' if self.passed else 'fail'


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
class Attempt:
    """
    How the run of an experiment ended.

    Parameters
    ----------
    experiment
        What ran.
    seconds
        How long, by the clock on the wall.
    claims
        What it came to; none if it broke off.
    error
        Why it broke off, or nothing.

    """

    experiment: Experiment
    seconds: float
    claims: tuple[Claim, ...] = ()
    error: str = ''

    @property
    def passed(self) -> bool:
        """Whether it came to an end and every claim passes."""
        return not self.error and all(claim.passed for claim in self.claims)

    @property
    def score(self) -> str:
        """How many of the claims pass, or that it broke off."""
        if self.error:
            return 'broke off'
        return f'{sum(claim.passed for claim in self.claims)} of {len(self.claims)}'

    @property
    def picture(self) -> str | None:
        """Name of the file with the picture, if it came that far."""
        return None if self.error else self.experiment.picture

    def to_json(self) -> dict[str, Any]:
        """Return what `two-manifold reproduce --json` says about it."""
        return {
            **self.experiment.to_json(),
            'picture': self.picture,
            'claims': [vars(claim) for claim in self.claims],
            'passed': self.passed,
            'seconds': round(self.seconds, 1),
            'error': self.error or None,
        }


BLUE, VERMILION, GREEN, PURPLE = '#0072B2', '#D55E00', '#009E73', '#CC79A7'
ORANGE, SKY, GREY = '#E69F00', '#56B4E9', '#a6a6a6'
"""Okabe and Ito's colours, which colour-blind people tell apart, and a grey for what is given."""

Axes: TypeAlias = Any
"""Axes of a figure, which matplotlib hands out as anything."""

_DOTS_PER_INCH = 110


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG; the same figure gives the same bytes."""
    figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={'Software': None})


Item = TypeVar('Item')

_END = object()


def reading_ahead(items: Iterator[Item], most: int) -> Iterator[Item]:
    """
    Yield the same items in the same order, which one thread makes ahead of their use.

    Parameters
    ----------
    items
        What they are made by: another core is of use to it as far as it leaves the interpreter
        alone, as NumPy does in long operations.
    most
        Items that are ready, at most.

    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix='reading_ahead') as thread:
        ready: deque[Future[object]] = deque(thread.submit(next, items, _END) for _ in range(most))
        while (item := ready.popleft().result()) is not _END:
            ready.append(thread.submit(next, items, _END))
            yield cast('Item', item)


class Run(Protocol):
    """
    The function ``run`` in the module of an experiment.

    It writes ``NAME.png``, as the experiment is named, into a folder that exists, calls
    ``progress`` with what is done and the fraction done so far, and returns its claims. The same
    call writes the same bytes and returns the same claims. With ``quick`` it is a small one for
    the test suite, with limits to match. Only where the experiment takes recordings is it called
    with the keyword ``recordings``.
    """

    def __call__(self, folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
        """Run the experiment."""


@dataclass(frozen=True)
class Experiment:
    """
    An experiment by name; its module is imported only when it is loaded.

    Parameters
    ----------
    name
        As on the command line; the module has underscores for hyphens.
    shows
        What it shows, in one sentence.
    paper
        Where in which paper.
    takes_recordings
        Whether it can also run on recordings, of which it needs the IMU only.

    """

    name: str
    shows: str
    paper: str
    takes_recordings: bool = False

    @property
    def picture(self) -> str:
        """Name of the file that a run writes."""
        return f'{self.name}.png'

    def to_json(self) -> dict[str, str]:
        """Return what `two-manifold reproduce --list --json` says about it."""
        return {'name': self.name, 'shows': self.shows, 'paper': self.paper}

    def load(self) -> Run:
        """
        Import what the experiment needs and return what runs it.

        Raises
        ------
        ModuleNotFoundError
            Without a package of the offline extra.

        """
        name = self.name.replace('-', '_')
        module: Any = import_module(f'{__package__}.{name}')
        run: Run = module.run
        return run

    def run(
        self,
        folder: Path,
        progress: Progress,
        *,
        quick: bool = False,
        recordings: Sequence[Recording] = (),
    ) -> list[Claim]:
        """Run the experiment, see `Run`; recordings go to one that takes them."""
        run: Any = self.load()
        given = {'recordings': tuple(recordings)} if self.takes_recordings else {}
        claims: list[Claim] = run(folder, progress, quick=quick, **given)
        return claims
