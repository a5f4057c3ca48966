# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a model from recordings."""

from __future__ import annotations

import json
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.options import (
    add_bags,
    add_json,
    add_position_lag,
    add_topics,
    in_step,
    recordings_of,
    seconds,
)
from two_manifold_ros.cli.progress import Progress
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import training_warnings
from two_manifold_ros.kernels.selection import KERNELS
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.readout.reading import READOUTS
from two_manifold_ros.training.settings import OBSERVATIONS, TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.two_manifold.shared_directions import COUPLINGS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording

HELP = (
    'Learn a model from recordings with IMU and positions. What is not given is chosen from the '
    'data: the filter is run over blocks of the recordings that it did not see.'
)
_DEFAULTS = TrainingSettings()
_ZIP = b'PK\x03\x04'
"""How every model file begins."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_bags(parser)
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    add_topics(parser)
    parser.add_argument('--until', type=seconds, metavar='S', help='train on the first S seconds')
    add_position_lag(parser)
    number = parser.add_argument_group('numbers')
    number.add_argument(
        '--rate', type=float, metavar='HZ', help='ticks per second (default: 20, or the IMU rate)'
    )
    number.add_argument(
        '--window', type=int, metavar='TICKS', help='ticks in a window (default: three seconds)'
    )
    number.add_argument(
        '--states', type=int, metavar='K', help='dimension of the state (default: chosen)'
    )
    number.add_argument(
        '--neighbours',
        type=int,
        metavar='N',
        help='neighbours in the graph of the eigenmap (default: chosen)',
    )
    number.add_argument(
        '--dimension',
        type=int,
        default=_DEFAULTS.dimension,
        metavar='M',
        help='coordinates of each embedding (default: %(default)s)',
    )
    number.add_argument(
        '--horizons',
        default=','.join(map(str, _DEFAULTS.horizons)),
        metavar='TICKS,...',
        help='ticks ahead to predict, 0 first (default: %(default)s)',
    )
    choice = parser.add_argument_group('methods')
    choice.add_argument('--kernel', choices=KERNELS, default=_DEFAULTS.kernel)
    choice.add_argument('--coupling', choices=COUPLINGS, default=_DEFAULTS.coupling)
    choice.add_argument('--observation', choices=OBSERVATIONS, default=_DEFAULTS.observation)
    choice.add_argument('--readout', choices=READOUTS, default=_DEFAULTS.readout)
    add_json(parser)


def run(args: Namespace) -> int:
    """Train, save and report; return 0."""
    settings = _settings(args)
    _check_output(Path(args.output))
    recordings = in_step(_training_part(args), args)
    _warn(recordings, args.rate)
    began = time.monotonic()
    with Progress('training') as progress:
        model = train_model(recordings, settings, progress)
    took_s = time.monotonic() - began
    save_model(model, args.output)
    if args.json:
        print(json.dumps(_content(args, model, took_s), indent=2, allow_nan=False))
    else:
        _print(args, model, took_s)
    return 0


def _settings(args: Namespace) -> TrainingSettings:
    return TrainingSettings(
        rate_hz=args.rate,
        window=args.window,
        states=args.states,
        kernel=args.kernel,
        neighbours=args.neighbours,
        dimension=args.dimension,
        coupling=args.coupling,
        observation=args.observation,
        readout=args.readout,
        horizons=parse_horizons(args.horizons),
    )


def _training_part(args: Namespace) -> list[Recording]:
    parts = []
    for whole in recordings_of(args):
        part = whole.between(None, args.until)
        if args.until is not None and len(part.imu.stamps) == len(whole.imu.stamps):
            print(
                f'two-manifold: warning: {whole.name} ends before --until {args.until:g}: all of '
                'it is trained on, and nothing of it is left to evaluate',
                file=sys.stderr,
            )
        parts.append(part)
    return parts


def _check_output(path: Path) -> None:
    """Refuse before a training what could not be written after it."""
    if path.is_dir():
        msg = f'{path} is a folder: name the model file to write, such as {path / "model.npz"}'
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = f'The folder {path.parent} does not exist: make it before training a model.'
        raise InputError(msg)
    if path.is_file() and path.stat().st_size:
        with path.open('rb') as file:
            if file.read(len(_ZIP)) != _ZIP:
                msg = f'{path} exists and is no model: choose another name, or remove it.'
                raise InputError(msg)


def parse_horizons(text: str) -> tuple[int, ...]:
    """
    Parse comma-separated ticks.

    Raises
    ------
    InputError
        If they are not whole numbers.

    """
    try:
        return tuple(int(part) for part in text.split(','))
    except ValueError as error:
        msg = f'--horizons {text!r} must be whole numbers of ticks such as 0,10,50'
        raise InputError(msg) from error


def _warn(recordings: list[Recording], rate_hz: float | None) -> None:
    """Say before training what inspection warns of; training may still be what is wanted."""
    with Progress('inspecting'):
        sentences = list(training_warnings(recordings, rate_hz))
    for sentence in sentences:
        print(f'two-manifold: warning: {sentence}', file=sys.stderr)


def _content(args: Namespace, model: Model, took_s: float) -> dict[str, Any]:
    return {
        'model': args.output,
        'train_seconds': round(took_s, 3),
        'rate_hz': model.rate_hz,
        'window': model.window,
        'horizons': list(model.horizons),
        'kernel': model.kernel,
        'channels': list(model.live_channels),
        'frame_id': model.frame_id,
        **model.summary,
    }


def _print(args: Namespace, model: Model, took_s: float) -> None:
    from two_manifold_ros.cli.info import print_model  # noqa: PLC0415 - needs rich, JSON does not

    print(f'trained in {took_s:.1f} s, written to {args.output}')
    print_model(model)
