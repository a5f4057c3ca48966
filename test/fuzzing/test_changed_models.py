# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model file of any content is refused in one sentence, or runs."""

import copy
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.model.model_file import model_from, read_container, save_model

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
DTYPES = ('f8', 'f4', '>f8', 'i8', 'i4', 'u1', 'i1', '?')
SHAPES = ((0,), (1,), (0, 0), (1, 1), (4, 0), (0, 1000), (3,), (4, 4), (), (2, 2, 2))


def change_header(draw: strategies.DrawFn, table: Any) -> None:  # noqa: ANN401 - or a list
    """Delete, scale or replace one value of nested tables and lists."""
    key = draw(strategies.sampled_from([*table] if isinstance(table, dict) else range(len(table))))
    inner, how = table[key], draw(strategies.integers(0, 7))
    if isinstance(inner, dict | list) and inner and how > 1:
        change_header(draw, inner)
    elif not how:
        del table[key]
    elif isinstance(inner, int | float) and how > 3:
        table[key] = inner * draw(strategies.sampled_from((0.5, 2, 10, 1000, -1)))
    else:
        table[key] = copy.deepcopy(draw(strategies.sampled_from(VALUES)))


def with_other_numbers(draw: strategies.DrawFn, array: np.ndarray) -> np.ndarray:
    """Return an array in which one number is another, or all of them."""
    flat = array.reshape(-1)
    numbers = NUMBERS
    if array.dtype.kind in 'iu':
        limits = np.iinfo(array.dtype)
        numbers = tuple(min(max(each, limits.min), limits.max) for each in INDICES)
    number = draw(strategies.sampled_from(numbers))
    where = draw(strategies.integers(-1, 2 * len(flat)))
    if where < 0 and array.dtype.kind == 'f':
        flat *= number
    else:
        flat[where % len(flat) if where >= 0 and len(flat) else slice(None)] = number
    return array


def change_array(draw: strategies.DrawFn, arrays: dict[str, Any]) -> None:
    """Delete, rename, cut, reshape or convert one array, or change its numbers."""
    name = draw(strategies.sampled_from(sorted(arrays)))
    array = np.array(arrays.pop(name))
    how, few = draw(strategies.integers(0, 10)), draw(strategies.integers(0, 3))
    with np.errstate(all='ignore'):
        if how == 1:
            name += '.x'
        elif how == 2:
            array = array.astype(draw(strategies.sampled_from(DTYPES)))
        elif how == 3:
            array = np.zeros(draw(strategies.sampled_from(SHAPES)), array.dtype)
        elif how == 4:
            array = (array.T, array[None], array[..., None], array.reshape(-1))[few]
        elif how == 5 and array.ndim:
            array = (array[few:], array[:few], array[..., few:], array[..., :few])[few]
        elif how > 5:
            array = with_other_numbers(draw, array)
    if how:
        arrays[name] = array


def run(model: ModelHead, pushes: int = 60) -> None:
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


@pytest.fixture(scope='module', params=['slot_car_model', 'spectral_model', 'tpsr_model'])
def content(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, object], dict[str, object]]:
    path: Path = tmp_path_factory.mktemp('models') / 'model.npz'
    save_model(request.getfixturevalue(request.param), path)
    return read_container(path)


@settings(max_examples=60)
@given(data=strategies.data())
def test_a_changed_model_is_refused_or_runs(content, data):
    header, arrays = copy.deepcopy(content[0]), dict(content[1])
    for of_header in data.draw(strategies.lists(strategies.booleans(), min_size=1, max_size=4)):
        if of_header:
            change_header(data.draw, header)
        else:
            change_array(data.draw, arrays)
    model, refusal = None, 'it: '
    try:
        model = model_from('it', header, arrays)
    except InputError as error:
        refusal = str(error)
    assert refusal.startswith('it: ')
    assert '\n' not in refusal
    if model is not None:
        run(model)
