# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a model from recordings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import json
from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

from two_manifold_ros.cli.fleet import chosen_bags
from two_manifold_ros.cli.looking import model_tables, print_model, print_routes
from two_manifold_ros.cli.options import (
    check_report,
    fleet_of,
    in_step,
    on_stderr,
    part_of,
    print_verdict,
    print_written,
    recordings_of,
)
from two_manifold_ros.cli.training_options import (
    add_arguments,
    check_options,
    given_settings,
    HELP,
    route_names,
)
from two_manifold_ros.cli.verdict import of_routes, of_training
from two_manifold_ros.errors import InputError, NO_USE
from two_manifold_ros.fleet import LostWorkersError, spread
from two_manifold_ros.inspection.inspecting import inspect_recording, training_warnings
from two_manifold_ros.inspection.lag import AUTO
from two_manifold_ros.inspection.positions import LEAST_DRIVES
from two_manifold_ros.inspection.shared_places import bag_name, sort_by_route
from two_manifold_ros.laps.unplaced import place
from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.progress import Progress
from two_manifold_ros.training.settings import RouteSettings, TrainingSettings
from two_manifold_ros.training.summary import fleet_sentence
from two_manifold_ros.training.train import train_model, with_readout

__all__ = ['HELP', 'add_arguments', 'run']

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.inspection.inspecting import Report
    from two_manifold_ros.model.head import ModelHead, TrainedModel
    from two_manifold_ros.recordings.recording import Recording


_ZIP = b'PK\x03\x04'
"""How every model file starts."""


def run(args: Namespace) -> int:
    """Train, save and report; return 0, or ``NO_USE`` if the model is of no use."""
    later: list[str] = []
    args.saved, args.told = False, set()
    try:
        check_options(args)
        with fleet_of(args) as client:
            return _run(args, later.append, client)
    except KeyboardInterrupt:
        done = f'{args.output} is written' if args.saved else 'no model is written'
        on_stderr(f'two-manifold: stopped, {done}')
        raise
    finally:
        # After the judgement of the model, which is the first line.
        for line in later:
            # What is among the notes of the model was printed with it.
            if line.removeprefix('two-manifold: note: ') not in args.told:
                on_stderr(line)


def _run(args: Namespace, say: Callable[[str], None], client: Any) -> int:  # noqa: ANN401 - of an extra
    settings = TrainingSettings(**given_settings(args))
    if args.sensor_topic and not isinstance(settings, RouteSettings):
        msg = f'method {settings.method} takes no --sensor-topic: leave it out, or choose route'
        raise InputError(msg)
    _check_output(Path(args.output))
    check_report(args)
    names = route_names(args, len(args.bags))
    # Before the bags are read, which takes long.
    with chosen_bags(args, names, client) as (names, tried):
        return _train(args, settings, names, tried, say, client)


def _train(
    args: Namespace,
    settings: TrainingSettings,
    names: Sequence[str],
    tried: Callable[[ModelHead], dict[str, Any]] | None,
    say: Callable[[str], None],
    client: Any,  # noqa: ANN401 - of an extra
) -> int:
    """
    Train on ``args.bags``, of routes with these names if any, and return the exit status.

    ``tried`` follows the bags that were not trained on, if there are such; ``say`` gets notes.
    """
    recordings = _training_part(args, say)
    if args.marks:
        with Progress('finding laps'):
            marks = None if args.marks == 'none' else args.marks
            recordings, found = place(recordings, marks)
        say(f'two-manifold: note: {found}')
    if not args.marks or args.position_lag != AUTO:
        recordings = in_step(recordings, args, say=say)
    # Of positions that laps make there is nothing to warn.
    quiet = args.marks
    reports = _inspect(recordings, settings.rate_hz, (lambda _: None) if quiet else say, client)
    drives = [each.positions for each in reports if each.positions is not None]
    if isinstance(settings, RouteSettings) and not quiet:
        routes = sort_by_route(recordings, names)
        _say_lines(routes, say, named=bool(names))
        if len(routes) > 1:
            return _train_routes(args, settings, routes, tried, client)
        line_of = {id(each.positions): each.line for each in next(iter(routes.values()))}
        recordings = [replace(each, line=line_of[id(each.positions)]) for each in recordings]
    settings = with_readout(recordings, settings)
    if settings.imputes_positions and args.readout is None:
        say(
            'two-manifold: positions are far between: `train` estimates the positions of the '
            'ticks between them, as by --readout mkdr; --readout sharpened interpolates instead'
        )
    began = time.monotonic()
    with Progress('training') as progress:
        model = train_model(recordings, settings, progress, drives, client)
    took_s = time.monotonic() - began
    return _finish(args, model, took_s, recordings, reports, tried)


