# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model file of any content is refused in one sentence, or runs."""

from collections.abc import Callable
import copy
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.model.model_file import model_from, read_container, save_model

Choose: TypeAlias = Callable[[int], int]
"""One of so many: 0 to n - 1."""

Content: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""Header and arrays."""

VALUES: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 1000, 2**31, 2**63, 10**30, -(2**63), 10**400, True, False, None,
    0.0, -0.0, 0.5, 1e-9, 1e-200, 5e-324, 1e99, 1e150, 1e300, -1e300, float('nan'), float('inf'),
    '', 'x', '/imu', '../x', '\x1b[2J', '\ud800', 5000 * 'a', [], [0], [0, 3], [0, 10**18], {},
    {'kind': 'indicator', 'symbols': 1, 'length': 10**6},
)  # fmt: skip
NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 1e-9, 1e-160, 5e-324, 1e50, 1e99, 1e150, 1e308, -1e308, np.nan, np.inf,
)  # fmt: skip
INDICES = (0, 1, -1, -2, 3, 100, 10**6, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63))
KINDS = ('f8', 'f4', '>f8', 'i8', 'i4', 'u1', 'i1', '?')
SHAPES = ((0,), (1,), (0, 0), (1, 1), (4, 0), (0, 1000), (3,), (4, 4), (), (2, 2, 2))


def changed(choose: Choose, header: dict[str, Any], arrays: dict[str, Any]) -> Content:
    """Return copies of both with one to four changes."""
    header, arrays = copy.deepcopy(header), dict(arrays)
    for _ in range(1 + choose(4)):
        if choose(3):
            _change_array(choose, arrays)
        else:
            _change_header(choose, header)
    return header, arrays


def _change_header(choose: Choose, header: dict[str, Any]) -> None:
    table: Any = header
    while True:
        keys = sorted(table) if isinstance(table, dict) else list(range(len(table)))
        if not keys:
            return
        key = keys[choose(len(keys))]
        inner = table[key]
        if isinstance(inner, (dict, list)) and inner and choose(4):
            table = inner
            continue
        if not choose(8):
            del table[key]
        elif isinstance(inner, (int, float)) and choose(2):
            table[key] = inner * (0.5, 2, 10, 1000, -1)[choose(5)]
        else:
            table[key] = copy.deepcopy(VALUES[choose(len(VALUES))])
        return


def _change_array(choose: Choose, arrays: dict[str, Any]) -> None:
    if not arrays:
        return
    names = sorted(arrays)
    name = names[choose(len(names))]
    array = np.array(arrays[name])
    with np.errstate(all='ignore'):
        changes: tuple[Callable[[], np.ndarray], ...] = (
            lambda: array.astype(KINDS[choose(len(KINDS))]),
            lambda: np.zeros(SHAPES[choose(len(SHAPES))], array.dtype),
            lambda: array[..., : choose(1 + array.shape[-1])] if array.ndim else array[None],
            lambda: array[: choose(1 + len(array))] if array.ndim else array,
            lambda: (array.T, array[None], np.repeat(array, 2, axis=0))[choose(3)],
            *(lambda: _with_another_number(choose, array),) * 4,
        )
        how = choose(len(changes) + 2)
        if how == len(changes):
            del arrays[name]
        elif how > len(changes):
            arrays[name + ('', '.x', 's')[choose(3)]] = array
        else:
            arrays[name] = changes[how]()


def _with_another_number(choose: Choose, array: np.ndarray) -> np.ndarray:
    if not array.size:
        return array
    flat, number = array.reshape(-1), NUMBERS[choose(len(NUMBERS))]
    if array.dtype.kind in 'iu':
        limits = np.iinfo(array.dtype)
        number = min(max(INDICES[choose(len(INDICES))], limits.min), limits.max)
    elif array.dtype.kind == 'b':
        number = bool(choose(2))
    if choose(3):
        flat[choose(len(flat))] = number
    elif choose(2) and array.dtype.kind == 'f':
        flat *= number
    else:
        flat[:] = number
    return array


def run(model: ModelHead, pushes: int) -> None:
    """Filter with a model as a node does: warm up, drive, stand, jump and lose samples."""
    whole = Filter(model, places_hz=model.rate_hz)
    whole.warm_up()
    mean, scale = model.channels.mean, model.channels.scale
    step = max(1, model.period_ns // 2)
    stamp = 10**18
    with np.errstate(all='ignore'):
        for push in range(pushes):
            stamp += step if push % 60 else 3 * model.max_gap_ns // 2
            far = 1.0 if push % 7 else 1e3
            sample = mean + far * scale * np.sin(0.1 * push + np.arange(len(mean)))
            if push == pushes // 2:
                stamp -= 10**10
                whole.reset('test')
            whole.push(stamp, sample)


EXAMPLES = 40
PUSHES = 60


@pytest.fixture(scope='module', params=['slot_car_model', 'spectral_model', 'tpsr_model'])
def content(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, object], dict[str, object]]:
    path: Path = tmp_path_factory.mktemp('models') / 'model.npz'
    save_model(request.getfixturevalue(request.param), path)
    return read_container(path)


@settings(max_examples=EXAMPLES)
@given(data=strategies.data())
def test_a_changed_model_is_refused_or_runs(content, data):
    def choose(count: int) -> int:
        return data.draw(strategies.integers(0, count - 1))

    header, arrays = changed(choose, *content)
    model, refusal = None, 'it: '
    try:
        model = model_from('it', header, arrays)
    except InputError as error:
        refusal = str(error)
    assert refusal.startswith('it: ')
    assert '\n' not in refusal
    if model is not None:
        run(model, PUSHES)
