# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a training, those of a node among them, and how the job of a node is given up."""

from threading import Event, Thread
from time import monotonic, sleep
from types import SimpleNamespace

import ellipse
import pytest

from two_manifold_ros.adapting import training_job as job
from two_manifold_ros.adapting.training_job import (
    check_target,
    read_bags,
    training_settings,
    TrainingJob,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.training.settings import TrainingSettings

NAN, INFINITE = float('nan'), float('inf')


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'method': 'magic'}, "no method named 'magic'; choose one of route, spectral"),
        ({'kernel': 'cosine'}, "no kernel named 'cosine'"),
        ({'coupling': 'none'}, "no coupling named 'none'"),
        ({'readout': 'mean'}, "no readout named 'mean'"),
        ({'clock': 'sundial'}, "no clock named 'sundial'"),
        ({'observation': 'lasso'}, "no observation named 'lasso'"),
        ({'method': 'tpsr', 'readout': 'ridge'}, 'method tpsr has no readout ridge'),
        ({'method': 'spectral', 'states': 0}, 'states is 0, but must be at least 2'),
        ({'rate_hz': 0.0}, 'a rate of 0.0 Hz is outside 0.1 to 1000 Hz'),
        ({'rate_hz': NAN}, 'outside 0.1 to 1000 Hz'),
        ({'window': 1}, 'window is 1, but must be at least 2'),
        ({'neighbours': 0}, 'neighbours is 0, but must be at least 2'),
        ({'persistence': -1.0}, 'persistence is -1.0, but must be above 0'),
        ({'sharpness': 0.0}, 'sharpness is 0.0, but must be above 0'),
        ({'bandwidth_factor': NAN}, 'bandwidth is nan, but must be above 0'),
        ({'ridge': INFINITE}, 'ridge is inf, but must be above 0'),
        ({'horizons': ()}, 'must start with 0 and increase'),
        ({'horizons': (1, 2)}, "horizons '1,2' must start with 0 and increase"),
        ({'horizons': (0, 5, 5)}, 'must start with 0 and increase'),
    ],
)
def test_nonsense_is_refused(values, words):
    with pytest.raises(InputError) as caught:
        TrainingSettings(**values)
    assert words in str(caught.value)


def test_the_ends_of_the_ranges_are_allowed():
    small = dict.fromkeys(('persistence', 'sharpness', 'bandwidth_factor', 'ridge'), 1e-3)
    counts = dict.fromkeys(('window', 'states', 'neighbours', 'dimension'), 2)
    for rate_hz in (0.1, 1000.0):
        TrainingSettings(rate_hz=rate_hz, horizons=(0,), **counts, **small)


DEFAULTS = vars(TrainerParameters())


def test_every_parameter_is_handed_on_and_defaults_are_those_of_the_training():
    assert training_settings(DEFAULTS) == TrainingSettings()
    chosen = {
        'rate_hz': 5.0, 'window': 30, 'states': 7, 'method': 'spectral', 'kernel': 'gaussian',
        'readout': 'mkdr',
    }  # fmt: skip
    settings = training_settings({**DEFAULTS, **chosen, 'horizons': [0, 3]})
    assert settings == TrainingSettings(**chosen, horizons=(0, 3))
    numbers = {'sharpness': 0.3, 'persistence': 0.7}
    assert training_settings({**DEFAULTS, **numbers}) == TrainingSettings(**numbers)
    for text in ('auto', '0.2'):
        assert training_settings({**DEFAULTS, 'position_lag': text}) == TrainingSettings()


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'method': 'spectral', 'sharpness': 0.3}, 'Method spectral has no sharpness'),
        ({'method': 'tpsr', 'persistence': 0.3}, 'Method tpsr has no persistence'),
        ({'readout': 'ridge'}, 'set method to spectral'),
        ({'position_lag': 'late'}, 'neither auto nor a number'),
    ],
)
def test_parameters_that_do_not_fit_are_refused(values, words):
    with pytest.raises(InputError, match=words):
        training_settings({**DEFAULTS, **values})


def test_a_target_that_cannot_be_written_is_refused(tmp_path):
    check_target(str(tmp_path / 'model.npz'))
    for path, words in {
        '': 'No model is named',
        '/nowhere/m.npz': 'missing',
        str(tmp_path): 'it is a folder',
        'x' * 300: '255 bytes at most',
        f'{"x" * 300}/m.npz': '255 bytes at most',
    }.items():
        with pytest.raises(InputError, match=words):
            check_target(path)


def test_the_positions_of_bags_are_put_in_step(write_bag, tmp_path):
    bag = write_bag(tmp_path / 'late', ellipse.drive().with_positions_earlier(-0.2))
    for wanted, earlier_s in (('auto', 0.2), ('', 0.0)):
        (recording,) = read_bags({**DEFAULTS, 'bags': [str(bag)], 'position_lag': wanted})
        assert recording.positions.earlier_s == pytest.approx(earlier_s, abs=0.01)


class Saving:
    """Stands in for the writing of the model, which ends when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.over = Event(), Event()
        self.written = 0
        self.model = SimpleNamespace(summary={'refusal': None})
        monkeypatch.setattr(job, 'train_model', lambda *_: self.model)
        monkeypatch.setattr(job, 'save_model', self._save)

    def _save(self, *_: object) -> None:
        self.begun.set()
        assert self.over.wait(10)
        self.written += 1


def test_a_file_that_is_being_written_is_waited_for(monkeypatch):
    saving = Saving(monkeypatch)
    job = TrainingJob(list, TrainingSettings(), 'model.npz')
    assert saving.begun.wait(10)
    closing = Thread(target=job.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    saving.over.set()
    closing.join(10)
    assert not closing.is_alive()
    assert saving.written == 1


def test_none_is_started_after_it_was_given_up(monkeypatch):
    saving, reading = Saving(monkeypatch), Event()
    saving.over.set()

    def read() -> list[object]:
        assert reading.wait(10)
        return []

    job = TrainingJob(read, TrainingSettings(), 'model.npz')
    job.close()
    reading.set()
    assert not saving.begun.wait(0.05)
    assert saving.written == 0


@pytest.mark.parametrize('force', [False, True])
def test_a_model_of_no_use_is_written_only_by_force(force, monkeypatch):
    saving = Saving(monkeypatch)
    saving.model.summary['refusal'] = {'reason': 'circle', 'sentence': 'of no use'}
    saving.over.set()
    job = TrainingJob(list, TrainingSettings(), 'model.npz', force=force)
    # Those of other tests, which were given up, have that name as well.
    deadline_s = monotonic() + 10.0
    while not job.done and monotonic() < deadline_s:
        sleep(0.01)
    assert job.done
    assert saving.written == force
    assert (job.model is None) == (not force)
    assert ('set force to write' in job.failure) == (not force)
    assert force or job.exit_status == 3
