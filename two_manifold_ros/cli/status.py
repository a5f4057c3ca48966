# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the nodes that run, one line each, or tell one where its vehicle is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from importlib import import_module
import math
from time import monotonic
from typing import Any

import numpy as np

from two_manifold_ros.cli.options import add, answer, seconds
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.status import Status, USABLE
from two_manifold_ros.interface.assessment import InputLimits, Level
from two_manifold_ros.interface.messages import header, planar_covariance, pose_fields, Topics
from two_manifold_ros.processes import until_ctrl_c
from two_manifold_ros.progress import on_stderr

HELP = (
    'Print a line for each running filter or updater node, with status, rates, and cause, and '
    'another one at each change. Needs ROS 2.'
)
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
        help='end so many seconds after nodes were discovered, with status 1 if no node was '
        'heard; a node reports once a second (default: end at Ctrl-C or as --until says; with '
        f'--json alone {_JSON_S:g})',
    )
    parser.add_argument(
        '--until',
        choices=_UNTIL,
        help='end when every node takes samples (active), publishes estimates (published) or is '
        'tracking; the status is 1 if a node cannot be configured, or if --seconds pass before',
    )
    add(parser, '--json')


def run(args: Namespace) -> int:
    """Watch until the time is over, or for ever."""
    if args.seconds is not None and args.seconds <= 0.0:
        msg = f'--seconds {args.seconds:g} must be more than 0: leave it out to watch until Ctrl-C'
        raise InputError(msg)
    watching = _watching()
    wanted = _UNTIL[args.until] if args.until else frozenset()
    endless = args.seconds is None and not wanted and not args.json
    table = StatusTable(frozenset(name.lstrip('/') for name in args.nodes), silent=args.json)
    limit_s = _JSON_S if args.json and not wanted and args.seconds is None else args.seconds
    stopped = endless
    with until_ctrl_c() if endless else nullcontext():
        watching.listen(table.hear, table.look, limit_s, lambda: table.settled(wanted))
        stopped = False
    if args.json:
        answer(args, {'nodes': table.nodes()})
    why = ''
    if stopped:
        pass
    elif not table.heard and not table.others:
        why = (
            'no filter or updater node was heard: check that one runs, and that both terminals '
            'have the same ROS_DOMAIN_ID'
        )
    elif missing := sorted(table.names - table.heard.keys()):
        others = f' (but {", ".join(sorted(table.others))})' if table.others else ''
        why = f'{" and ".join(missing)} not heard{others}'
    elif wanted and not table.all_in(wanted):
        why = f'not {args.until}: {"; ".join(map(table.line, sorted(table.heard)))}'
    if why:
        on_stderr(f'two-manifold: note: {why}')
    return 1 if why else 0


def _watching() -> Any:  # noqa: ANN401 - a module
    """Return what talks to nodes, the only part that needs ROS."""
    try:
        return import_module('two_manifold_ros.nodes.watching')
    except ImportError as error:
        msg = f'this command talks to nodes and needs ROS 2 ({error}): source its setup file first'
        raise InputError(msg) from error


PLACE_HELP = (
    'Tell a running filter node where its vehicle is now, as the tool 2D Pose Estimate of rviz '
    'does: one message on its topic initialpose. The status is 1 if no node listens. Needs ROS 2.'
)


def add_place(parser: ArgumentParser) -> None:
    """Add the arguments of place."""
    for name in 'xy':
        parser.add_argument(name, type=float, metavar=name.upper(), help='metres, as of position')
    for option, metavar, default, words in (
        ('--heading', 'DEG', math.nan, 'of the front, anticlockwise from x (default: not known)'),
        ('--within', 'M', 0.5, 'standard deviation in metres (default: %(default)s, as of rviz)'),
    ):
        parser.add_argument(option, type=float, metavar=metavar, default=default, help=words)
    topic = Topics.INITIAL_POSE.name
    words = f'topic of the node, such as car1/{topic} in a namespace (default: %(default)s)'
    parser.add_argument('--topic', metavar='T', default=topic, help=words)
    add(parser, '--json')


