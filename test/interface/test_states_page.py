# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/states.md, against the states, causes and numbers that there are."""

from __future__ import annotations

import inspect
from pathlib import Path
import re

import numpy as np
import pytest

from two_manifold_ros.adapting import updater_session
from two_manifold_ros.filtering import hypothesis_search, input_watch
from two_manifold_ros.filtering.estimate import ERROR_SHARE, WARN_SHARE
from two_manifold_ros.filtering.misconfigurations import known_misconfigurations
from two_manifold_ros.filtering.status import CAUSES, StateMachine, Status, USABLE
from two_manifold_ros.interface.assessment import (
    CLOCK_WORDS,
    InputLimits,
    INTERRUPTION_WORDS,
    LEVELS,
    REJECTIONS,
)
from two_manifold_ros.interface.status import CODES, NUMBERS
from two_manifold_ros.ticks.novelty import NOVEL, NOVEL_WARN
from two_manifold_ros.ticks.segments import Channels

SUSPECTS = {
    'several_publishers', 'too_slow', 'frame_changed', 'frame', 'linear_acceleration_not_measured',
    'angular_velocity_not_measured', 'shared_output',
}  # fmt: skip
SILENCES = {'waiting', 'no_publisher', 'wrong_type', 'incompatible', 'silent'}
PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'states.md').read_text()


def first_cells(heading: str) -> set[str]:
    """Return the words in the first column of the tables below a heading."""
    section = PAGE.split(f'# {heading}\n')[1].split('\n#')[0]
    cells = re.findall(r'^\| (`[^|]*) \|', section, re.MULTILINE)
    return {word for cell in cells for word in re.findall(r'`(\w+)`', cell)}


@pytest.mark.parametrize('status', Status)
def test_code_level_and_publishing_of_every_state(status: Status) -> None:
    published = 'yes' if status in USABLE else 'no'
    row = f'| `{status.value}` | {CODES[status]} | {LEVELS[status].name} | {published} | '
    assert row in PAGE


def test_every_number_of_the_topic_is_explained_and_no_other() -> None:
    assert first_cells('Numbers on `status`') == {'sec', 'nanosec', *NUMBERS}


@pytest.mark.parametrize(
    'words',
    [
        f'| {WARN_SHARE:g} and {ERROR_SHARE:g} times the 95 % ellipse of a uniform prior',
        f'| {NOVEL_WARN:.2f} and {NOVEL:.2f}, see',
        f'| {InputLimits.most_in_a_row}, or fewer where',
        f'| {InputLimits.most_rejected_share:.0%} |'.replace('%', ' %'),
        f'| {InputLimits.least_rate_share:g} times that of the model |',
        'better after ten ticks in a row',
    ],
)
def test_limits_in_force_by_default(words: str) -> None:
    assert words in PAGE
    assert StateMachine.steady == 10


def test_every_cause_for_which_messages_do_not_come_or_are_not_used() -> None:
    assert first_cells('No message comes') == {*SILENCES, *CLOCK_WORDS}
    assert first_cells('No message is used') == set(REJECTIONS)
    assert first_cells('Something is odd on the way') == {*SUSPECTS, *CLOCK_WORDS}


def test_every_cause_of_the_filter() -> None:
    named = first_cells('The filter is not there yet, or not any more')
    assert named == {*CAUSES, *INTERRUPTION_WORDS} - {'waiting'}


def test_every_cause_of_the_updater() -> None:
    named = set(re.findall(r"cause='(\w+)'", inspect.getsource(updater_session)))
    assert first_cells('The updater') == named


def test_every_mistake_that_samples_may_show() -> None:
    named = first_cells('Something is wrong with the samples')
    sources = inspect.getsource(input_watch) + inspect.getsource(hypothesis_search)
    found = set(re.findall(r"Finding\(\s*'(\w+)'", sources))
    for force in (np.array([0.0, 0.0, 9.81]), np.zeros(3)):
        mean = np.concatenate([force, np.zeros(3)])
        channels = Channels(mean, np.ones(6), np.full(6, 100.0), np.ones(6, dtype=bool))
        causes = {mistake.cause for mistake in known_misconfigurations(channels)}
        found |= {part for cause in causes for part in cause.split('_and_')}
    between = {f'sign_of_{name}' for name in ('ay', 'az', 'wx', 'wy')}
    # Named of several at once, see the text above the table.
    assert named == found - between - {'_or_', 'axes_or_signs'}