def _say_lines(
    routes: Mapping[str, Sequence[Recording]], say: Callable[[str], None], *, named: bool
) -> None:
    """Say which lines are on one map and, where they were found out, what is of each."""
    for group in routes.values():
        lines = sorted({each.line for each in group})
        if len(lines) < 2:
            continue
        together = ', '.join(lines)
        if named:
            # Whoever names the map has asked for it.
            why = '' if '/' in together else ', since they share places: MAP/NAME keeps maps apart'
            say(f'two-manifold: note: {together} are lines on one map{why}')
            continue
        bags: dict[str, list[str]] = {}
        for each in group:
            bags.setdefault(each.line, []).append(bag_name(each.name))
        several = [
            f'; {" and ".join(those)} are taken for one line, {line}'
            for line, those in sorted(bags.items())
            if len(those) > 1
        ]
        say(
            f'two-manifold: note: {together} share places and are lines on one map'
            f'{"".join(several)}; --routes names them, and as MAP/NAME keeps their maps apart'
        )


def _models_of(
    routes: Mapping[str, Sequence[Recording]],
    settings: TrainingSettings,
    client: Any,  # noqa: ANN401 - of an extra
) -> tuple[dict[str, TrainedModel], dict[str, float], dict[str, str]]:
    """Return models and seconds of the routes, and why those that are poor, or fail, are so."""
    models: dict[str, TrainedModel] = {}
    took_each_s, poor = {}, {}
    with Progress('training') as progress:
        for number, (name, recordings) in enumerate(routes.items()):

            def part(what: str, share: float, done: int = number, name: str = name) -> None:
                progress(f'{name}: {what}', (done + share) / len(routes))

            started = time.monotonic()
            try:
                chosen = with_readout(recordings, settings)
                models[name] = train_model(recordings, chosen, part, client=client)
            except LostWorkersError:
                raise
            except InputError as error:
                poor[name] = str(error)
                continue
            took_each_s[name] = time.monotonic() - started
            if refusal := models[name].summary['refusal']:
                poor[name] = refusal['sentence']
    return models, took_each_s, poor


def _train_routes(
    args: Namespace,
    settings: TrainingSettings,
    routes: Mapping[str, Sequence[Recording]],
    tried: Callable[[ModelHead], dict[str, Any]] | None,
    client: Any,  # noqa: ANN401 - of an extra
) -> int:
    """
    Train a model of each route, save those of use as one, report, and return the exit status.

    A route whose model is of no use, or whose bags cannot be trained on, is named and left out.
    ``tried`` follows the bags that were not trained on, if there are such.
    """
    if args.report:
        msg = (
            f'--report is about one route, and the bags are of {len(routes)} '
            f'({", ".join(routes)}): train each by itself and join the models with two-manifold '
            'atlas add, or see --routes'
        )
        raise InputError(msg)
    began = time.monotonic()
    models, took_each_s, poor = _models_of(routes, settings, client)
    if not models:
        raise InputError('; '.join(f'{name}: {sentence}' for name, sentence in poor.items()))
    used = {name: each for name, each in models.items() if args.force or name not in poor}
    status = 0 if used else NO_USE
    kind, done = ('warning', 'left out') if used else ('error', 'not written')
    for name, sentence in poor.items():
        cure = f'{done}; see --force' if name in models else done
        on_stderr(
            f'two-manifold: {kind}: {name}: {sentence}{"" if name in used else f" ({cure})"}'
        )
    took_s = time.monotonic() - began
    fleet = {}
    if used:
        atlas = atlas_of(used)
        save_model(atlas, args.output)
        args.saved = True
        fleet = _tried_on(atlas, tried)
    judged = used or models
    verdict = of_routes({name: of_training(each, args) for name, each in judged.items()})
    if args.json:
        contents = {name: _content(each, took_each_s[name]) for name, each in models.items()}
        content = {'model': None if status else args.output, 'routes': contents}
        content['verdict'] = verdict._asdict()
        content |= {'fleet': fleet} if fleet else {}
        print(json.dumps(content, indent=2, allow_nan=False))
    elif not status:
        print_verdict(verdict)
        plural = 's' * (len(used) > 1)
        print(f'trained {len(used)} route{plural} in {took_s:.1f} s, written to {args.output}')
        print_routes(atlas, notes=True)
        args.told.update(*(each.summary['notes'] for each in used.values()))
        if fleet:
            print(fleet_sentence(fleet))
    return status


def _tried_on(
    model: ModelHead, tried: Callable[[ModelHead], dict[str, Any]] | None
) -> dict[str, Any]:
    """Return how a model that is saved does on other bags; empty if that could not be tried."""
    try:
        return {} if tried is None else tried(model)
    except InputError as error:
        on_stderr(f'two-manifold: warning: the model was not tried on other bags: {error}')
        return {}


