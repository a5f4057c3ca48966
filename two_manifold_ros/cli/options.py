# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, what they read, and how results are printed."""

from __future__ import annotations

from argparse import _ArgumentGroup, Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib import import_module
import json
import math
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import client_of
from two_manifold_ros.progress import on_stderr, print_wrapped, Progress
from two_manifold_ros.sources import expand, only_bag
from two_manifold_ros.training.settings import FIELDS

if TYPE_CHECKING:
    from two_manifold_ros.cli.verdict import Verdict
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.reading import ReadingOptions
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Table


# Wide enough for our tables where the width of the terminal is unknown.
_PIPED_WIDTH = 120
_SHORTEST_WORDS = 8
_NUMBER = re.compile(r'[-+±]?[\d.]|nan$|-$|$')


def answer(
    args: Namespace,
    content: Mapping[str, Any],
    shown: Iterable[str | Table] = (),
    verdict: Verdict | None = None,
) -> None:
    """Print a result: with ``--json`` one object, else the verdict, what is shown, the report."""
    if args.json:
        judged = {} if verdict is None else {'verdict': verdict._asdict()}
        print(json.dumps({**content, **judged}, indent=2, allow_nan=False))
        return
    for each in (*(verdict.lines if verdict else ()), *shown):
        if isinstance(each, str):
            print_wrapped(each)
        else:
            print_table(*each)
    if getattr(args, 'report', None):
        print(f'report: {args.report}, open it in a browser')


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns that hold numbers only are aligned to the right."""
    table = RichTable(
        title=escape(title) or None,
        title_justify='left',
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        show_header=any(header),
    )
    width = 2
    for index, name in enumerate(header):
        numeric = all(_NUMBER.match(row[index]) for row in rows)
        # No number is cut: on a narrow terminal the line goes on below.
        cells = [*name.split('\n'), *(row[index] for row in rows)]
        least = max(map(len, cells)) if numeric else _SHORTEST_WORDS
        width += least + 2
        table.add_column(
            escape(name),
            justify='right' if numeric else 'left',
            no_wrap=numeric,
            min_width=least if numeric else None,
            overflow='fold',
        )
    for row in rows:
        table.add_row(*map(escape, row))
    output = Console(highlight=False)
    output.width = max(output.width if output.is_terminal else _PIPED_WIDTH, width)
    with output.capture() as written:
        output.print(table)
    print(re.sub(r' +$', '', written.get(), flags=re.MULTILINE), end='')


def metres(value: float | None) -> str:
    """Return five characters, so that many columns fit wherever tables do."""
    if value is None:
        return '-'
    digits = 3 if value < 10.0 else 1 if value < 100.0 else 0
    return f'{value:5.{digits}f}'


def percent(share: float | None) -> str:
    """Return a share in per cent; it is 100 % only if nothing is missing."""
    if share is None:
        return '-'
    return f'{100 * share:.0f} %' if share in {0.0, 1.0} else f'{100 * share:.1f} %'


def seconds(text: str) -> float:
    """Parse a finite number of seconds for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ArgumentTypeError(f'{text!r} is no number of seconds')
    return number


def position_lag(text: str) -> str:
    """Return a position lag, or refuse the text for argparse, before bags are read."""
    from two_manifold_ros.inspection.lag import parse_position_lag  # noqa: PLC0415 - NumPy is slow

    try:
        parse_position_lag(text)
    except InputError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


class Bags(Action):
    """Takes the bags that addresses stand for: one, where the command takes no more."""

    def __call__(self, _: ArgumentParser, namespace: Namespace, values: Any, *__: Any) -> None:  # noqa: ANN401 - of argparse
        """Set the attribute; ``InputError`` says why one cannot be found."""
        one = self.nargs == 1
        setattr(namespace, self.dest, [only_bag(*values)] if one else expand(values))


