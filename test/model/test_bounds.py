# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that would take memory or time that no file warrants, or not fit anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from altered_models import refusal
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.container import read_container
from two_manifold_ros.model.model import check_model
from two_manifold_ros.model.model_file import load_model, model_from, save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from altered_models import Change

    from two_manifold_ros.model.model import Model

FAR = GeodeticOrigin(1.0, float('inf'), 0.0)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'frame_id': 1001 * 'a'}, 'frame_id is too long or holds characters that cannot be'),
        ({'imu_topic': '/imu\x1b[2J'}, 'imu_topic is too long or holds characters that cannot be'),
        ({'kernel': 'a\nb'}, 'kernel is too long or holds characters that cannot be printed'),
        ({'max_gap_ns': 10**17}, 'max_gap_ns would take'),
        ({'window': 10**9}, 'window would take'),
        ({'window': True}, 'window is True, not a positive number'),
        ({'horizons': (0, True, 5)}, 'its horizons are no whole numbers'),
        ({'rate_hz': 1e-4, 'period_ns': 10**13}, 'a tick of it lasts 10000000000000 ns, more'),
        ({'horizons': (0, 5, 10**9)}, 'its last horizon is more than a day ahead'),
        ({'origin': FAR}, 'its origin is no place on the earth'),
        ({'state_bound': 1e-200}, 'state_bound is 1e-200, too large or too small'),
        ({'state_bound': 1e150}, 'state_bound is 1e+150, too large or too small'),
    ],
)
def test_what_a_filter_could_not_take(
    changes: dict[str, Any], words: str, spectral_model: Model
) -> None:
    with pytest.raises(InputError) as caught:
        check_model(replace(spectral_model, **changes))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('part', 'changes', 'words'),
    [
        ('familiarity', {'still': True}, 'familiarity.still is True, not a number of ticks'),
        ('familiarity', {'own': -1e9}, 'familiarity.own is -1000000000.0, not the contrast'),
        (
            'familiarity',
            {'still': 2**31},
            'familiarity.still is 2147483648, not a number of ticks',
        ),
        ('familiarity', {'squared': 1e-200}, 'familiarity.squared is 1e-200, too large or too'),
    ],
)
def test_parts_that_a_filter_could_not_take(
    part: str, changes: dict[str, Any], words: str, spectral_model: Model
) -> None:
    other = replace(getattr(spectral_model, part), **changes)
    with pytest.raises(InputError) as caught:
        check_model(replace(spectral_model, **{part: other}))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('name', 'change', 'words'),
    [
        ('series', lambda array: array * 1e200, 'series holds numbers beyond 1e+100'),
        ('channels.scale', lambda array: array * 1e-200, 'the scale of a live channel is zero'),
        ('channels.limit', lambda array: array * 0.0 + 1e300, ''),
        ('tables.weights', lambda array: array[:3], 'states of 3 windows, more than'),
        ('tables.states', lambda array: array + 1.0, 'do not keep the sum of the weights'),
        ('readout.targets', lambda _: np.zeros((1, 5000, 2)), 'readout.targets has the shape'),
    ],
)
def test_arrays_that_a_filter_could_not_take(
    name: str,
    change: Callable[[Any], Any],
    words: str,
    altered: Callable[[Change], Path],
) -> None:
    path = altered(lambda _, arrays: arrays.update({name: change(arrays[name])}))
    if words:
        assert words in refusal(path)
    else:
        load_model(path)


def test_a_whole_bandwidth_is_a_number_like_any_other(
    spectral_model: Model, tmp_path: Path
) -> None:
    """Compiled code would take whole numbers for others than they are."""
    save_model(spectral_model, tmp_path / 'm')
    header, arrays = read_container(tmp_path / 'm')
    model = model_from('it', {**header, 'observation_bandwidth': 2**62}, arrays)
    assert isinstance(model.operator.bandwidth, float)
    Filter(model).warm_up()


def test_many_horizons_are_not_counted(altered: Callable[[Change], Path]) -> None:
    path = altered(lambda header, _: header.update({'horizons': list(range(2000))}))
    assert 'it has 2000 horizons, more than 1000' in refusal(path)


def test_texts_of_a_summary_can_be_shown(altered: Callable[[Change], Path]) -> None:
    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        header['summary'] = {'notes': ['a\x1b[2J', 'b'], '\x07': {'c': 'd\ne'}, 'f': 1.5}

    summary = load_model(altered(change)).summary
    assert summary == {'notes': ['a\\x1b[2J', 'b'], '\\x07': {'c': 'd\\ne'}, 'f': 1.5}


def test_a_sentence_holds_little_of_what_stands_in_the_file() -> None:
    header = {'format': 'two_manifold_ros model', 'version': 10_000 * '\x1b'}
    with pytest.raises(InputError) as caught:
        model_from('it', header, {})
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()
