# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Hand what was learned to a filter node if it is better than what runs there, and take it back.

Copies of both models filter the same samples here, a `Contest` compares them, and a swap protocol
makes the filter node run the better one. The previous model then runs beside it until a newer one
is learned: if it wins the next contest, it is taken back.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from importlib import import_module
import math
from typing import NamedTuple, Protocol, TYPE_CHECKING, TypeAlias

from two_manifold_ros.adapting.prequential import Contest
from two_manifold_ros.adapting.training_material import lap_seconds
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.model_swap import check_successor
from two_manifold_ros.model.model_file import load_model, save_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from two_manifold_ros.adapting.checkpoints import NumberedFiles
    from two_manifold_ros.adapting.prequential import PositionAt
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats

Answer: TypeAlias = 'Callable[[str], None]'
"""Takes the answer to a request: why it is refused, or an empty string."""

PATIENCE_S = 20.0
"""Silence of the filter node after which a swap has failed; loading takes a few seconds."""

AWAY_S = 5.0
"""Silence after which the filter node is gone; it reports once a second."""


class SwapClient(Protocol):
    """Requests to a filter node, each answered later."""

    def name_next(self, path: str, answer: Answer) -> None:
        """Ask to remember which model comes next."""

    def swap(self, answer: Answer) -> None:
        """Ask to run that one."""

    def take_back(self, answer: Answer) -> None:
        """Ask to run the previous one again."""


class Stage(Enum):
    """Progress of a swap."""

    IDLE = 'idle'
    NAMING = 'naming'
    ASKING = 'asking'
    AWAITING = 'awaiting'


class SwapProtocol:
    """
    Replace the model of a filter node, and learn from its diagnostics how that ended.

    Nothing waits: answers and diagnostics come when they come, or not at all. An answer counts
    once, and not after its swap is over. ``stage`` says how far it is, and ``trouble`` why the
    last swap failed. Times are seconds of a clock that never goes back.
    """

    def __init__(self, client: SwapClient) -> None:
        self._client = client
        self._wanted = self._present = ''
        self._deadline_s = 0.0
        self._question: object = None
        self._failed_before = False
        self.stage = Stage.IDLE
        self.trouble = ''

    @property
    def busy(self) -> bool:
        """True while a swap is not over."""
        return self.stage is not Stage.IDLE

    def begin(self, path: str, present: str, now_s: float) -> None:
        """Start to run the model in the file ``path`` instead of the one in ``present``."""
        self._open(path, present, now_s, Stage.NAMING)
        self._client.name_next(path, self._ask())

    def take_back(self, path: str, present: str, now_s: float) -> None:
        """Start to run the previous model again, see `begin`."""
        self._open(path, present, now_s, Stage.ASKING)
        self._client.take_back(self._ask())

    def hear(self, status: Mapping[str, str], now_s: float) -> None:
        """Take the diagnostics of the filter node, values by key."""
        if self.stage is not Stage.AWAITING:
            return
        runs, swap = status.get('model', ''), status.get('swap', '')
        if runs == self._wanted:
            self._end('')
        elif runs != self._present:
            self._end(f'{self._wanted} was to run, but another client chose {runs}')
        elif swap in {'loading', 'waiting'}:
            self._deadline_s = now_s + PATIENCE_S
        elif swap == 'failed':
            # The first report may have been sent before, and be about an earlier attempt.
            if self._failed_before:
                self._end(status.get('swap_trouble', '') or f'{self._wanted} was not taken')
            self._failed_before = True

    def look(self, now_s: float) -> None:
        """Give up a swap that has lasted too long."""
        if self.busy and now_s > self._deadline_s:
            self._end(
                f'{self._wanted} was to run, but no answer was received for {PATIENCE_S:g} s '
                f'({self.stage.value})'
            )

    def _open(self, path: str, present: str, now_s: float, stage: Stage) -> None:
        self._wanted, self._present = path, present
        self._deadline_s = now_s + PATIENCE_S
        self._failed_before = False
        self.stage, self.trouble = stage, ''

    def _ask(self) -> Answer:
        """Return the callback that takes the answer to the next question."""
        question = self._question = object()

        def answer(refusal: str) -> None:
            if question is not self._question:
                return
            self._question = None
            if refusal:
                self._end(refusal)
            elif self.stage is Stage.NAMING:
                self.stage = Stage.ASKING
                self._client.swap(self._ask())
            else:
                self.stage = Stage.AWAITING

        return answer

    def _end(self, trouble: str) -> None:
        self.stage, self._question, self.trouble = Stage.IDLE, None, trouble