def _finish(
    args: Namespace,
    model: TrainedModel,
    took_s: float,
    recordings: Sequence[Recording],
    reports: Sequence[Report],
    tried: Callable[[ModelHead], dict[str, Any]] | None,
) -> int:
    """Save the model if it is of use, try it, report, and return the exit status."""
    refusal = model.summary['refusal']
    # The paper's filter is for study, not for a robot.
    forced = args.force or args.method == 'paper'
    status = NO_USE if refusal and not forced else 0
    if refusal:
        kind, done = ('warning', '') if forced else ('error', ' (not written; see --force)')
        on_stderr(f'two-manifold: {kind}: {refusal["sentence"]}{done}')
        laps = args.method not in {None, 'route'} or args.marks
        if len(recordings) < LEAST_DRIVES and not laps:
            on_stderr(
                'two-manifold: note: if these are errands on roads that look alike, give '
                f'{LEAST_DRIVES} or more bags, each a drive from where drives begin '
                '(docs/routes.md)'
            )
        if len(recordings) > 1 and not (laps or args.routes):
            on_stderr(
                f'two-manifold: note: the {len(recordings)} bags were put onto one map, since '
                'they share places; if of several routes, name the map of each with --routes '
                'MAP/NAME,...; of a network, record several laps of each line'
            )
    if not status:
        save_model(model, args.output)
        args.saved = True
        if fleet := _tried_on(model, tried):
            model = replace(model, summary={**model.summary, 'fleet': fleet})
            save_model(model, args.output)
    if args.report:
        _write_report(args, model, recordings, reports)
    if args.json:
        path = None if status else args.output
        content = {'model': path, **_content(model, took_s)}
        content['verdict'] = of_training(model, args)._asdict()
        print(json.dumps(content, indent=2, allow_nan=False))
    elif not status:
        print_verdict(of_training(model, args))
        print(f'trained in {took_s:.1f} s, written to {args.output}')
        print_model(model, verbose=False)
        args.told.update(model.summary['notes'])
    if not args.json:
        print_written(args)
    return status


def _training_part(args: Namespace, say: Callable[[str], None]) -> list[Recording]:
    parts = []
    # By laps, positions are read where they are named alone.
    wanted = not args.marks
    for whole in recordings_of(args, need_positions=wanted, find_positions=wanted, say=say):
        part = part_of(whole, None, args.until)
        if args.until is not None and len(part.imu.stamps) == len(whole.imu.stamps):
            say(
                f'two-manifold: warning: {whole.name} ends before --until {args.until:g}: all of '
                'it is trained on, and nothing of it is left to evaluate'
            )
        parts.append(part)
    return parts


def _check_output(path: Path) -> None:
    """Refuse an output path that could not be written after the training."""
    if path.is_dir():
        msg = f'{path} is a folder: name the model file to write, such as {path / "model.npz"}'
        raise InputError(msg)
    folder = path.resolve().parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        msg = f'The folder {folder} does not exist: make it before training a model.'
        raise InputError(msg)
    if path.is_file() and path.stat().st_size:
        with path.open('rb') as file:
            if file.read(len(_ZIP)) != _ZIP:
                msg = f'{path} exists and is no model: choose another name, or remove it.'
                raise InputError(msg)


def _inspect(
    recordings: list[Recording],
    rate_hz: float | None,
    say: Callable[[str], None],
    client: Any,  # noqa: ANN401 - of an extra
) -> list[Report]:
    """Say the warnings of the inspection before training, which runs in any case."""
    with Progress('inspecting') as progress:
        done = partial(progress, 'inspecting')
        reports = spread(inspect_recording, recordings, client, done)
    for sentence in training_warnings(reports, rate_hz):
        say(f'two-manifold: warning: {sentence}')
    return reports


def _write_report(
    args: Namespace,
    model: TrainedModel,
    recordings: Sequence[Recording],
    reports: Sequence[Report],
) -> None:
    from two_manifold_ros.pages import report as pages  # noqa: PLC0415 - an extra
    from two_manifold_ros.pages.model_sections import model_sections  # noqa: PLC0415 - an extra
    from two_manifold_ros.pages.recording_sections import (  # noqa: PLC0415 - an extra
        inspection_sections,
    )

    title = pages.title_of([args.output], 'model')
    page = pages.Report(title, f'learned from {", ".join(args.bags)}')
    page.say(*of_training(model, args).lines)
    model_sections(page, model, list(model_tables(model, verbose=False)))
    inspection_sections(page, reports, recordings)
    page.write(args.report)


def _content(model: TrainedModel, took_s: float) -> dict[str, Any]:
    return {
        'train_seconds': round(took_s, 3),
        'rate_hz': model.rate_hz,
        'window': model.window,
        'horizons': list(model.horizons),
        'kernel': model.kernel,
        'channels': list(model.live_channels),
        'frame_id': model.frame_id,
        **model.summary,
    }
