# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand what was learned to a filter node if it errs less than what runs there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP, Contest
from two_manifold_ros.adapting.training_material import check_one_route, lap_seconds
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.session import check_successor
from two_manifold_ros.model.model_file import load_model, save_model

if TYPE_CHECKING:
    from two_manifold_ros.adapting.checkpoints import NumberedFiles
    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Floats

PATIENCE_S = 20.0
"""Time after which a filter node that neither loads nor runs a model has refused it."""

AWAY_S = 5.0
"""Silence after which the filter node is gone; it reports once a second."""


class HandOver:
    """
    Compare what a learner says with a copy of the model of a filter node, on the same samples.

    The learner's models are compared one after the other in one `Contest`. If that is won, and the
    newest of them has run for a lap, it is written, and ``ask`` asks the filter node to run the
    file. After a contest that is lost the next training starts another one. Files are read and
    written in a thread, and the diagnostics of the filter node say what it runs. ``say`` logs a
    sentence, and whether it is a warning. Times are seconds of a steady clock.
    """

    def __init__(
        self,
        ask: Callable[[str], object],
        files: NumberedFiles,
        learner: StreamLearner,
        say: Callable[[str, bool], object],
    ) -> None:
        self._ask, self._files, self._learner, self._say = ask, files, learner, say
        self._pool = ThreadPoolExecutor(1, 'models')
        # For the test of the errors: no sample waits for that.
        self._pool.submit(import_module, 'scipy.stats')
        self._job: Future[Filter | Path] | None = None
        # When the filter node was heard, file and count of swaps that it reported last, those
        # that are compared with, and a copy of their model.
        self._heard_s = -AWAY_S
        self._reported: tuple[str, str] | None = None
        self._known: tuple[str, str] | None = None
        self.incumbent: Filter | None = None
        # None until a model was learned, and after it has lost.
        self.contest: Contest | None = None
        # Number of the training whose model is compared, and blocks of the contest before it.
        self._compared = self._before = 0
        # File that was asked for, until when it is waited for, and why it does not run.
        self._asked, self._deadline_s, self._refusal = '', 0.0, ''
        self.counters: Counter[str] = Counter(hand_overs=0, contests_lost=0)
        # Why nothing is compared, or why the last swap failed.
        self.trouble = ''

    def take(
        self, stamp_ns: int, sample: Sequence[float] | Floats, estimates: Sequence[Estimate]
    ) -> None:
        """Take a sample of the IMU, good or bad, and what the learner says of it."""
        if self.incumbent is None:
            return
        theirs = self.incumbent.push(stamp_ns, sample)
        if self.contest is not None:
            self.contest.take(theirs, estimates, self._learner.reference)

    def hear(self, status: Mapping[str, str], now_s: float) -> None:
        """Take the diagnostics of the filter node, values by key."""
        self._heard_s, self._reported = now_s, None
        if 'swaps' in status:
            self._reported = status['model'], status['swaps']
        if status.get('swap') in {'loading', 'waiting'}:
            self._deadline_s = now_s + PATIENCE_S
        elif self._asked and now_s > self._deadline_s:
            why = 'the filter node refuses it, or its services cannot be found'
            self._refusal = status.get('swap_trouble', '') or f'{self._asked} does not run: {why}'

    def close(self) -> None:
        """Finish what is being written; no other method may be called afterwards."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._files.close()

    def values(self) -> dict[str, float | str]:
        """Return numbers and words for the diagnostics."""
        contest = self.contest
        if self._asked:
            state = 'handing over'
        elif self._known is None:
            state = 'the filter node runs no model, or its diagnostics are not received'
        elif self.incumbent is None:
            state = 'no contest' if self.trouble else 'loading the model of the filter node'
        else:
            state = 'no candidate yet' if contest is None else 'comparing'
        values: dict[str, float | str] = {'promotion': state}
        if self._known is not None:
            values['incumbent'] = self._known[0]
        if contest is not None:
            values['incumbent_error_m'], values['candidate_error_m'] = contest.errors_m
            values['blocks'] = contest.blocks
        if self.trouble:
            values['promotion_trouble'] = self.trouble
        return values | self.counters

    def look(self, now_s: float) -> None:
        """Advance as far as possible; call this periodically, between messages."""
        if now_s - self._heard_s > AWAY_S:
            self._reported = None
        try:
            self._advance(now_s)
        except InputError as error:
            self._fail(str(error))
            # The same model may be refused once and taken after another lap.
            self._compared = 0
        except Exception as error:
            # Tried again at once it would fail again, and again.
            self._fail(f'{type(error).__name__}, please report it: {error}')
            raise

    def _fail(self, trouble: str) -> None:
        """Note and say a failure, and end the contest."""
        self._asked, self.trouble, self.contest = '', trouble, None
        self._say(f'Nothing is handed over: {trouble}', True)

    def _advance(self, now_s: float) -> None:
        """Use what was read or written, follow the filter node, wait for it, or compare."""
        known = self._known
        if self._job is not None:
            if self._job.done():
                job, self._job = self._job, None
                made = job.result()
                if isinstance(made, Filter):
                    self.incumbent = made
                else:
                    self._asked, self._refusal = str(made), ''
                    self._deadline_s = now_s + PATIENCE_S
                    self._ask(self._asked)
        elif self._reported != known:
            known = self._known = self._reported
            if known is not None and known[0] == self._asked:
                self.counters['hand_overs'] += 1
            else:
                self._compared = 0
            self._asked = self.trouble = ''
            self.incumbent = self.contest = None
            if known is not None:
                # Compiling its loops for the first time takes seconds.
                make, running = self._learner.make_filter, known[0]
                self._job = self._pool.submit(lambda: make(load_model(running)))
        elif self._asked:
            if self._refusal:
                raise InputError(self._refusal)
        elif self.incumbent is not None and known is not None:
            self._compare(self.incumbent.model, known[0])

    def _compare(self, present: ModelHead, path: str) -> None:
        """Start a contest with what was learned, or end it."""
        learner, contest = self._learner, self.contest
        learned = learner.model()
        if learned is None:
            self.contest, self._compared = None, 0
        # What was compared already would be compared until chance lets it win.
        elif learner.models != self._compared:
            self._compared = learner.models
            # If it does not fit, nothing that is learned here ever will.
            incumbent, self.incumbent = self.incumbent, None
            check_one_route(present, path)
            check_successor(learned, present, 'the model that is being learned')
            self.incumbent = incumbent
            if contest is None:
                contest = self.contest = Contest(lap_seconds(learned))
            self._before = contest.blocks
        elif contest is None:
            return
        elif contest.is_lost:
            self.contest = None
            self.counters['contests_lost'] += 1
            self._say(f'Verdict: {path} stays, because {contest.in_words}', False)
        elif contest.is_won and contest.blocks >= self._before + BLOCKS_PER_LAP:
            self._say(
                f'Verdict: hand over, because {contest.in_words}; until now {path} runs. To go '
                'back to it, name it in next_model and call swap_model.',
                False,
            )
            self._job = self._pool.submit(
                lambda: self._files.write(lambda target: save_model(learned, target), (path,))
            )