def run_place(args: Namespace) -> int:
    """Publish the position when a node listens; return 1 if none does."""
    if not all(map(math.isfinite, (args.x, args.y))) or not 0.0 <= args.within < math.inf:
        msg = 'X and Y have to be finite numbers of metres, and --within one that is not negative'
        raise InputError(msg)
    yaw, turned = 0.0, {}
    if math.isfinite(args.heading):
        # As sure as in the message of rviz.
        yaw, turned = math.radians(args.heading), {'yaw_variance': math.radians(15.0) ** 2}
    covariance = planar_covariance(args.within**2 * np.eye(2), **turned)
    # Without a stamp and a frame it is of now, and on the map of the filter.
    pose = {'pose': pose_fields([args.x, args.y], yaw), 'covariance': covariance}
    fields = {'header': header(0, ''), 'pose': pose}
    limit_s, kind = InputLimits.discovery_s, Topics.INITIAL_POSE.msgtype
    told = _watching().tell(args.topic, kind, fields, limit_s)
    said = [f'A node listens on {args.topic} and was sent {args.x:g}, {args.y:g}'] * told
    answer(args, {'topic': args.topic, 'told': told}, said)
    if not told:
        on_stderr(
            f'two-manifold: note: no node listens on {args.topic}: check that a filter_node with '
            'a map in metres runs, and that both terminals have the same ROS_DOMAIN_ID; for one '
            'in a namespace give --topic'
        )
    return int(not told)


class StatusTable:
    """Newest reports of nodes with these names, or of all; changes are printed."""

    def __init__(self, names: frozenset[str] = frozenset(), *, silent: bool = False) -> None:
        self.names, self.others, self._silent = names, set[str](), silent
        self.heard: dict[str, dict[str, Any]] = {}
        self._heard_s: dict[str, float] = {}
        # What was printed of each: another one is news.
        self._said: dict[str, object] = {}

    def hear(
        self, name: str, level: int, why: str, values: Mapping[str, str], nodes: int = 1
    ) -> None:
        """Take a ``DiagnosticStatus``, which one of several ``nodes`` of the name has sent."""
        if not {'status', 'cause'} <= values.keys():
            return
        if self.names and name not in self.names:
            self.others.add(name)
            return
        # What the reason of the state leaves out.
        troubles = 'swap_trouble', 'promotion_trouble', 'fixes_trouble'
        here: dict[str, Any] = {
            'level': Level(level).name if level in set(Level) else 'STALE',
            'status': values['status'],
            'cause': values['cause'],
            'why': why,
            'input_rate_hz': None,
            'estimate_rate_hz': None,
            'nodes': nodes,
            'trouble': next(filter(None, map(values.get, troubles)), ''),
        }
        # Where one route alone is known there is none to name.
        here |= {'route': values['route']} if values.get('route') else {}
        for key in ('input_rate_hz', 'estimate_rate_hz'):
            with suppress(ValueError):
                rate = float(values.get(key, ''))
                here[key] = rate if math.isfinite(rate) else None
        self.heard[name], self._heard_s[name] = here, monotonic()
        parts = 'status', 'cause', 'nodes', 'trouble', 'route'
        self._say(name, [here.get(part) for part in parts])

    def look(self) -> None:
        """Find out which nodes have gone."""
        for name in sorted(self.heard):
            if self._gone(name):
                self._say(name, 'gone')

    def _say(self, name: str, news: object) -> None:
        if self._said.get(name) != news and not self._silent:
            print(self.line(name), flush=True)
        self._said[name] = news

    def _gone(self, name: str) -> bool:
        return monotonic() - self._heard_s[name] > _GONE_S

    def all_in(self, statuses: Collection[str]) -> bool:
        """Return whether every node is there now, is the only one of its name, and in these."""
        return bool(self.heard) and all(
            name in self.heard
            and self.heard[name]['status'] in statuses
            and self.heard[name]['nodes'] == 1
            and not self._gone(name)
            for name in self.names | self.heard.keys()
        )

    def settled(self, statuses: Collection[str]) -> bool:
        """Return whether all nodes are in these, or waiting is in vain, if there are any."""
        failed = any(
            each['cause'] == 'unconfigured' and each['level'] == Level.ERROR.name
            for each in self.heard.values()
        )
        return bool(statuses) and (failed or self.all_in(statuses))

    def line(self, name: str) -> str:
        """Return the line about a node."""
        here = self.heard[name]
        if self._gone(name):
            return f'{name}  GONE   not heard for {monotonic() - self._heard_s[name]:.0f} s'
        received, published = (
            '-' if here[key] is None else f'{here[key]:.1f}'
            for key in ('input_rate_hz', 'estimate_rate_hz')
        )
        several = f' ({here["nodes"]} nodes of this name, in turn)' if here['nodes'] > 1 else ''
        on = f', on {here["route"]}' if 'route' in here else ''
        trouble = f'  ({here["trouble"]})' if here['trouble'] else ''
        rates = f'{received} Hz in, {published} Hz out'
        return f'{name}{several}  {here["level"]:5}  {rates}  {here["why"]}{on}{trouble}'

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the newest report of each node, for JSON: unknown rates are ``None``."""
        return {
            name: {
                **here,
                'silent_s': round(monotonic() - self._heard_s[name], 1),
                'gone': self._gone(name),
            }
            for name, here in sorted(self.heard.items())
        }
