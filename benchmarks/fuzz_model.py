# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Check that generated model files are refused in a sentence or run.

    python benchmarks/fuzz_model.py --executions 100000

Three targets: the bytes of a file; the bytes of one array in a file whose checksums are right; and
a header and arrays, changed in what they say, of a model of each kernel and method. What is not
refused is filtered with. Needs atheris, see `fuzzing`.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING
import zipfile

from fuzzing import arguments, expect_refusal, instrumented, main, One

if TYPE_CHECKING:
    from collections.abc import Iterable

    from two_manifold_ros.model.head import ModelHead

TESTS = Path(__file__).resolve().parents[1] / 'test'
PUSHES = 200
NUMPY = b'\x93NUMPY'


def file_target() -> tuple[One, Iterable[bytes]]:
    """Bytes of a whole file."""
    with instrumented():
        from two_manifold_ros.errors import InputError  # noqa: PLC0415
        from two_manifold_ros.model.container import read_container, write_container  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    path = Path('model.npz')

    def one(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read_container(path)
        except InputError as error:
            expect_refusal(error)

    arrays = {'x': np.arange(4.0), 'y': np.zeros((2, 0)), 'z': np.array([True])}
    write_container(path, {'format': 'x', 'nested': {'a': [1, None]}}, arrays)
    return one, [path.read_bytes()]


def array_target() -> tuple[One, Iterable[bytes]]:
    """Bytes of the header or of an array, well wrapped."""
    with instrumented():
        from two_manifold_ros.errors import InputError  # noqa: PLC0415
        from two_manifold_ros.model.container import read_container  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    path = Path('model.npz')

    def one(content: bytes) -> None:
        buffer = io.BytesIO()
        np.save(buffer, np.frombuffer(content, np.uint8))
        with zipfile.ZipFile(path, 'w') as archive:
            archive.writestr('header.npy', buffer.getvalue())
            if content[:1] == NUMPY[:1]:
                archive.writestr('x.npy', content)
        try:
            read_container(path)
        except InputError as error:
            expect_refusal(error)

    corpus = []
    for array in (np.arange(4.0), np.zeros((2, 3), np.int64).T, np.array(True), np.zeros((0, 9))):
        buffer = io.BytesIO()
        np.save(buffer, array)
        corpus.append(buffer.getvalue())
    return one, [*corpus, json.dumps({'a': [1, 2.5, {'b': None}], 'c': 'd'}).encode()]


def content_target() -> tuple[One, Iterable[bytes]]:
    """Choices of what to change in a model."""
    from two_manifold_ros.model.container import read_container  # noqa: PLC0415
    from two_manifold_ros.model.model_file import save_model  # noqa: PLC0415

    sys.path += [str(TESTS), str(TESTS / 'fuzzing')]
    folder = Path('models')
    if not folder.exists():
        folder.mkdir()
        for number, model in enumerate(_models()):
            save_model(model, folder / f'{number:02d}.npz')
    contents = [read_container(path) for path in sorted(folder.iterdir())]
    for name in [each for each in sys.modules if each.startswith('two_manifold_ros')]:
        del sys.modules[name]
    with instrumented():
        from changed_model import changed, run  # noqa: PLC0415

        from two_manifold_ros.errors import InputError  # noqa: PLC0415
        from two_manifold_ros.model.model_file import model_from  # noqa: PLC0415

    def one(content: bytes) -> None:
        places = iter(content)

        def choose(count: int) -> int:
            # Two bytes for each, and zeros when there are no more.
            return (256 * next(places, 0) + next(places, 0)) % count

        header, arrays = changed(choose, *contents[choose(len(contents))])
        try:
            model = model_from('it', header, arrays)
        except InputError as error:
            expect_refusal(error)
            return
        run(model, PUSHES)

    return one, [bytes([0, index, *range(30)]) for index in range(len(contents))]


def _models() -> list[ModelHead]:
    """Train models of every kernel, method, operator and read-out, and a TPSR."""
    from two_manifold_ros.names import KERNELS  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    recording = run_to_recording(simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=4))
    common: dict[str, Any] = {'window': 4, 'states': 4, 'dimension': 6, 'horizons': (0, 3)}
    spectral = common | {'method': 'spectral', 'bandwidth_factor': 1.0, 'neighbours': 9}
    chosen = [spectral | {'kernel': kernel} for kernel in KERNELS]
    chosen.append(spectral | {'observation': 'ridge', 'ridge': 0.1, 'readout': 'ridge'})
    chosen.append(common | {'sharpness': 0.2, 'persistence': 0.5, 'neighbours': 9})
    chosen.append({'window': 4, 'states': 4, 'horizons': (0, 3), 'method': 'tpsr', 'rate_hz': 5.0})
    models: list[ModelHead] = [
        train_model([recording], TrainingSettings(**settings)) for settings in chosen
    ]
    return models


if __name__ == '__main__':
    raise SystemExit(
        main(
            arguments(__doc__),
            {'model file': file_target, 'array': array_target, 'model': content_target},
        )
    )