OPTIONS: dict[str, dict[str, Any]] = {
    'model': {'metavar': 'MODEL', 'help': 'file written by two-manifold train'},
    'bags': {
        'nargs': '+',
        'action': Bags,
        'metavar': 'BAG',
        'help': 'a rosbag2 folder; an .mcap, .db3 or ROS 1 .bag file; a folder or a quoted glob '
        'of several bags; or an address such as s3://BUCKET/BAG (extra: remote)',
    },
    '--imu-topic': {
        'metavar': 'T[:FIELD,...]',
        'help': 'topic of sensor_msgs/Imu (default: the only one in the bag); for another type '
        'add its field with a sensor_msgs/Imu, such as T:data.imu, or its six fields of numbers '
        'with commas between, accelerations first',
    },
    '--position-topic': {
        'metavar': 'T',
        'help': 'topic with positions: a stamped pose, point or transform, Odometry or NavSatFix '
        '(default: the only one in the bag)',
    },
    '--use-receive-time': {
        'action': 'store_true',
        'help': 'use the times at which the bag received the messages, not the stamps in them',
    },
    '--sensor-topic': {
        'metavar': 'T[:FIELD,...]',
        'action': 'append',
        'default': [],
        'help': 'topic of another sensor, with --method route: MagneticField, FluidPressure, '
        'Odometry or TwistStamped (their speed), JointState, Float64 or Float32; give the option '
        'once for each sensor (default: {usual})',
    },
    '--fixes': {
        'type': seconds,
        'metavar': 'EVERY_S',
        'help': 'give the filter the first position of the bag as a fix, and one each EVERY_S '
        'seconds, as fix_topic of the node; 0 gives each position (default: none)',
    },
    '--position-lag': {
        'type': position_lag,
        'metavar': 'S',
        'help': 'shift position stamps back by S seconds, because they are late; auto measures '
        'the lag from the IMU and corrects it if the measurement is certain; 0 shifts nothing '
        '(default: {usual})',
    },
    '--from': {
        'dest': 'start',
        'type': seconds,
        'metavar': 'S',
        'help': 'start S seconds after the first IMU stamp; the filter sees nothing older',
    },
    '--until': {
        'type': seconds,
        'metavar': 'S',
        'help': 'end S seconds after the first IMU stamp',
    },
    '--workers': {
        'metavar': 'N|ADDRESS|FILE',
        'help': 'start N processes here, or use the workers of the Dask scheduler at ADDRESS, or '
        'of the one that wrote FILE',
    },
    '--report': {
        'metavar': 'FILE',
        'help': 'write one HTML file to open in a browser: {usual}',
    },
    '--json': {'action': 'store_true', 'help': 'print one JSON object instead'},
}
"""What argparse takes for each; ``{usual}`` in a help stands for words of the command."""


def add(
    parser: ArgumentParser | _ArgumentGroup,
    *names: str,
    usual: str = '',
    **changes: Any,  # noqa: ANN401 - of argparse
) -> None:
    """Add arguments of ``OPTIONS``, with changes, and with the words of the command."""
    for name in names:
        row = {**OPTIONS[name], **changes}
        parser.add_argument(name, **{**row, 'help': row['help'].replace('{usual}', usual)})


def add_topics(parser: ArgumentParser) -> _ArgumentGroup:
    """Add what `recordings_of` needs to know, and return the group of what few need."""
    add(parser, '--imu-topic', '--position-topic')
    group = parser.add_argument_group('recordings and topics')
    add(group, '--use-receive-time')
    return group


def add_run(parser: ArgumentParser, nargs: int | str = '+') -> _ArgumentGroup:
    """Add a model, bags to run it on, and options of reading, whose group is returned."""
    add(parser, 'model')
    add(parser, 'bags', nargs=nargs)
    group = add_topics(parser)
    add(group, '--sensor-topic', usual='the topics of the training')
    add(parser, '--json')
    return group


def add_fleet(parser: ArgumentParser) -> _ArgumentGroup:
    """Add ``--workers``, for `fleet_of`."""
    group = parser.add_argument_group('several processes or machines (extra: fleet)')
    add(group, '--workers')
    return group


def add_settings(group: _ArgumentGroup | ArgumentParser, *names: str) -> None:
    """Add options of settings of a training; one that is not given leaves ``None``."""
    for name in names:
        about, default = FIELDS[name].about, FIELDS[name].default
        if isinstance(default, tuple):
            default = ','.join(map(str, default))
        # The help has 80 columns; more names follow in its words.
        listed = len(','.join(about.choices)) > 40
        names_too = f': {", ".join(about.choices)}' if listed else ''
        usual = about.usual if default is None else default
        group.add_argument(
            f'--{about.option}',
            dest=name,
            type=str if name == 'horizons' else about.kind,
            choices=about.choices or None,
            metavar='NAME' if listed else None if about.choices else about.letter,
            help=f'{about.what}{names_too} (default: {usual})',
        )


def given_settings(args: Namespace) -> dict[str, Any]:
    """Return the settings that were given, by their names in ``TrainingSettings``."""
    given = {name: getattr(args, name, None) for name in FIELDS}
    if (text := given['horizons']) is not None:
        try:
            given['horizons'] = tuple(int(part) for part in text.split(','))
        except ValueError as error:
            msg = f'--horizons {text!r} must be whole numbers of ticks such as 0,10,50'
            raise InputError(msg) from error
    return {name: value for name, value in given.items() if value is not None}


def fleet_of(args: Namespace) -> AbstractContextManager[Any]:
    """Return a context with the client of the workers asked for, or with ``None``."""
    return client_of(args.workers, lambda text: say_notes([text]))


def check_report(args: Namespace) -> None:
    """Refuse, before anything is computed, a report that could not be written."""
    if args.report:
        # What draws it is an extra.
        import_module('bokeh')
        if Path(args.report).suffix.lower() not in {'.html', '.htm'}:
            msg = f'{args.report}: a report is a page for a browser; use a name that ends in .html'
            raise InputError(msg)
        if not Path(args.report).absolute().parent.is_dir():
            msg = f'The folder of {args.report} does not exist: make it before writing a report.'
            raise InputError(msg)


def say_notes(notes: Iterable[str], say: Callable[[str], None] = on_stderr) -> None:
    """Print notes."""
    for note in notes:
        say(f'two-manifold: note: {note}')


