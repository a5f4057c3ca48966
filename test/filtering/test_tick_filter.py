# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter runs on whatever keeps the protocol of a tick filter, over any channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tick_estimator import make_tick_filter
from two_manifold_ros.filtering.tracker import Step
from two_manifold_ros.model.head import ModelHead
from two_manifold_ros.ticks.segments import Channels

if TYPE_CHECKING:
    from two_manifold_ros.model.route_model import RouteModel

WINDOW = 3


@dataclass(frozen=True, kw_only=True)
class OtherModel(ModelHead):
    """A model of a kind that nobody knows, over ten pixels."""

    @property
    def states(self) -> int:
        return 2


class Adding:
    """Has the sum of the pixels for its state, and the newest one for a position."""

    def __init__(self) -> None:
        self.belief = SimpleNamespace(state=np.zeros(2))
        self.window = SimpleNamespace(count=0, full=False)

    def start(self) -> None:
        self.__init__()

    def coast(self, ticks: int) -> None:
        self.belief.state[1] += ticks
        self.window.count, self.window.full = 0, False

    def update(self, values: np.ndarray) -> Step:
        self.belief.state[0] = values.sum()
        self.window.count += 1
        self.window.full = self.window.count >= WINDOW
        return Step(1.0, True, 1.0, False)

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full((2, 2), self.belief.state[0]), np.stack([0.01 * np.eye(2)] * 2)

    def places(self) -> np.ndarray:
        return np.array([[1.0, 2.0, 1.0]])


@pytest.fixture
def pixels(slot_car_model: RouteModel) -> OtherModel:
    """Return a model over ten channels at 10 Hz."""
    channels = Channels(
        np.zeros(10),
        np.ones(10),
        np.full(10, 255.0),
        np.arange(10) < 8,
        tuple(f'pixel.{number}' for number in range(10)),
    )
    shared = {name: getattr(slot_car_model, name) for name in ModelHead.__dataclass_fields__}
    return OtherModel(**shared | {'window': WINDOW, 'horizons': (0,), 'channels': channels})


def test_any_number_of_channels(pixels: OtherModel) -> None:
    adding = Adding()
    live = Filter(pixels, 10.0, tick_filter=adding)
    live.warm_up()
    assert adding.window.count == 0
    found = [
        estimate
        for tick in range(1, 7)
        for estimate in live.push(tick * pixels.period_ns, np.full(10, tick))
    ]
    assert [each.state[0] for each in found] == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert [each.status for each in found][1:3] == [Status.FILLING, Status.TRACKING]
    np.testing.assert_array_equal(found[-1].positions, [[50.0, 50.0]])
    assert found[-1].places is not None
    assert pixels.live_channels == tuple(f'pixel.{number}' for number in range(8))
    assert pixels.channels.dead_names == ('pixel.8', 'pixel.9')


def test_a_gap_reaches_the_tick_filter(pixels: OtherModel) -> None:
    model = replace(pixels, max_gap_ns=pixels.period_ns)
    live = Filter(model, tick_filter=Adding())
    for tick in (1, 2, 5, 6):
        found = live.push(tick * model.period_ns, np.full(10, tick))
    assert found[0].state[1] == 3.0
    live.reset('a test')
    assert live.why == 'reset: a test'


def test_an_unknown_kind_of_model_is_a_bug(pixels: OtherModel) -> None:
    with pytest.raises(TypeError, match='no filter runs a OtherModel'):
        make_tick_filter(pixels)


def test_only_samples_of_an_imu_are_of_an_imu(
    pixels: OtherModel, slot_car_model: RouteModel
) -> None:
    assert slot_car_model.channels.of_imu
    assert not pixels.channels.of_imu
