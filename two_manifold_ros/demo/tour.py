# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of the demo."""

from __future__ import annotations

import os
from pathlib import Path
import random
import shutil
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.cli.evaluate import print_scores
from two_manifold_ros.demo.filter_process import filter_node
from two_manifold_ros.demo.recorded_run import read_run, with_published
from two_manifold_ros.demo.stages import Stages
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import compare
from two_manifold_ros.evaluation.figure import draw_evaluation
from two_manifold_ros.evaluation.filter_run import run_filter
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.nodes.bag_session import play_and_record, Timed
from two_manifold_ros.outputs.topics import TOPICS
from two_manifold_ros.recordings.bag import Bag
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car_bag import write_run
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording

LAPS = 25
TEST_LAPS_S = 55.0
SPEED = 4.0
MARKER = '.two_manifold_demo'


def run_tour(folder_name: str) -> None:
    """
    Run every stage and leave bags, model, log and figure in a folder.

    Raises
    ------
    InputError
        If the folder holds something else, or the node could not be reached.

    """
    folder = _fresh_folder(Path(folder_name).resolve())
    _isolate()
    stages = Stages(6)
    with stages.stage(f'simulating a slot car for {LAPS} laps') as show:
        run = simulate(SlotCarSettings(), laps=LAPS, report=lambda _, share: show(share))
        write_run(run, folder / 'recording')
    with stages.stage('inspecting the recording'):
        recording = read_recording(folder / 'recording')
        for finding in inspect_recording(recording).findings:
            print(f'      {finding.severity}: {finding.sentence}')
    duration = int(recording.imu.stamps[-1] - recording.imu.stamps[0]) * 1e-9
    cut = duration - TEST_LAPS_S
    with stages.stage(f'training on the first {cut:.0f} s') as show:
        training = recording.between(None, cut)
        model = train_model([training], TrainingSettings(), lambda _, share: show(share))
        save_model(model, folder / 'model.npz')
    with stages.stage('replaying the rest through the filter node, a process of its own') as show:
        held_out = recording.between(cut, None)
        received = _filter_live(folder, held_out, show)
        print('      received: ' + ', '.join(f'{received.get(t, 0)} {t}' for t in TOPICS))
    with stages.stage('scoring what the node published'):
        _score(folder, load_model(folder / 'model.npz'), held_out)
    with stages.stage('writing down where things are'):
        _explain(folder)


def _fresh_folder(folder: Path) -> Path:
    if folder.exists():
        if not (folder / MARKER).exists():
            msg = f'{folder} exists and was not made by the demo; remove it or name another folder'
            raise InputError(msg)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARKER).touch()
    return folder


def _isolate() -> None:
    """Keep our topics to this machine and off the domains of others."""
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(random.SystemRandom().randrange(1, 230))


def _filter_live(
    folder: Path, held_out: Recording, show: Callable[[float], None]
) -> dict[str, int]:
    with Bag(folder / 'recording') as bag:
        topics = [topic for topic in bag.topics if topic.name == held_out.imu.topic]
        first, last = int(held_out.imu.receive_stamps[0]), int(held_out.imu.receive_stamps[-1])
        messages = [
            Timed(received, raw)
            for _, received, raw in bag.messages(topics)
            if first <= received <= last
        ]
    latched = tuple(f'/{topic.name}' for topic in TOPICS.values() if topic.latched)
    with (
        BagWriter(folder / 'predictions', latched=latched) as output,
        filter_node(folder / 'model.npz', folder / 'filter_node.log') as process,
    ):
        return play_and_record(output, messages, SPEED, lambda: process.poll() is None, show)


def _score(folder: Path, model: ModelHead, held_out: Recording) -> None:
    live = read_run(folder / 'predictions', len(model.horizons))
    if not len(live.stamps):
        msg = f'the filter node published nothing; see {folder / "filter_node.log"}'
        raise InputError(msg)
    offline = run_filter(model, held_out, lambda *_: None)
    evaluation = compare(model, [held_out], [with_published(offline, live)])
    draw_evaluation(evaluation, model, folder / 'figure.png', 'Slot car: what the node published')
    print_scores(evaluation, model)
    stamps, positions = offline.stamps[offline.told], offline.positions[offline.told]
    alike = np.array_equal(stamps, live.stamps) and np.array_equal(positions, live.positions)
    print(
        '      The node published bit for bit what "two-manifold evaluate" computes offline.'
        if alike
        else '      The node and "two-manifold evaluate" differ: messages were lost on the way.'
    )


def _explain(folder: Path) -> None:
    for name, what in (
        ('recording', 'the simulated bag: /imu and /reference'),
        ('model.npz', 'the model; "two-manifold info" shows what is in it'),
        ('predictions', "the filter node's topics, recorded from DDS"),
        ('figure.png', 'true and predicted track, error against horizon'),
        ('filter_node.log', 'what the node said'),
    ):
        print(f'      {folder / name}: {what}')
