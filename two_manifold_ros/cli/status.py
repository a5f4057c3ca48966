# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the nodes that run, one line each."""

from __future__ import annotations

from contextlib import nullcontext
import math
from shutil import get_terminal_size
import sys
from textwrap import wrap
from time import monotonic
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.cli.options import add_json, answer, on_stderr, seconds
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
    names = frozenset(name.lstrip('/') for name in args.nodes)
    endless = args.seconds is None and not wanted and not args.json
    table = StatusTable(names)
    board = _Board(table, silent=args.json)
    limit_s = _JSON_S if args.json and not wanted and args.seconds is None else args.seconds
    stopped = endless
    with until_ctrl_c() if endless else nullcontext():
        listen(board.hear, board.look, limit_s, lambda: table.settled(wanted, monotonic()))
        stopped = False
    if args.json:
        answer(args, {'nodes': table.nodes(monotonic())})
    why = '' if stopped else _why_not(table, wanted, args.until)
    if why:
        on_stderr(f'two-manifold: note: {why}')
    return _NOT_REACHED if why else 0


def _why_not(table: StatusTable, wanted: Collection[str], until: str | None) -> str:
    """Return why what was waited for did not happen; empty if it did."""
    if not table.heard and not table.others:
        return _NOBODY_WORDS
    if missing := sorted(table.names - table.heard.keys()):
        others = f' (but {", ".join(sorted(table.others))})' if table.others else ''
        return f'{" and ".join(missing)} not heard{others}'
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

    def is_gone(self, now_s: float) -> bool:
        """Return whether nothing was heard for a while."""
        return now_s - self.heard_s > _GONE_S


class StatusTable:
    """
    Newest reports of nodes whose diagnostics have ``status`` and ``cause``.

    ``heard`` are those with the given ``names``, or all; ``others`` are names that were not given.
    """

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self.names, self.others = names, set[str]()
        self.heard: dict[str, _Heard] = {}

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
        Take a ``DiagnosticStatus`` and its time; return whether it is news of a node of ours.

        Nothing in a message says which of several ``nodes`` of one name sent it. News is another
        state or route, a namesake that comes or goes, trouble with a model, or a node heard again.
        """
        if not {'status', 'cause'} <= values.keys():
            return False
        if self.names and name not in self.names:
            self.others.add(name)
            return False
        here = _Heard(
            Level(level).name if level in set(Level) else 'STALE',
            values['status'],
            values['cause'],
            why,
            _rate(values, 'input_rate_hz'),
            _rate(values, 'estimate_rate_hz'),
            nodes,
            values.get('swap_trouble', values.get('promotion_trouble', '')),
            values.get('route', ''),
            now_s,
        )
        before = self.heard.get(name)
        self.heard[name] = here
        state = ('status', 'cause', 'nodes', 'trouble', 'route')
        return (
            before is None
            or before.is_gone(now_s)
            or any(getattr(before, each) != getattr(here, each) for each in state)
        )

    def all_in(self, statuses: Collection[str], now_s: float) -> bool:
        """Return whether every node is there now, is the only one of its name, and in these."""
        return bool(self.heard) and all(
            each is not None
            and each.status in statuses
            and each.nodes == 1
            and not each.is_gone(now_s)
            for each in map(self.heard.get, self.names | self.heard.keys())
        )

    def settled(self, statuses: Collection[str], now_s: float) -> bool:
        """Return whether all nodes are in these, or waiting is in vain, if there are any."""
        failed = any(
            each.cause == 'unconfigured' and each.level == Level.ERROR.name
            for each in self.heard.values()
        )
        return bool(statuses) and (failed or self.all_in(statuses, now_s))

    def lines(self, now_s: float, *names: str) -> list[str]:
        """Return the lines about all nodes, or about some, by name."""
        found = []
        for name in sorted(names or self.heard):
            here = self.heard[name]
            if here.is_gone(now_s):
                found.append(f'{name}  GONE   not heard for {now_s - here.heard_s:.0f} s')
                continue
            received, published = (
                '-' if rate is None else f'{rate:.1f}'
                for rate in (here.input_rate_hz, here.estimate_rate_hz)
            )
            several = f' ({here.nodes} nodes of this name, in turn)' if here.nodes > 1 else ''
            on = f', on {here.route}' if here.route else ''
            trouble = f'  ({here.trouble})' if here.trouble else ''
            found.append(
                f'{name}{several}  {here.level:5}  {received} Hz in, {published} Hz out  '
                f'{here.why}{on}{trouble}'
            )
        return found

    def nodes(self, now_s: float) -> dict[str, dict[str, float | str | bool | None]]:
        """Return the newest report of each node, for JSON: unknown rates are ``None``."""
        found: dict[str, dict[str, float | str | bool | None]] = {}
        for name, here in sorted(self.heard.items()):
            said = here._asdict()
            if not here.route:
                # Where one alone is known there is none to name.
                del said['route']
            silent_s = round(now_s - said.pop('heard_s'), 1)
            found[name] = {**said, 'silent_s': silent_s, 'gone': here.is_gone(now_s)}
        return found


def _rate(values: Mapping[str, str], key: str) -> float | None:
    try:
        rate = float(values.get(key, ''))
    except ValueError:
        return None
    return rate if math.isfinite(rate) else None


class _Board:
    """Lines that stay in place on a terminal, or one after the other elsewhere, or none."""

    def __init__(self, table: StatusTable, *, silent: bool) -> None:
        self._table, self._silent = table, silent
        self._shown = 0
        self._gone: set[str] = set()
        self._stays = sys.stdout.isatty()

    def hear(self, name: str, level: int, why: str, values: Mapping[str, str], nodes: int) -> None:
        """Take a word; print it where lines do not stay in place."""
        new = self._table.update(name, level, why, values, monotonic(), nodes)
        if new and not self._stays and not self._silent:
            print(*self._table.lines(monotonic(), name), flush=True)

    def look(self) -> None:
        """Write all lines over those of before; elsewhere those of nodes that have gone."""
        if self._silent:
            return
        now_s = monotonic()
        if not self._stays:
            before = self._gone
            self._gone = {name for name, each in self._table.heard.items() if each.is_gone(now_s)}
            for name in sorted(self._gone - before):
                print(*self._table.lines(now_s, name), flush=True)
            return
        size = get_terminal_size()
        width = max(size.columns, 21)
        lines = self._table.lines(now_s) or ['no node was heard yet']
        # The terminal must not wrap: lines that it makes would not be written over.
        lines = [part for line in lines for part in wrap(line, width - 1, subsequent_indent='  ')]
        # Nor can lines that left it at the top.
        del lines[max(size.lines - 1, 1) :]
        back = f'\x1b[{self._shown}F\x1b[J' if self._shown else ''
        print(back + '\n'.join(lines), flush=True)
        self._shown = len(lines)
