# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an experiment is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.recordings.recording import Recording

    Progress = Callable[[str, float], None]


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
