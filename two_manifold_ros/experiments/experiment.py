# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an experiment is made of, its claims and picture, and the table of all experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
import math
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import did_you_mean, InputError
from two_manifold_ros.files import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what is being done and the fraction done so far."""


BLUE, VERMILION, GREEN = '#0072B2', '#D55E00', '#009E73'
SKY, GREY = '#56B4E9', '#a6a6a6'
"""Okabe and Ito's colours, which colour-blind people distinguish, and a grey for the given."""


@dataclass(frozen=True)
class Claim:
    """A claim with the paper's and our own result."""

    what: str  # in a few words, units and limit included
    paper: str  # the paper's number, or which of its pictures shows it
    ours: str  # the measured result
    passed: bool | None  # None without a limit
    value: float | None = None  # measured number if finite, as JSON has no other; and its limit
    limit: float | None = None


def _limited(
    side: str, what: str, paper: str, ours: float, limit: float | None, note: str = ''
) -> Claim:
    """Claim that a number, with a note behind it, keeps a limit if there is one; NaN does not."""
    shown, value = f'{ours:.3g}{note}', float(ours) if math.isfinite(ours) else None
    if limit is None:
        return Claim(f'{what}, no limit', paper, shown, None, value)
    passed = bool(ours <= limit if side == 'most' else ours >= limit)
    return Claim(f'{what}, at {side} {limit:.3g}', paper, shown, passed, value, float(limit))


at_most, at_least = partial(_limited, 'most'), partial(_limited, 'least')


class Runner(NamedTuple):
    """An experiment: settings and functions that are called one after the other."""

    usual: Any  # with the number of ``trials``, each of a seed of its own
    quick: Any  # of a small form for the test suite, with limits to match
    fit: Callable[[Any, int, Progress], Any]  # simulates and learns from the draw of a seed
    score: Callable[[Any, list[Any]], list[Claim]]  # of what was found in all draws
    draw: Callable[[list[Any]], list[Panel]]  # the panels of a picture
    # Settings that take recordings in place of draws, where there is a way.
    on: Callable[[Any, Sequence[Recording]], Any] | None = None

    def __call__(
        self, progress: Progress, *, quick: bool, seed: int, recordings: Sequence[Recording] = ()
    ) -> tuple[list[Claim], Figure]:
        """Return claims and picture of a set of draws; no two sets have a seed in common."""
        settings = self.quick if quick else self.usual
        if recordings and self.on:
            settings = self.on(settings, recordings)
        found, count = [], settings.trials
        for index, each in enumerate(range(count * seed, count * (seed + 1))):

            def report(what: str, share: float, index: int = index) -> None:
                progress(f'draw {index + 1} of {count}: {what}', (index + share) / count)

            report('simulating', 0.0)
            found.append(self.fit(settings, each, report))
        progress('done', 1.0)
        return self.score(settings, found), _picture(self.draw(found))


layer = methodcaller
"""What is drawn by a method of axes, such as ``plot``: its name, and what it is given."""

Panel: TypeAlias = tuple[str, tuple[methodcaller, ...], dict[str, Any]]
"""A part of a picture: its title, layers, and what is set on its axes."""


def dots(places: Floats, colours: Floats, **style: Any) -> methodcaller:  # noqa: ANN401
    """Return (n, 2 or 3) places by (n,) or (n, 3) colours, 2,500 at most: pictures stay small."""
    style = {'s': 5.0, 'linewidths': 0, **style}
    return layer('scatter', *places[:2_500].T, c=colours[:2_500], **style)


def panel(title: str, *layers: methodcaller, **settings: Any) -> Panel:  # noqa: ANN401
    """Return a panel; ``solid`` axes have three dimensions, ``bar`` is the label of colours."""
    return title, layers, settings


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

    def load(self) -> Runner:
        """Import the experiment; raise ModuleNotFoundError without a package of the extra."""
        import_module('matplotlib')
        module, _, name = self.function.partition(':')
        runner: Runner = getattr(import_module(f'{__package__}.{module}'), name)
        return runner

    def run(self, folder: Path | None, progress: Progress, **how: Any) -> list[Claim]:  # noqa: ANN401 - of `Runner`
        """Run the experiment; unless there is no folder, write its picture there as PNG."""
        claims, figure = self.load()(progress, **how)
        if folder is not None:
            replace_file(
                folder / self.picture,
                lambda file: figure.savefig(file, dpi=110, metadata={'Software': None}),
                'picture',
            )
        return claims


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
        'A manifold HSE-HMM and its rivals predict where a slot car will be.',
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
        raise InputError(f'there is no experiment {name}{hint}; choose from {names} or {ALL}')
    return chosen
