# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the nodes that run, one line each."""

from __future__ import annotations

from contextlib import nullcontext
import json
import math
from shutil import get_terminal_size
import sys
from textwrap import wrap
from time import monotonic
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.cli.options import add_json, on_stderr, seconds
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import Status, USABLE
from two_manifold_ros.interface.assessment import Level
from two_manifold_ros.stopping import until_ctrl_c

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Collection, Mapping

HELP = (
    'Print one line per running filter or updater node, live: status, rates, and cause. '
    'A file or pipe gets a line for each change. Needs ROS 2.'
)
_NOT_REACHED = 1
_JSON_S = 2.0
"""A node reports once a second."""
_GONE_S = 3.0
"""Silence after which a node is taken to be gone: one lost report is not enough."""
_UNTIL = {
    'active': frozenset(each.value for each in Status),
    'published': frozenset(each.value for each in USABLE),
    'tracking': frozenset({Status.TRACKING.value}),
}
"""Statuses that may be waited for: active is a node that takes samples, or waits for the first."""
_NOBODY_WORDS = (
    'no filter or updater node was heard: check that one runs, and that both terminals have '
    'the same ROS_DOMAIN_ID'
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        'nodes',
        nargs='*',
        metavar='NODE',
        help='full names, such as car1/filter_node (default: every node that is heard)',
    )
    parser.add_argument(
        '--seconds',
        type=seconds,
        help=(
            'end so many seconds after nodes were discovered, with status 1 if no node was '
            'heard; a node reports once a second (default: end at Ctrl-C or as --until says; '
            f'with --json alone {_JSON_S:g})'
        ),
    )
    parser.add_argument(
        '--until',
        choices=_UNTIL,
        help=(
            'end when every node takes samples (active), publishes estimates (published) or is '
            'tracking; the status is 1 if a node cannot be configured, or if --seconds pass '
            'before'
        ),
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Watch until the time is over, or for ever."""
    if args.seconds is not None and args.seconds <= 0.0:
        msg = f'--seconds {args.seconds:g} must be more than 0: leave it out to watch until Ctrl-C'
        raise InputError(msg)
    try:
        from two_manifold_ros.nodes.watching import listen  # noqa: PLC0415 - only this needs ROS
    except ImportError as error:
        msg = (
            f'this command listens to nodes and needs ROS 2 ({error}): source its setup file first'
        )
        raise InputError(msg) from error
    wanted = _UNTIL[args.until] if args.until else frozenset()
    limit_s = args.seconds
    names = frozenset(name.lstrip('/') for name in args.nodes)
    if args.json:
        table = StatusTable(names)

        def hear(name: str, level: int, why: str, values: Mapping[str, str], nodes: int) -> None:
            table.update(name, level, why, values, monotonic(), nodes)

        if not wanted:
            limit_s = limit_s or _JSON_S
        listen(hear, lambda: None, limit_s, lambda: table.settled(wanted, monotonic()))
        nodes = table.nodes(monotonic())
        print(json.dumps({'nodes': nodes}, indent=2, allow_nan=False))
    else:
        board = _Board(names)
        table = board.table
        stopped = endless = not wanted and limit_s is None
        with until_ctrl_c() if endless else nullcontext():
            listen(board.hear, board.look, limit_s, lambda: table.settled(wanted, monotonic()))
            stopped = False
        if stopped:
            return 0
    why = _why_not(table, wanted, args.until)
    if why:
        on_stderr(f'two-manifold: note: {why}')
    return _NOT_REACHED if why else 0


def _why_not(table: StatusTable, wanted: Collection[str], until: str | None) -> str:
    """Return why what was waited for did not happen; empty if it did."""
    if not table.heard and not table.others:
        return _NOBODY_WORDS
    if table.missing:
        others = f' (but {", ".join(table.others)})' if table.others else ''
        return f'{" and ".join(table.missing)} not heard{others}'
    if wanted and not table.all_in(wanted, monotonic()):
        return f'not {until}: {"; ".join(table.lines(monotonic()))}'
    return ''


class _Heard(NamedTuple):
    """Newest report of a node about itself, and its time."""

    level: str
    status: str
    cause: str
    why: str
    input_rate_hz: float | None
    estimate_rate_hz: float | None
    nodes: int
    trouble: str
    route: str
    heard_s: float


class StatusTable:
    """
    Table of the newest reports of nodes whose diagnostics have ``status`` and ``cause``.

    Of those with the given ``names``, or of all.
    """

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self._names, self._others = names, set[str]()
        self._heard: dict[str, _Heard] = {}

    def update(
        self,
        name: str,
        level: int,
        why: str,
        values: Mapping[str, str],
        now_s: float,
        nodes: int = 1,
    ) -> bool:
        """
        Take a ``DiagnosticStatus``, and when it came by a clock that never goes back.

        Nothing in a message says which of several ``nodes`` of one name sent it.

        Returns
        -------
        bool
            Whether the node is one of ours, and in another state than before or heard again, has
            got or lost a namesake, or failed to take a model or to hand one over.

        """
        if not {'status', 'cause'} <= values.keys():
            return False
        self._others |= {name} - self._names
        if self._names and name not in self._names:
            return False
        word = Level(level).name if level in set(Level) else 'STALE'
        received, published = _rate(values, 'input_rate_hz'), _rate(values, 'estimate_rate_hz')
        before = self._heard.get(name)
        state = values['status'], values['cause']
        trouble = values.get('swap_trouble', values.get('promotion_trouble', ''))
        route = values.get('route', '')
        here = _Heard(word, *state, why, received, published, nodes, trouble, route, now_s)
        self._heard[name] = here
        return (
            before is None
            or now_s - before.heard_s > _GONE_S
            or (before.status, before.cause, before.nodes, before.trouble, before.route)
            != (*state, nodes, trouble, route)
        )

    @property
    def heard(self) -> bool:
        """True if any node was heard."""
        return bool(self._heard)

    @property
    def others(self) -> list[str]:
        """Names that were heard and not asked for, where some were asked for."""
        return sorted(self._others) if self._names else []

    @property
    def missing(self) -> list[str]:
        """Names that were asked for and not heard."""
        return sorted(self._names - self._heard.keys())

    def all_in(self, statuses: Collection[str], now_s: float) -> bool:
        """Return whether every node is there now, is the only one of its name, and in these."""
        return (
            self.heard
            and not self.missing
            and all(
                each.status in statuses and each.nodes == 1 and now_s - each.heard_s <= _GONE_S
                for each in self._heard.values()
            )
        )

    def settled(self, statuses: Collection[str], now_s: float) -> bool:
        """Return whether all nodes are in these, or waiting is in vain, if there are any."""
        failed = any(
            each.cause == 'unconfigured' and each.level == Level.ERROR.name
            for each in self._heard.values()
        )
        return bool(statuses) and (failed or self.all_in(statuses, now_s))

    def line(self, name: str, now_s: float) -> str:
        """Return the line about a node."""
        here = self._heard[name]
        silent_s = now_s - here.heard_s
        if silent_s > _GONE_S:
            return f'{name}  GONE   not heard for {silent_s:.0f} s'
        received, published = (
            '-' if rate is None else f'{rate:.1f}'
            for rate in (here.input_rate_hz, here.estimate_rate_hz)
        )
        several = f' ({here.nodes} nodes of this name, in turn)' if here.nodes > 1 else ''
        line = f'{name}{several}  {here.level:5}  {received} Hz in, {published} Hz out  {here.why}'
        if here.route:
            line += f', on {here.route}'
        return f'{line}  ({here.trouble})' if here.trouble else line

    def gone(self, now_s: float) -> set[str]:
        """Return the nodes that were heard and are not any more."""
        return {name for name, here in self._heard.items() if now_s - here.heard_s > _GONE_S}

    def lines(self, now_s: float) -> list[str]:
        """Return the lines about all nodes, by name."""
        return [self.line(name, now_s) for name in sorted(self._heard)]

    def nodes(self, now_s: float) -> dict[str, dict[str, float | str | bool | None]]:
        """Return the newest report of each node, for JSON: unknown rates are ``None``."""
        found: dict[str, dict[str, float | str | bool | None]] = {}
        for name, here in sorted(self._heard.items()):
            said = here._asdict()
            if not here.route:
                # Where one alone is known there is none to name.
                del said['route']
            silent_s = round(now_s - said.pop('heard_s'), 1)
            found[name] = {**said, 'silent_s': silent_s, 'gone': name in self.gone(now_s)}
        return found


def _rate(values: Mapping[str, str], key: str) -> float | None:
    try:
        rate = float(values.get(key, ''))
    except ValueError:
        return None
    return rate if math.isfinite(rate) else None


class _Board:
    """Lines that stay in place on a terminal, or one after the other elsewhere."""

    def __init__(self, names: frozenset[str]) -> None:
        self.table = StatusTable(names)
        self._shown = 0
        self._gone: set[str] = set()
        self._stays = sys.stdout.isatty()

    def hear(self, name: str, level: int, why: str, values: Mapping[str, str], nodes: int) -> None:
        """Take a word; print it where lines do not stay in place."""
        new = self.table.update(name, level, why, values, monotonic(), nodes)
        if new and not self._stays:
            print(self.table.line(name, monotonic()), flush=True)

    def look(self) -> None:
        """Write all lines over those of before; elsewhere those of nodes that have gone."""
        if not self._stays:
            now_s = monotonic()
            gone, before = self.table.gone(now_s), self._gone
            self._gone = gone
            for name in sorted(gone - before):
                print(self.table.line(name, now_s), flush=True)
            return
        size = get_terminal_size()
        width = max(size.columns, 21)
        lines = self.table.lines(monotonic()) or ['no node was heard yet']
        # The terminal must not wrap: lines that it makes would not be written over.
        lines = [part for line in lines for part in wrap(line, width - 1, subsequent_indent='  ')]
        # Nor can lines that left it at the top.
        del lines[max(size.lines - 1, 1) :]
        back = f'\x1b[{self._shown}F\x1b[J' if self._shown else ''
        print(back + '\n'.join(lines), flush=True)
        self._shown = len(lines)
