# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trials of a tuning beside its model, so that one that was stopped goes on where it was."""

from __future__ import annotations

from dataclasses import asdict
import hashlib
import json
from math import isfinite, nan
import os
from pathlib import Path
import tempfile
from typing import Any, TYPE_CHECKING

from two_manifold_ros import __version__
from two_manifold_ros.comparison.sources import fingerprint
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.tuning.trial import Failure, Outcome, Trial

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from two_manifold_ros.recordings.recording import Recording

FORMAT = 'two_manifold tuning 1'


def key_of(
    recordings: Sequence[Recording], settings: TrainingSettings, given: Collection[str]
) -> str:
    """Return a hash of all that a table of trials depends on: data, settings and program."""
    digest = hashlib.sha256(f'{__version__} {settings} {sorted(given)}'.encode())
    digest.update(fingerprint('two_manifold_ros.tuning.trial_bench').encode())
    for recording in recordings:
        imu, positions = recording.imu, recording.positions
        arrays = [imu.stamps, imu.samples]
        if positions is not None:
            arrays += [positions.stamps, positions.positions]
        for array in arrays:
            digest.update(f'{array.dtype.str} {array.shape}'.encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


class Journal:
    """
    A file of trials, written anew and atomically after each.

    Parameters
    ----------
    path
        Of the file.
    key
        From ``key_of``; trials under another key are forgotten.
    resume
        Whether to read what is there.

    Raises
    ------
    InputError
        If the file is there and no journal.

    """

    def __init__(self, path: Path, key: str, *, resume: bool = True) -> None:
        self.path = path
        self._key = key
        self._outcomes: dict[str, Outcome] = {}
        content = _content(path) if path.exists() else {}
        if resume and content.get('key') == key:
            self._outcomes = {row['settings']: _outcome(row) for row in content['trials']}

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self._outcomes)

    @property
    def start(self) -> TrainingSettings | None:
        """The settings tried first, from which the others follow."""
        for name in self._outcomes:
            values = json.loads(name)
            return TrainingSettings(**values | {'horizons': tuple(values['horizons'])})
        return None

    def find(self, settings: TrainingSettings) -> Outcome | None:
        """Return the outcome of settings that were tried."""
        return self._outcomes.get(_name(settings))

    def keep(self, settings: TrainingSettings, outcome: Outcome) -> None:
        """
        Add an outcome.

        Raises
        ------
        InputError
            If the file cannot be written.

        """
        self._outcomes[_name(settings)] = outcome
        rows = [{'settings': name} | _row(each) for name, each in self._outcomes.items()]
        content = {'format': FORMAT, 'key': self._key, 'trials': rows}
        _write(self.path, json.dumps(content, indent=1, allow_nan=False))


def _name(settings: TrainingSettings) -> str:
    return json.dumps(asdict(settings))


def _row(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {'reason': outcome.reason}
    blocks = [[lap if isfinite(lap) else None for lap in block] for block in outcome.blocks]
    return {'score_m': outcome.score_m, 'blocks': blocks}


def _outcome(row: dict[str, Any]) -> Outcome:
    if 'reason' in row:
        return Failure(row['reason'])
    blocks = [tuple(nan if lap is None else lap for lap in block) for block in row['blocks']]
    return Trial(row['score_m'], tuple(blocks))


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
        if content['format'] == FORMAT:
            return dict(content)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    msg = f'{path} exists and is no journal of a tuning: move it, or name another model'
    raise InputError(msg)


def _write(path: Path, text: str) -> None:
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
        temporary = Path(name)
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        msg = f'{path}: the trials cannot be written ({error.strerror}); choose another folder'
        raise InputError(msg) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
