# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a model from recordings."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli import options
from two_manifold_ros.cli.fleet import chosen_bags
from two_manifold_ros.cli.looking import shown_model, shown_routes
from two_manifold_ros.cli.verdict import of_routes, of_training
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.fleet import LostWorkersError, spread
from two_manifold_ros.inspection.coverage import MOST_TRAINED_S
from two_manifold_ros.inspection.inspecting import inspect_recording, Report, training_warnings
from two_manifold_ros.inspection.lag import AUTO
from two_manifold_ros.inspection.positions import LEAST_DRIVES
from two_manifold_ros.inspection.shared_places import check_names, sort_by_route
from two_manifold_ros.model.model import atlas_of, ModelHead, TrainedModel
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.progress import on_stderr, Progress, warn
from two_manifold_ros.training.settings import FIELDS, RouteSettings, TrainingSettings
from two_manifold_ros.training.summary import fleet_sentence
from two_manifold_ros.training.train import train_model, with_one_rate, with_readout

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Table


HELP = (
    'Learn a model from recordings with IMU and positions. `train` tests settings on parts of the '
    'recordings that it held out, and chooses those that you do not give. If the error on these '
    'parts is more than half of the error of always answering the mean position, `train` writes '
    f'no model, prints the likely reason first, and exits with status {NO_USE}.'
)

_ZIP = b'PK\x03\x04'
"""How every model file starts."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of ``train``: first those that everyone needs, then groups."""
    options.add(parser, 'bags')
    parser.add_argument('-o', '--output', required=True, metavar='MODEL', help='file to write')
    options.add(parser, '--until', help='use only the first S seconds of each bag')
    recordings = options.add_topics(parser)
    options.add_settings(parser, 'rate_hz', 'method')
    parser.add_argument(
        '--force',
        action='store_true',
        help='write the model even if `train` rejects it; --method paper always does',
    )
    options.add(parser, '--json')
    options.add(recordings, '--sensor-topic', usual='none')
    options.add(recordings, '--position-lag', usual='auto', default='auto')
    recordings.add_argument(
        '--most-minutes',
        type=float,
        default=MOST_TRAINED_S / 60.0,
        metavar='M',
        help='use at most M minutes of the bags, spread so that each place is covered three times '
        'or more; the other bags test the model (default: %(default)g)',
    )
    recordings.add_argument(
        '--routes',
        metavar='NAME,...',
        help='name of the route or line of each bag, in the order of the bags, with --method '
        'route; bags that share places or a name go onto one map, and MAP/NAME keeps maps apart '
        '(default: the names of the bags, if there are several routes)',
    )
    recordings.add_argument(
        '--marks',
        metavar='TOPIC|none',
        help='learn laps without positions from a topic with a message at each passage of the '
        'line; none: find the lap from the IMU, where the drive repeats itself; with '
        '--position-topic and five positions or more, the model knows positions as well',
    )
    options.add_fleet(parser)
    groups: dict[str, list[str]] = {}
    for name, offered in FIELDS.items():
        if offered.about.option and name not in {'rate_hz', 'method'}:
            groups.setdefault(offered.of_methods, []).append(name)
    for title, names in groups.items():
        options.add_settings(parser.add_argument_group(title), *names)


def run(args: Namespace) -> int:
    """Train, save and report; return 0, or ``NO_USE`` if the model is of no use."""
    # Notes follow the judgement of the model, which is the first line.
    notes: list[str] = []
    args.say, args.saved, args.told = notes.append, False, set()
    try:
        if args.routes is not None and (args.method not in {None, 'route'} or args.marks):
            msg = '--routes names maps: leave it out, or use --method route with positions'
            raise InputError(msg)
        if not args.most_minutes > 0.0:
            raise InputError(f'--most-minutes {args.most_minutes:g} must be above 0')
        with options.fleet_of(args) as args.client:
            settings = TrainingSettings(**options.given_settings(args))
            if args.sensor_topic and not isinstance(settings, RouteSettings):
                raise InputError(f'method {settings.method} takes no --sensor-topic: leave it out')
            _check_output(Path(args.output))
            # Before the bags are read, which takes long.
            names: list[str] = []
            if args.routes is not None:
                names = [each.strip() for each in args.routes.split(',')]
                check_names(names, len(args.bags))
            with chosen_bags(args, names) as (names, tried):
                return _train(args, settings, names, tried)
    except KeyboardInterrupt:
        done = f'{args.output} is written' if args.saved else 'no model is written'
        on_stderr(f'two-manifold: stopped, {done}')
        raise
    finally:
        for line in notes:
            # A note of the model was printed with it.
            if line.removeprefix('two-manifold: note: ') not in args.told:
                on_stderr(line)