class _Running(NamedTuple):
    """State of a filter node: file, counts of swaps and starts, options in seconds and metres."""

    path: str
    swaps: str
    starts: int
    reorder_s: float
    ellipse_warn_m: float
    ellipse_error_m: float

    def make_shadow(self, model: ModelHead) -> Filter:
        """
        Return a filter that is warm and empty, and filters as the node would.

        Raises `InputError` if the limits of the ellipse do not go with the model.
        """
        ellipse_m = self.ellipse_warn_m, self.ellipse_error_m
        live = make_filter(model, ellipse_m=ellipse_m, reorder_ns=round(1e9 * self.reorder_s))
        live.warm_up()
        return live


class Notice(NamedTuple):
    """A line for the log."""

    text: str
    is_warning: bool


class Promotion:
    """
    Compare learned models with that of a filter node, and hand over the better one.

    Files are read and written in a thread; nothing here waits for them, nor for the filter node.
    A model is better if its error is below ``margin`` times that of the filter node's model.
    """

    def __init__(self, client: SwapClient, files: NumberedFiles, margin: float) -> None:
        self._files, self._margin = files, margin
        self._protocol = SwapProtocol(client)
        self._pool = ThreadPoolExecutor(1, 'models')
        # For the test of the errors: no sample waits for that.
        self._pool.submit(import_module, 'scipy.stats')
        self._job: Future[Filter | Path] | None = None
        # What the filter node reported last.
        self._heard_s, self._received, self._starts = -AWAY_S, 0, 0
        self._reported: _Running | None = None
        # What is compared here, and what was asked for.
        self._known: _Running | None = None
        # Copy of what the filter node runs, what may replace it, and the contest of the two.
        self.incumbent: Filter | None = None
        self.candidate: Filter | None = None
        self.contest = Contest(math.nan, margin)
        self._lap_s = math.nan
        # Number of the training whose model was compared; 0 before the first.
        self._compared = 0
        # File of the model before, while that is the candidate.
        self._previous = ''
        # Whether the log has that the candidate lost.
        self._lost_reported = False
        self._asked = ''
        self._notices: list[Notice] = []
        self.counters: Counter[str] = Counter(hand_overs=0, take_backs=0, contests_lost=0)
        # Why nothing is compared, or why the last swap failed.
        self.trouble = ''

    def take(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """Take a sample of the IMU, good or bad."""
        for side, shadow in enumerate((self.incumbent, self.candidate)):
            if shadow is not None:
                estimates = shadow.push(stamp_ns, sample)
                if self.candidate is not None:
                    self.contest.add(side, estimates)

    def settle(self, until_ns: int, position_at: PositionAt) -> None:
        """Judge estimates up to the newest reference position, see `Contest`."""
        if self.candidate is not None:
            self.contest.settle(until_ns, position_at)

    def hear(self, status: Mapping[str, str], now_s: float) -> None:
        """Take the diagnostics of the filter node, values by key."""
        self._heard_s, self._reported = now_s, None
        if 'swaps' in status:
            received = int(status.get('received', '0'))
            # Its messages are counted from the start.
            self._starts += received < self._received
            self._received = received
            names = 'reorder_s', 'ellipse_warn_m', 'ellipse_error_m'
            options = (float(status.get(name, '0')) for name in names)
            self._reported = _Running(status['model'], status['swaps'], self._starts, *options)
        self._protocol.hear(status, now_s)

    def close(self) -> None:
        """Finish what is being written; no other method may be called afterwards."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._files.close()

    def wait(self) -> None:
        """Wait until no file is being read or written."""
        if self._job is not None:
            self._job.exception()

    def drain_notices(self) -> list[Notice]:
        """Return the sentences to log, and clear them."""
        notices, self._notices = self._notices, []
        return notices

    def look(self, now_s: float, learned: ModelHead | None, training: int) -> None:
        """
        Advance the hand-over as far as possible; call this periodically, between messages.

        ``learned`` is the newest model that was learned, ``None`` if that is too little, and
        ``training`` counts the trainings: of each one model is compared, whatever was learned on
        since.
        """
        if learned is None:
            # All was forgotten, and trainings are counted from the start.
            self._compared = 0
        if now_s - self._heard_s > AWAY_S:
            self._reported = None
        self._protocol.look(now_s)
        try:
            if self._job is not None and self._job.done():
                job, self._job = self._job, None
                self._use(job.result(), now_s)
            if self._job is None and not self._protocol.busy:
                self._go_on(now_s, learned, training)
        except InputError as error:
            self._fail(str(error))
        except Exception as error:
            # Tried again at once it would fail again, and again.
            self._fail(f'{type(error).__name__}, please report it: {error}')
            raise

    @property
    def obstacle(self) -> str:
        """Reason why no comparison with the filter node runs; empty if one does."""
        return self.trouble if self.incumbent is None else ''

    @property
    def state(self) -> str:
        """Sentence on what the hand-over is doing."""
        if self._asked:
            return 'taking back' if self._previous else 'handing over'
        if self._known is None:
            return 'the filter node runs no model, or its diagnostics are not received'
        if self.incumbent is None:
            return 'no contest' if self.obstacle else 'loading the model of the filter node'
        if self.candidate is None:
            return 'no candidate yet'
        return 'on trial' if self._previous else 'comparing'

    def values(self) -> dict[str, float | str]:
        """Return numbers and words for the diagnostics."""
        values: dict[str, float | str] = {'promotion': self.state}
        if self._known is not None:
            values['incumbent'] = self._known.path
        if self.incumbent is not None:
            values['incumbent_error_m'], values['candidate_error_m'] = self.contest.errors_m
            values['blocks'] = self.contest.blocks
        if self.trouble:
            values['promotion_trouble'] = self.trouble
        return values | self.counters

    def _use(self, made: Filter | Path, now_s: float) -> None:
        """Use the model that the thread has read or written."""
        if isinstance(made, Filter):
            if self.incumbent is None:
                self.incumbent = made
            else:
                self._lap_s = lap_seconds(made.model)
                self._challenge(made, '')
        elif self._known is not None:
            self._announce('hand over', str(made), self._known.path)
            self._protocol.begin(str(made), self._known.path, now_s)

    def _go_on(self, now_s: float, learned: ModelHead | None, training: int) -> None:
        known, candidate = self._known, self.candidate
        if self.contest.is_lost and known and not (self._lost_reported or self._previous):
            self._lost_reported = True
            self.counters['contests_lost'] += 1
            old, new = self.contest.errors_m
            text = (
                f'Verdict: {known.path} stays, because what training {self._compared} gave errs '
                f'by {new:.3g} m where it errs by {old:.3g} m (less than {self._margin:g} times '
                'as much is needed)'
            )
            self._notices.append(Notice(text, is_warning=False))
        if self._asked:
            self._settle_swap()
        elif self._reported != known:
            self._follow()
        elif known is None or self.incumbent is None:
            return
        elif candidate is not None and self.contest.is_won:
            if self._previous:
                self._announce('take back', self._previous, known.path)
                self._protocol.take_back(self._previous, known.path, now_s)
            else:
                model = candidate.model
                self._job = self._pool.submit(
                    lambda: self._files.write(lambda path: save_model(model, path), (known.path,))
                )
        # What was compared already would be compared until chance lets it win.
        elif (
            (candidate is None or self.contest.is_lost)
            and learned is not None
            and training != self._compared
        ):
            self._compared = training
            self._load(learned, self.incumbent.model, known)

    def _follow(self) -> None:
        """Run a copy of the model of the filter node, which was not chosen here."""
        known = self._known = self._reported
        self.incumbent, self._compared = None, 0
        self._challenge(None, '')
        self.trouble = ''
        if known is not None:
            self._job = self._pool.submit(lambda: known.make_shadow(load_model(known.path)))

    def _load(self, model: ModelHead, present: ModelHead, known: _Running) -> None:
        """Make a filter of a model that was learned."""
        try:
            check_successor(model, present, 'the model that is being learned')
        except InputError:
            # Nothing that is learned here will ever fit.
            self.incumbent = None
            raise
        # Compiling its loops for the first time takes seconds.
        self._job = self._pool.submit(known.make_shadow, model)

    def _challenge(self, candidate: Filter | None, previous: str) -> None:
        """Start a contest with a candidate, which may be what ran before."""
        self.candidate, self._previous, self._lost_reported = candidate, previous, False
        self.contest = Contest(self._lap_s, self._margin)

    def _settle_swap(self) -> None:
        """Note how a swap has ended."""
        if self._protocol.trouble or self._known is None:
            self._fail(self._protocol.trouble)
            return
        self._asked = self.trouble = ''
        before, self.incumbent = self.incumbent, self.candidate
        if self._previous:
            self.counters['take_backs'] += 1
            self._challenge(None, '')
        else:
            self.counters['hand_overs'] += 1
            self._challenge(before, self._known.path)
        self._known = self._reported

    def _fail(self, trouble: str) -> None:
        """Note a failure; only another candidate gives reason to try again."""
        self._asked, self.trouble, self._compared = '', trouble, 0
        if self.incumbent is not None:
            self._notices.append(Notice(trouble, is_warning=True))
            self._challenge(None, '')

    def _announce(self, what: str, path: str, instead: str) -> None:
        self._asked = what
        old, new = self.contest.errors_m
        text = (
            f'Verdict: {what} {path}, because it errs by {new:.3g} m where {instead} errs by '
            f'{old:.3g} m'
        )
        self._notices.append(Notice(text, is_warning=False))