def name_sensors(args: Namespace, model: ModelHead) -> None:
    """
    Set ``sensor_topic`` to the topics that a model takes, by default as in training.

    ``args.trained_sensors`` are the topics of the training, by those that are read.
    """
    from two_manifold_ros.recordings.decoding import SensorTopic  # noqa: PLC0415 - NumPy is slow

    args.need_sensors = bool(args.sensor_topic)
    trained = SensorTopic.of_names(model.further_names)
    chosen = SensorTopic.of_model(args.sensor_topic, trained, '--sensor-topic')
    args.sensor_topic = [each.written for each in chosen]
    args.trained_sensors = {
        each.name: known.name for each, known in zip(chosen, trained, strict=True)
    }


def reading_options(args: Namespace) -> ReadingOptions:
    """Return how bags are read, by `add_topics` and ``--sensor-topic``."""
    from two_manifold_ros.recordings.reading import ReadingOptions  # noqa: PLC0415 - as above

    topic, _, field = (args.imu_topic or '').partition(':')
    return ReadingOptions(
        imu_topic=topic or None,
        imu_field=field or None,
        position_topic=args.position_topic,
        sensor_topics=tuple(getattr(args, 'sensor_topic', ())),
        need_sensors=getattr(args, 'need_sensors', True),
        use_receive_time=args.use_receive_time,
    )


def recordings_of(
    args: Namespace,
    model: ModelHead | None = None,
    *,
    need_positions: bool = True,
    find_positions: bool = True,
) -> list[Recording]:
    """
    Read ``args.bags`` as the options say, and tell their notes to ``args.say``, if it is set.

    Positions may be needed, or looked for though neither needed nor named; geodetic ones are put
    into the tangent plane of the nearest route of a model.
    """
    from two_manifold_ros.evaluation.evaluate import in_plane_of  # noqa: PLC0415 - as above
    from two_manifold_ros.inspection.positions import check_units  # noqa: PLC0415 - as above
    from two_manifold_ros.recordings.reading import read_recordings  # noqa: PLC0415 - as above

    origins = {each.origin for each in model.routes.values()} if model is not None else set()
    options = replace(
        reading_options(args),
        need_positions=need_positions,
        find_positions=find_positions,
        origin=origins.pop() if len(origins) == 1 else None,
    )
    with Progress('reading') as progress:
        recordings = list(
            read_recordings(args.bags, options, progress=lambda share: progress('reading', share)),
        )
    for recording in recordings:
        say_notes(recording.notes, getattr(args, 'say', on_stderr))
    check_units(recordings)
    trained = getattr(args, 'trained_sensors', {})
    named = [each.with_sensors_named(trained) for each in recordings]
    return named if model is None else [in_plane_of(model, each) for each in named]


def of_one_route(args: Namespace) -> list[Recording]:
    """Read the bags with positions in step, and refuse those of several routes."""
    from two_manifold_ros.inspection.shared_places import sort_by_route  # noqa: PLC0415 - as above

    recordings = in_step(recordings_of(args), args)
    routes = sort_by_route(recordings)
    if len(routes) > 1:
        listed = '; '.join(', '.join(each.name for each in group) for group in routes.values())
        raise InputError(f'the bags are of {len(routes)} routes ({listed}): take each by itself')
    return recordings


def in_step(
    recordings: Sequence[Recording], args: Namespace, trained: str = ''
) -> list[Recording]:
    """Make positions earlier by ``args.position_lag``, else as ``trained``, and say that."""
    from two_manifold_ros.inspection.lag import put_in_step  # noqa: PLC0415 - as above

    if args.position_lag is None and trained:
        moved = put_in_step(recordings, trained, 'as in the training of the model')
    else:
        moved = put_in_step(recordings, args.position_lag or '')
    new = dict.fromkeys(
        note
        for before, after in zip(recordings, moved, strict=True)
        for note in after.notes[len(before.notes) :]
    )
    say_notes(new, getattr(args, 'say', on_stderr))
    return moved


def part_of(recording: Recording, start_s: float | None, end_s: float | None) -> Recording:
    """Return the part between ``--from`` and ``--until``; ``InputError`` if there is none."""
    if start_s is not None and start_s < 0.0:
        msg = f'--from {start_s:g} must be at least 0: seconds count from the first IMU stamp'
        raise InputError(msg)
    if end_s is not None and end_s <= (start_s or 0.0):
        least = '0' if start_s is None else f'--from {start_s:g}'
        msg = f'--until {end_s:g} must be more than {least}: both count from the first IMU stamp'
        raise InputError(msg)
    part = recording.between(start_s, end_s)
    imu = recording.imu
    if len(imu.stamps) and not len(part.imu.stamps):
        lasts_s = imu.span_ns * 1e-9
        until = '' if end_s is None else f' --until {end_s:g}'
        raise InputError(
            f'{recording.name} has no IMU sample --from {start_s or 0.0:g}{until}: it lasts '
            f'{lasts_s:.1f} s, so choose a part of 0 to {lasts_s:.1f}'
        )
    return part