def _train(
    args: Namespace,
    settings: TrainingSettings,
    names: Sequence[str],
    tried: Callable[[ModelHead], dict[str, Any]] | None,
) -> int:
    """Train, save what is of use and report; ``tried`` follows bags that were not trained on."""
    recordings, reports, routes = _routes_of(args, settings, names)
    models, took_each_s, poor = _models_of(args, routes, settings, reports)
    if not models:
        raise InputError('; '.join(f'{name}: {each}'.lstrip(': ') for name, each in poor.items()))
    # The paper's filter is for study, not for a robot.
    forced = args.force or args.method == 'paper'
    used = {name: each for name, each in models.items() if forced or name not in poor}
    kind, done = ('warning', 'left out') if used else ('error', 'not written')
    for name, sentence in poor.items():
        cure = '' if name in used else f' ({done}{"; see --force" * (name in models)})'
        on_stderr(f'two-manifold: {kind}: {f"{name}: {sentence}".lstrip(": ")}{cure}')
    if '' in poor and args.method in {None, 'route'} and not args.marks:
        _say_what_may_be_meant(args, len(recordings))
    fleet = _save(args, models, used, tried) if used else {}
    verdicts = {name: of_training(each, args) for name, each in (used or models).items()}
    contents = {
        name: {
            'train_seconds': round(took_each_s[name], 3),
            'rate_hz': each.rate_hz,
            'window': each.window,
            'horizons': list(each.horizons),
            'kernel': each.kernel,
            'channels': list(each.live_channels),
            'frame_id': each.frame_id,
            **each.summary,
        }
        for name, each in models.items()
    }
    content: dict[str, Any] = {'model': args.output if used else None}
    took_s = f'{sum(took_each_s.values()):.1f} s, written to {args.output}'
    if len(routes) > 1:
        content |= {'routes': contents} | ({'fleet': fleet} if fleet else {})
        verdict = of_routes(verdicts)
        shown: list[str | Table] = [
            f'trained {len(used)} route{"s" * (len(used) > 1)} in {took_s}'
        ]
        shown += shown_routes(atlas_of(used), notes=True) if used else []
        shown += [fleet_sentence(fleet)] if fleet else []
    else:
        (model,), (verdict,) = models.values(), verdicts.values()
        content |= contents['']
        shown = [f'trained in {took_s}', *shown_model(model, said=poor.get('', ''))]
    if used or args.json:
        options.answer(args, content, shown, verdict)
    if not args.json:
        args.told.update(*(each.summary['notes'] for each in used.values()))
    return 0 if used else NO_USE


def _routes_of(
    args: Namespace, settings: TrainingSettings, names: Sequence[str]
) -> tuple[list[Recording], list[Report], Mapping[str, Sequence[Recording]]]:
    """Return the recordings in step, their inspections, and those of each route: '' if of one."""
    # By laps, positions are read where they are named alone.
    wanted = not args.marks
    whole = options.recordings_of(args, need_positions=wanted, find_positions=wanted)
    recordings = [options.part_of(each, None, args.until) for each in whole]
    for before, part in zip(whole, recordings, strict=True):
        if args.until is not None and len(part.imu.stamps) == len(before.imu.stamps):
            args.say(
                f'two-manifold: warning: {before.name} ends before --until {args.until:g}: all of '
                'it is trained on, and nothing of it is left to evaluate'
            )
    if args.marks:
        from two_manifold_ros.laps.unplaced import place  # noqa: PLC0415 - that alone

        with Progress('finding laps'):
            placed = place(recordings, None if args.marks == 'none' else args.marks)
        recordings = placed.recordings
        args.say(f'two-manifold: note: {placed.sentence}')
    if not args.marks or args.position_lag != AUTO:
        recordings = options.in_step(recordings, args)
    with Progress('inspecting') as progress:
        reports = spread(
            inspect_recording, recordings, args.client, partial(progress, 'inspecting')
        )
    # Of positions that laps make there is nothing to warn.
    for sentence in [] if args.marks else training_warnings(reports, settings.rate_hz):
        args.say(f'two-manifold: warning: {sentence}')
    routes: Mapping[str, Sequence[Recording]] = {'': recordings}
    if isinstance(settings, RouteSettings) and not args.marks:
        routes = sort_by_route(recordings, names)
        for group in routes.values():
            if len(lines := sorted({each.line for each in group})) > 1:
                args.say(
                    f'two-manifold: note: {", ".join(lines)} share places and are lines on one '
                    'map; --routes names them, and as MAP/NAME keeps their maps apart'
                )
        if len(routes) == 1:
            (group,) = routes.values()
            line_of = {id(each.positions): each.line for each in group}
            recordings = [replace(each, line=line_of[id(each.positions)]) for each in recordings]
            routes = {'': recordings}
    return recordings, reports, routes


