# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an experiment is made of, its claims and picture, how a run ended, and the table of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
import itertools
import math
from operator import methodcaller
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import did_you_mean, InputError
from two_manifold_ros.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from two_manifold_ros.typing import Floats

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done and the fraction done so far."""


class Colour(str, Enum):
    """Okabe and Ito's colours, which colour-blind people distinguish, and a grey for the given."""

    BLUE = '#0072B2'
    VERMILION = '#D55E00'
    GREEN = '#009E73'
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


def verdict(*, passed: bool) -> str:
    """Return ``pass`` or ``fail``."""
    return 'pass' if passed else 'fail'


def at_most(what: str, paper: str, ours: float, limit: float | None, note: str = '') -> Claim:
    """Claim that a number is no more than a limit; NaN fails, and ``None`` is no limit."""
    if limit is None:
        return _number(f'{what}, no limit', paper, ours, None, note, passed=True)
    words = f'{what}, at most {limit:.3g}'
    return _number(words, paper, ours, limit, note, passed=ours <= limit)


def at_least(what: str, paper: str, ours: float, limit: float, note: str = '') -> Claim:
    """Claim that a number is no less than a limit; NaN fails. The note stands behind it."""
    words = f'{what}, at least {limit:.3g}'
    return _number(words, paper, ours, limit, note, passed=ours >= limit)


def _number(
    what: str, paper: str, ours: float, limit: float | None, note: str, *, passed: bool
) -> Claim:
    # JSON has no number for what is not finite.
    value = float(ours) if math.isfinite(ours) else None
    shown = f'{ours:.3g}{note}'
    return Claim(what, paper, shown, bool(passed), value, None if limit is None else float(limit))


class Runner(NamedTuple):
    """An experiment: settings and functions that are called one after the other."""

    usual: Any  # with the number of ``trials``, each of a seed of its own
    quick: Any  # of a small form for the test suite, with limits to match
    fit: Callable[[Any, int, Progress], Any]  # simulates and learns from the draw of a seed
    score: Callable[[Any, list[Any]], list[Claim]]  # of what was found in all draws
    draw: Callable[[list[Any]], list[Panel]]  # the panels of a picture

    def __call__(
        self, progress: Progress, *, quick: bool, seed: int = 0
    ) -> tuple[list[Claim], Figure]:
        """Return claims and picture of a set of draws; no two sets have a seed in common."""
        settings = self.quick if quick else self.usual
        found, count = [], settings.trials
        for index, each in enumerate(range(count * seed, count * (seed + 1))):

            def report(what: str, share: float, index: int = index) -> None:
                progress(f'draw {index + 1} of {count}: {what}', (index + share) / count)

            report('simulating', 0.0)
            found.append(self.fit(settings, each, report))
        progress('done', 1.0)
        return self.score(settings, found), _picture(self.draw(found))


Layer: TypeAlias = methodcaller
layer = methodcaller
"""What is drawn by a method of axes, such as ``plot``: its name, and what it is given."""


class Panel(NamedTuple):
    """A part of a picture: layers, and what is set on its axes."""

    title: str
    layers: tuple[Layer, ...]
    settings: dict[str, Any]


def curves(
    x: Floats,
    named: Mapping[str, Floats],
    *markers: str,
    **style: Any,  # noqa: ANN401 - as above
) -> list[Layer]:
    """Return a curve over (n,) with a label, and a marker if there are some, of each of (n,)."""
    marked = itertools.zip_longest(named.items(), markers)
    return [
        layer('plot', x[: len(y)], y, *filter(None, (marker,)), label=name, **style)
        for (name, y), marker in marked
    ]


def dots(places: Floats, colours: Floats, **style: Any) -> Layer:  # noqa: ANN401 - as above
    """Return (n, 2 or 3) places by (n,) or (n, 3) colours, 2,500 at most: pictures stay small."""
    style = {'s': 5.0, 'linewidths': 0, **style}
    return layer('scatter', *places[:2_500].T, c=colours[:2_500], **style)


