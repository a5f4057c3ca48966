# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model file of any content is refused in one sentence, or runs."""

from pathlib import Path

from changed_model import changed, run
from hypothesis import given, settings, strategies
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.container import read_container
from two_manifold_ros.model.model_file import model_from, save_model

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
