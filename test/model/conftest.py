# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Headers and arrays of models, as they are and changed."""

from collections.abc import Callable
import copy
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from small_network import network_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model import Model, RouteModel
from two_manifold_ros.model.model_file import model_from, model_parts

Content: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
Refusal: TypeAlias = Callable[..., str]


@pytest.fixture(scope='session')
def contents(
    spectral_model: Model, slot_car_model: RouteModel, forked_model: RouteModel
) -> dict[str, Content]:
    """Return header and arrays of a model of each kind."""
    places = slot_car_model.route.places
    network = network_of(slot_car_model.live, places, np.linspace(-3.0, 3.0, places))
    networked = replace(slot_car_model, network=network)
    models = {'spectral': spectral_model, 'route': slot_car_model}
    models |= {'lines': forked_model, 'network': networked}
    return {kind: model_parts(each) for kind, each in models.items()}


@pytest.fixture
def changed(contents: dict[str, Content]) -> Callable[..., Content]:
    """Return a function that puts a value, or a function of an array, into copies of both."""

    def change(kind: str, name: str, value: Any, index: Any = ...) -> Content:  # noqa: ANN401
        header, arrays = copy.deepcopy(contents[kind])
        if name in arrays and callable(value):
            arrays[name] = value(arrays[name])
        elif name in arrays:
            arrays[name][index] = value
        else:
            table = header
            *parts, last = name.split('.')
            for part in parts:
                table = table[part]
            table[last] = value
        return header, arrays

    return change


@pytest.fixture
def refusal(changed: Callable[..., Content]) -> Refusal:
    """Return a function that changes a model and returns the one sentence of the refusal."""

    def refused(*change: Any) -> str:  # noqa: ANN401 - passed on
        with pytest.raises(InputError) as caught:
            model_from('m.npz', *changed(*change))
        message = str(caught.value)
        assert message.startswith('m.npz: ')
        assert '\n' not in message
        return message

    return refused
