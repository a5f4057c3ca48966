# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand a better model over to a filter node, and take it back."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Any, NamedTuple, Protocol, TYPE_CHECKING

from two_manifold_ros.adapting.contest import Verdict
from two_manifold_ros.adapting.rivals import make_rival, Rivals
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.model_swap import check_successor
from two_manifold_ros.model.model_file import load_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    Answer = Callable[[str], None]
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from two_manifold_ros.adapting.checkpoints import SnapshotFiles
    from two_manifold_ros.adapting.contest import ContestSettings
    from two_manifold_ros.adapting.rivals import Rival
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


class Background:
    """
    Does what takes long, such as reading and writing files, while messages go on.

    Parameters
    ----------
    name
        Of the thread.

    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._job: tuple[Future[Any], Callable[[Any], object]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a job runs, or its result was not picked up yet."""
        return self._job is not None

    def begin(self, work: Callable[[], Any], then: Callable[[Any], object]) -> None:
        """Begin a job; ``then`` is called by `look` with what it returned."""
        self._job = (self._pool.submit(work), then)

    def look(self) -> None:
        """Pick up the result if it is there; what the job raised is raised here."""
        if self._job is not None and self._job[0].done():
            (future, then), self._job = self._job, None
            then(future.result())

    def wait(self) -> None:
        """Wait until the job is done."""
        if self._job is not None:
            self._job[0].exception()

    def close(self) -> None:
        """Wait for the job that runs, if there is one; its result is lost."""
        self._pool.shutdown(wait=True, cancel_futures=True)


PATIENCE_S = 20.0
"""Silence about what was asked for after which it is taken to have failed."""

GETTING_READY = frozenset({'loading', 'waiting'})
"""Words of the filter node, under ``swap``, while it makes a model ready."""


class Requests(Protocol):
    """What can be asked of a filter node. The answer is a refusal, or empty if there is none."""

    def name_next(self, path: str, answer: Answer) -> None:
        """Ask to remember which model comes next."""

    def swap(self, answer: Answer) -> None:
        """Ask to run that one."""

    def take_back(self, answer: Answer) -> None:
        """Ask to run again the one before."""


class Stage(Enum):
    """How far the dialogue is."""

    IDLE = 'idle'
    NAMING = 'naming'
    ASKING = 'asking'
    AWAITING = 'awaiting'


