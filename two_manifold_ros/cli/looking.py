# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Look at recordings before training on them, and at models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli import options
from two_manifold_ros.cli.verdict import of_inspection
from two_manifold_ros.errors import BAD_INPUT, InputError
from two_manifold_ros.inspection.inspecting import describe, describe_all, inspect_bags
from two_manifold_ros.model.model_file import load_model, model_parts
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.progress import on_stderr, Progress
from two_manifold_ros.recordings.decoding import SensorTopic
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.sources import public
from two_manifold_ros.training.summary import fleet_sentence
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from two_manifold_ros.model.model import ModelHead, TrainedModel


INSPECT_HELP = (
    'Print rates, gaps, dead channels, probable unit errors, laps and the time offset between IMU '
    'and positions, with a cure for each problem. For more than three bags a table has a line for '
    'each bag. A bag that cannot be read is named, and the others are inspected.'
)


def add_inspect(parser: ArgumentParser) -> None:
    """Add the arguments of inspect."""
    options.add(parser, 'bags')
    options.add_topics(parser)
    options.add(parser, '--report', usual='findings with cures, the drive, laps and signals')
    options.add_fleet(parser)
    options.add(parser, '--json')


def run_inspect(args: Namespace) -> int:
    """Print reports of recordings, in full or a line for each; return 2 if one is unreadable."""
    options.check_report(args)
    if args.report and args.workers:
        msg = '--report draws recordings, which stay with the workers: leave out one of both'
        raise InputError(msg)
    reading = replace(options.reading_options(args), need_positions=False)
    with options.fleet_of(args) as client, Progress('inspecting') as progress:
        done = partial(progress, 'inspecting')
        reports, unread = inspect_bags(args.bags, reading, client, done)
    if unread and len(args.bags) == 1:
        raise InputError(*unread.values())
    for each in reports:
        options.say_notes(each.notes)
    for sentence in unread.values():
        on_stderr(f'two-manifold: error: {sentence}')
    content: dict[str, Any] = {'recordings': [report.to_json() for report in reports]}
    content |= {'unread': {public(path): e for path, e in unread.items()}} if unread else {}
    shown = list(describe_all(reports))
    # Each report fills a screen, and more are not read but compared.
    if len(args.bags) <= 3:
        shown = []
        for report in reports:
            shown += describe(report)
            shown += [f'{each.severity}: {each.sentence}' for each in report.findings]
    verdict = of_inspection(reports, args) if reports else None
    if args.report and verdict:
        from two_manifold_ros.pages.report import title_of, write_page  # noqa: PLC0415 - an extra
        from two_manifold_ros.pages.sections import inspection_sections, MOST_DRAWN  # noqa: PLC0415 - an extra

        # Those that are drawn are read again: all would not fit into memory.
        read = [each for each in args.bags if each not in unread][:MOST_DRAWN]
        drawn = [read_recording(each, reading) for each in read]
        parts = [' '.join(verdict.lines), *inspection_sections(reports, drawn)]
        write_page(args.report, title_of([each.name for each in reports], 'recording'), '', parts)
    if verdict or args.json:
        options.answer(args, content, shown, verdict)
    return BAD_INPUT if unread else 0


INFO_HELP = (
    'Check a model file and show what it was trained on and what it is. `--json` shows what was '
    'tried in the training, and every other number.'
)


def add_info(parser: ArgumentParser) -> None:
    """Add the arguments of info."""
    options.add(parser, 'model', '--json')


def run_info(args: Namespace) -> int:
    """Print the model's header; return 0."""
    model = load_model(args.model)
    if args.json:
        options.answer(args, model_parts(model)[0])
        return 0
    try:
        options.answer(args, {}, list(shown_model(model)))
    # Its notes on the training may be anything; a filter does not use them.
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f'{args.model}: the model can be run, but its notes on the training cannot be read '
            f'({error!r}): see it as it is with --json'
        ) from error
    return 0


def shown_model(model: ModelHead, said: str = '') -> Iterator[str | Table]:
    """Yield a model as tables and notes but what is ``said``; each of several routes by itself."""
    trained = model.trained_model
    if trained is None:
        yield from shown_routes(model)
        for name, each in model.routes.items():
            yield f'\n{name}:'
            yield from shown_model(each)
        return
    if model.frame_id == LAP_FRAME:
        usual = f', which takes {lap.lap_s:.3f} s' if (lap := model.circuit) else ''
        yield (
            'This model knows laps and no positions: its errors are in seconds of a usual '
            f'lap{usual}.'
        )
    yield _model_table(trained)
    yield from (f'note: {note}' for note in notes_of(model) if note != said)