def _models_of(
    args: Namespace,
    routes: Mapping[str, Sequence[Recording]],
    settings: TrainingSettings,
    reports: Sequence[Report],
) -> tuple[dict[str, TrainedModel], dict[str, float], dict[str, str]]:
    """Return models and seconds of the routes, and why those that are poor, or fail, are so."""
    models: dict[str, TrainedModel] = {}
    took_each_s, poor = {}, {}
    drives = None
    if len(routes) == 1:
        drives = [each.positions for each in reports if each.positions is not None]
    with Progress('training') as progress:
        settings = with_one_rate(routes.values(), settings)
        for number, (name, recordings) in enumerate(routes.items()):

            def part(what: str, share: float, done: int = number, name: str = name) -> None:
                progress(f'{name}: {what}'.lstrip(': '), (done + share) / len(routes))

            started = time.monotonic()
            try:
                chosen = with_readout(recordings, settings)
                if chosen.imputes_positions and args.readout is None:
                    args.say(
                        'two-manifold: positions are far between: `train` estimates the positions '
                        'of the ticks between them, as by --readout mkdr; --readout sharpened '
                        'interpolates instead'
                    )
                models[name] = train_model(recordings, chosen, part, drives, args.client)
            except LostWorkersError:
                raise
            except InputError as error:
                poor[name] = str(error)
                continue
            took_each_s[name] = time.monotonic() - started
            if refusal := models[name].summary['refusal']:
                poor[name] = refusal['sentence']
    return models, took_each_s, poor


def _say_what_may_be_meant(args: Namespace, bags: int) -> None:
    """Say what the user of one poor map may have meant with so many bags."""
    if bags < LEAST_DRIVES:
        on_stderr(
            'two-manifold: note: if these are errands on roads that look alike, give '
            f'{LEAST_DRIVES} or more bags, each a drive from where drives begin (docs/routes.md)'
        )
    if bags > 1 and not args.routes:
        on_stderr(
            f'two-manifold: note: the {bags} bags were put onto one map, since they share places; '
            'if of several routes, name the map of each with --routes MAP/NAME,...; of a network, '
            'record several laps of each line'
        )


def _save(
    args: Namespace,
    models: dict[str, TrainedModel],
    used: Mapping[str, TrainedModel],
    tried: Callable[[ModelHead], dict[str, Any]] | None,
) -> dict[str, Any]:
    """Save the models that are used as one, and return how it does on other bags, if tried."""
    model: ModelHead = used[''] if '' in used else atlas_of(used)
    save_model(model, args.output)
    args.saved = True
    try:
        fleet = {} if tried is None else tried(model)
    except InputError as error:
        warn(f'the model was not tried on other bags: {error}')
        return {}
    if fleet and '' in used:
        models[''] = replace(used[''], summary={**used[''].summary, 'fleet': fleet})
        save_model(models[''], args.output)
    return fleet


def _check_output(path: Path) -> None:
    """Refuse an output path that could not be written after the training."""
    if path.is_dir():
        msg = f'{path} is a folder: name the model file to write, such as {path / "model.npz"}'
        raise InputError(msg)
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise InputError(f'The folder {folder} does not exist: make it before training a model.')
    if path.is_file() and path.stat().st_size:
        with path.open('rb') as file:
            if file.read(len(_ZIP)) != _ZIP:
                msg = f'{path} exists and is no model: choose another name, or remove it.'
                raise InputError(msg)