class Handover:
    """
    Has one model put in the place of another, and learns from diagnostics how it ended.

    Nothing waits: answers and diagnostics come when they come, or not at all. An answer that
    comes after its dialogue is over is ignored.

    Parameters
    ----------
    requests
        What can be asked.

    Attributes
    ----------
    stage
        How far it is.
    trouble
        Why the last one failed; empty if it did not.

    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._wanted = self._present = ''
        self._deadline_s = 0.0
        self._dialogue = 0
        self._failed_before = False
        self.stage = Stage.IDLE
        self.trouble = ''

    @property
    def busy(self) -> bool:
        """Whether it is not over yet."""
        return self.stage is not Stage.IDLE

    def begin(self, path: str, present: str, now_s: float) -> None:
        """
        Begin to have a model run in the place of another.

        Parameters
        ----------
        path, present
            Files of the model that shall run, and of the one that does.
        now_s
            Seconds of a clock that never goes back.

        """
        self._open(path, present, now_s)
        self.stage = Stage.NAMING
        self._requests.name_next(path, self._then(self._ask))

    def take_back(self, path: str, present: str, now_s: float) -> None:
        """Begin to have the model before run again, see `begin`."""
        self._open(path, present, now_s)
        self.stage = Stage.ASKING
        self._requests.take_back(self._then(self._await))

    def hear(self, told: Mapping[str, str], now_s: float) -> None:
        """Take what the filter node told about itself: its values by key."""
        if self.stage is not Stage.AWAITING:
            return
        runs, swap = told.get('model', ''), told.get('swap', '')
        if runs == self._wanted:
            self._end('')
        elif runs != self._present:
            self._end(f'{self._wanted} was to run, but somebody else has chosen {runs}')
        elif swap in GETTING_READY:
            self._deadline_s = now_s + PATIENCE_S
        elif swap == 'failed':
            # What it says first may be about an attempt before this one, and just have been late.
            if self._failed_before:
                self._end(told.get('swap_trouble', '') or f'{self._wanted} was not taken')
            self._failed_before = True

    def look(self, now_s: float) -> None:
        """Give up what has lasted too long."""
        if self.busy and now_s > self._deadline_s:
            self._end(
                f'{self._wanted} was to run, but nothing was heard of it for {PATIENCE_S:g} s '
                f'({self.stage.value})'
            )

    def _open(self, path: str, present: str, now_s: float) -> None:
        self._wanted, self._present = path, present
        self._deadline_s = now_s + PATIENCE_S
        self._dialogue += 1
        self._failed_before = False
        self.trouble = ''

    def _then(self, go_on: Callable[[], None]) -> Answer:
        """Return what takes an answer in this dialogue."""
        dialogue, stage = self._dialogue, self.stage

        def answer(refusal: str) -> None:
            if (dialogue, stage) != (self._dialogue, self.stage):
                return
            if refusal:
                self._end(refusal)
            else:
                go_on()

        return answer

    def _ask(self) -> None:
        self.stage = Stage.ASKING
        self._requests.swap(self._then(self._await))

    def _await(self) -> None:
        self.stage = Stage.AWAITING

    def _end(self, trouble: str) -> None:
        self.stage = Stage.IDLE
        self.trouble = trouble


AWAY_S = 5.0
"""Silence after which it is taken to be gone; it reports once a second."""


class Running(NamedTuple):
    """
    A model being run.

    Parameters
    ----------
    path
        Its file.
    swaps, starts
        How often the model was exchanged, and the node started, before.

    """

    path: str
    swaps: str
    starts: int


class WatchedFilter:
    """
    Remembers the newest word of a filter node.

    Attributes
    ----------
    running
        What it runs, ``None`` if nothing.

    """

    def __init__(self) -> None:
        self._heard_s = -AWAY_S
        self._received = 0
        self._starts = 0
        self.running: Running | None = None

    def hear(self, told: Mapping[str, str], now_s: float) -> None:
        """Take its values by key, and when they came."""
        self._heard_s = now_s
        if 'swaps' not in told:
            self.running = None
            return
        received = int(told.get('received', '0'))
        # Its messages are counted from the start.
        self._starts += received < self._received
        self._received = received
        self.running = Running(told['model'], told['swaps'], self._starts)

    def look(self, now_s: float) -> None:
        """Forget what it runs if it has been silent for too long."""
        if now_s - self._heard_s > AWAY_S:
            self.running = None


class Promotion:
    """
    Lets snapshots of what is being learned fight the model that a filter node runs.

    Knows nothing of ROS. Files are read and written in a thread; nothing here waits for them, nor
    for the filter node.

    Parameters
    ----------
    requests
        What can be asked of the filter node.
    files
        Where models that won are written.
    settings
        When a model is better.
    snapshot
        Returns what was learned until now as a model, ``None`` if that is too little.
    info, warn
        Log one line.

    Attributes
    ----------
    counters
        ``hand_overs`` and ``take_backs``.
    trouble
        Why there is no contest, or why the last handover was in vain; empty if neither.

    """

    def __init__(
        self,
        requests: Requests,
        files: SnapshotFiles,
        settings: ContestSettings,
        snapshot: Callable[[], ModelHead | None],
        info: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        self._files = files
        self._settings = settings
        self._snapshot = snapshot
        self._info = info
        self._warn = warn
        self._filter = WatchedFilter()
        self._handover = Handover(requests)
        self._background = Background('models')
        self._known: Running | None = None
        self._before = ''
        self._asked = Verdict.KEEP
        self._rivals: Rivals | None = None
        self._compared: ModelHead | None = None
        self.counters: Counter[str] = Counter(hand_overs=0, take_backs=0)
        self.trouble = ''

    def take(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """Take a sample of the IMU, whatever it is like."""
        if self._rivals is not None:
            self._rivals.take(stamp_ns, sample)

    def reach(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a reference position that can be trusted, metres."""
        if self._rivals is not None:
            self._rivals.reach(stamp_ns, x, y)

    def hear(self, told: Mapping[str, str], now_s: float) -> None:
        """Take what the filter node told about itself: its values by key."""
        self._filter.hear(told, now_s)
        self._handover.hear(told, now_s)

    def close(self) -> None:
        """Let what is being written end; nothing may be called any more."""
        self._background.close()

    def look(self, now_s: float) -> None:
        """
        Do what can be done now; to be called now and then, between messages.

        Parameters
        ----------
        now_s
            Seconds of a clock that never goes back, the same as for `hear`.

        """
        self._filter.look(now_s)
        self._handover.look(now_s)
        try:
            self._background.look()
            if not self._background.busy and not self._handover.busy:
                self._go_on(now_s)
        except InputError as error:
            self._fail(str(error))
        except Exception as error:
            # Tried again at once it would fail again, and again.
            self._fail(f'{type(error).__name__}, please report it: {error}')
            raise

    @property
    def obstacle(self) -> str:
        """Why there is no contest as long as the filter node runs what it runs; empty if none."""
        return self.trouble if self._rivals is None else ''

    @property
    def state(self) -> str:
        """What it is doing, in plain words."""
        rivals = self._rivals
        if self._asked is not Verdict.KEEP:
            return 'handing over' if self._asked is Verdict.HAND_OVER else 'taking back'
        if self._known is None:
            return 'the filter node runs nothing, or is not heard'
        if rivals is None:
            return 'no contest' if self.obstacle else 'loading the model of the filter node'
        if rivals.candidate is None:
            return 'no candidate yet'
        return 'on trial' if rivals.on_trial else 'comparing'

    def values(self) -> dict[str, float | str]:
        """Return numbers and words for the diagnostics."""
        values: dict[str, float | str] = {'promotion': self.state}
        if self._known is not None:
            values['incumbent'] = self._known.path
        if self._rivals is not None:
            values['incumbent_error_m'], values['candidate_error_m'] = self._rivals.errors
            values['blocks'] = self._rivals.contest.blocks
            values['blocks_needed'] = self._rivals.contest.needed
        if self.trouble:
            values['promotion_trouble'] = self.trouble
        return values | self.counters

    def _go_on(self, now_s: float) -> None:
        if self._asked is not Verdict.KEEP:
            self._settle(self._asked)
        elif self._filter.running != self._known:
            self._follow(self._filter.running)
        elif self._known is not None and self._rivals is not None:
            self._compare(self._known, self._rivals, now_s)

    def _follow(self, running: Running | None) -> None:
        """Run a copy of what the filter node runs, which nobody here has chosen."""
        self._known, self._rivals, self._compared = running, None, None
        self.trouble = ''
        if running is None:
            return
        path = running.path

        def begin(rival: Rival) -> None:
            self._rivals = Rivals(rival, self._settings)

        self._background.begin(lambda: make_rival(load_model(path)), begin)

    def _compare(self, known: Running, rivals: Rivals, now_s: float) -> None:
        if rivals.verdict is Verdict.TAKE_BACK:
            self._asked = Verdict.TAKE_BACK
            self._say(rivals, 'take back', self._before, known.path)
            self._handover.take_back(self._before, known.path, now_s)
        elif rivals.verdict is Verdict.HAND_OVER and rivals.candidate is not None:
            self._hand_over(known, rivals, rivals.candidate.model, now_s)
        elif rivals.spent:
            self._challenge(rivals)

    def _hand_over(self, known: Running, rivals: Rivals, model: ModelHead, now_s: float) -> None:
        def begin(path: Path) -> None:
            self._asked = Verdict.HAND_OVER
            self._say(rivals, 'hand over', str(path), known.path)
            self._handover.begin(str(path), known.path, now_s)

        self._background.begin(lambda: self._files.write(model, (known.path,)), begin)

    def _challenge(self, rivals: Rivals) -> None:
        model = self._snapshot()
        # One that was compared already would be so until chance lets it win.
        if model is None or model is self._compared:
            return
        self._compared = model
        try:
            check_successor(model, rivals.incumbent.model, 'what is being learned')
        except InputError:
            # Nothing that is learned here will ever fit.
            self._rivals = None
            raise
        # Compiling its loops for the first time takes seconds.
        self._background.begin(lambda: make_rival(model), rivals.challenge)

    def _settle(self, asked: Verdict) -> None:
        """Note how a handover has ended."""
        rivals = self._rivals
        if self._handover.trouble or rivals is None or self._known is None:
            self._fail(self._handover.trouble)
            return
        self._asked, self.trouble = Verdict.KEEP, ''
        rivals.swap()
        if asked is Verdict.HAND_OVER:
            self._before = self._known.path
            self.counters['hand_overs'] += 1
        else:
            rivals.withdraw()
            self.counters['take_backs'] += 1
        self._known = self._filter.running

    def _fail(self, trouble: str) -> None:
        """Note what was in vain; only another candidate gives reason to try again."""
        self._asked, self.trouble, self._compared = Verdict.KEEP, trouble, None
        if self._rivals is not None:
            self._warn(trouble)
            self._rivals.withdraw()

    def _say(self, rivals: Rivals, what: str, path: str, instead: str) -> None:
        old, new = rivals.errors
        self._info(
            f'Verdict: {what} {path}, because it errs by {new:.3g} m where {instead} errs by '
            f'{old:.3g} m'
        )