def _model_table(model: TrainedModel) -> Table:
    """Return what a model was trained on and is, as a table."""
    summary = model.summary
    seconds = ', '.join(f'{round(horizon / model.rate_hz, 2):g}' for horizon in model.horizons)
    names, origin, known = model.live_channels, model.origin, model.route_model
    # A camera has hundreds, all named alike.
    most = len(IMU_CHANNELS)
    few = [*names[:most], *['...'] * (len(names) > most)]
    lag = ''
    if model.frame_id != LAP_FRAME:
        lags = [row['corrected_s'] for row in summary['position_lag']]
        ends = dict.fromkeys(f'{each:.3f}' for each in (min(lags), max(lags)))
        lag = 'not corrected' if list(ends) == ['0.000'] else f'corrected by {" to ".join(ends)} s'
    rows = {
        'recordings': ', '.join(summary['recordings']),
        'training': f'{summary["seconds"]:.1f} s, {summary["training_ticks"]} windows',
        'fleet': fleet_sentence(summary['fleet']) if 'fleet' in summary else '',
        'laps': f'{summary["laps"]:.1f}',
        'position lag': lag,
        'ticks': f'{model.rate_hz:g} Hz, windows of {model.window}',
        'horizons': f'{", ".join(map(str, model.horizons))} ticks = {seconds} s',
        'topics': ' -> '.join(filter(None, (model.imu_topic, model.position_topic))),
        'frame': model.frame_id or '(not named)',
        'channels': ', '.join(few) if names != IMU_CHANNELS else '',
        'sensors': ', '.join(e.written for e in SensorTopic.of_names(model.further_names)),
        'origin': f'{origin.latitude_deg:.7f}, {origin.longitude_deg:.7f} deg' if origin else '',
    }
    if known is not None:
        spread = 100.0 * known.route.motion.ratio_spread
        rows['map'] = f'{known.route.places} places, speed ratios within {spread:.0f} %'
        rows['lines'] = ', '.join(known.lines.names) if known.lines else ''
    else:
        rows['method'] = f'{summary["method"]}, {model.states} states'
    return Table('model', ['', ''], [[name, words] for name, words in rows.items() if words])


def shown_routes(model: ModelHead, *, notes: bool = False) -> Iterator[str | Table]:
    """Yield the routes that a model knows as a table, and which are of no use, or all notes."""
    rows, said = [], []
    for name, each in model.routes.items():
        said += [f'note: {name or NO_NAME}: {note}' for note in notes_of(each, every=notes)]
        summary, frame = each.summary, each.frame_id or '(not named)'
        if each.origin is not None:
            frame += f', {each.origin.latitude_deg:.4f}, {each.origin.longitude_deg:.4f} deg'
        error_m = (summary.get('validation') or {}).get('followed_m')
        rows.append(
            [
                ': '.join(filter(None, (name, ', '.join(each.route_names)))) or NO_NAME,
                'network' if each.network is not None else 'route',
                str(len(summary.get('recordings', []))),
                f'{summary.get("laps", 0.0):.1f}',
                str(summary.get('places', '')),
                f'{each.rate_hz:g}',
                '-' if error_m is None else f'{error_m:.3g}',
                frame,
            ]
        )
    header = [
        'route', 'kind', 'bags', 'laps', 'places', 'rate (Hz)', 'error on parts left out (m)',
        'frame',
    ]  # fmt: skip
    # Not the error in the table of what one map was chosen from, which is cut sooner.
    title = 'known routes; each error counts as the spread of the track at most'
    yield Table(title, header, rows)
    yield from said


def notes_of(model: ModelHead, *, every: bool = True) -> list[str]:
    """Return why a model is of no use, if it is, and then ``every`` other note on its training."""
    refusal = model.summary.get('refusal')
    notes = [refusal['sentence']] if refusal else []
    notes += model.summary.get('notes', ()) if every else ()
    return list(dict.fromkeys(notes))


NO_NAME = '(no name)'
"""Of the only route of a model."""