def panel(title: str, *layers: Layer, **settings: Any) -> Panel:  # noqa: ANN401 - as above
    """Return a panel; ``solid`` axes have three dimensions, ``bar`` is the label of colours."""
    return Panel(title, layers, settings)


def _picture(panels: list[Panel]) -> Figure:
    """Draw panels row by row, with a legend where layers have labels."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - not needed to list experiments

    # Panels are about as high as wide, and pages wider than high.
    columns = round(math.sqrt(1.5 * len(panels)))
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(4.2 * columns, 3.6 * rows), layout='constrained')
    for place, (title, layers, given) in enumerate(panels, start=1):
        settings = dict(given)
        projection = '3d' if settings.pop('solid', False) else None
        bar = settings.pop('bar', '')
        axes: Any = figure.add_subplot(rows, columns, place, projection=projection)
        for each in layers:
            drawn = each(axes)
        axes.set(**settings)
        axes.set_title(title, fontsize='medium')
        if bar:
            figure.colorbar(drawn, ax=axes, label=bar, shrink=0.8)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize='x-small')
    return figure


class Experiment(NamedTuple):
    """An experiment by name; its module is imported only when it is loaded."""

    name: str  # as on the command line
    shows: str  # its result, in one sentence
    paper: str  # where in which paper
    function: str  # ``module:name`` of a `Runner` in this folder

    @property
    def picture(self) -> str:
        """Name of the file that a run writes."""
        return f'{self.name}.png'

    def to_json(self) -> dict[str, str]:
        """Return the entry of ``two-manifold reproduce --list --json``."""
        return {name: getattr(self, name) for name in ('name', 'shows', 'paper')}

    def load(self) -> Runner:
        """Import the experiment; raise ModuleNotFoundError without a package of the extra."""
        import_module('matplotlib')
        module, _, name = self.function.partition(':')
        runner: Runner = getattr(import_module(f'{__package__}.{module}'), name)
        return runner

    def run(
        self, folder: Path | None, progress: Progress, *, quick: bool = False, seed: int = 0
    ) -> list[Claim]:
        """Run the experiment; unless there is no folder, write its picture there as PNG."""
        claims, figure = self.load()(progress, quick=quick, seed=seed)
        if folder is not None:
            replace_file(
                folder / self.picture,
                lambda file: figure.savefig(file, dpi=110, metadata={'Software': None}),
                'picture',
            )
        return claims


class Outcome(NamedTuple):
    """A run of an experiment: wall-clock time, and claims or why it broke off."""

    experiment: Experiment
    seconds: float
    claims: tuple[Claim, ...] = ()
    error: str = ''

    @property
    def passed(self) -> bool:
        """True if there are claims and all of them pass."""
        return bool(self.claims) and all(claim.passed for claim in self.claims)

    @property
    def score(self) -> str:
        """Number of claims that pass."""
        passed = [claim.passed for claim in self.claims]
        return f'{sum(passed)} of {len(passed)}' if passed else 'broke off'

    @property
    def picture(self) -> str | None:
        """Name of the file with the picture, if the run came that far."""
        return None if self.error else self.experiment.picture

    def to_json(self) -> dict[str, Any]:
        """Return its entry in ``two-manifold reproduce --json``."""
        return {
            **self.experiment.to_json(),
            'picture': self.picture,
            'passed': self.passed,
            'seconds': round(self.seconds, 1),
            'claims': [vars(claim) for claim in self.claims],
            'error': self.error or None,
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
        'independent_components:run_slow',
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
        'mkdr:run_images',
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
    """Return the experiment of a name, or all; raise ``InputError`` if there is none."""
    chosen = tuple(each for each in EXPERIMENTS if name in {each.name, ALL})
    if not chosen:
        names = ', '.join(each.name for each in EXPERIMENTS)
        hint = did_you_mean(name, (each.name for each in EXPERIMENTS))
        msg = f'there is no experiment {name}{hint}; choose from {names} or {ALL}'
        raise InputError(msg)
    return chosen
