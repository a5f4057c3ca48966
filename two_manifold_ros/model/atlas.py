# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The atlas: a model of many known routes, each with its own map, frame, origin and rate."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.rules import trouble_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.route.sensors import Sensor


@dataclass(frozen=True, kw_only=True)
class AtlasModel(ModelHead):
    """A model of many known routes by name, with the head of the first; `atlas_of` makes it."""

    names: tuple[str, ...]
    members: tuple[RouteModel, ...]

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name."""
        return dict(zip(self.names, self.members, strict=True))

    @property
    def route_names(self) -> tuple[str, ...]:
        """Names of the routes, and of the lines in place of a route that has some."""
        named = zip(self.names, self.members, strict=True)
        return tuple(each for name, model in named for each in model.route_names or (name,))

    @property
    def states(self) -> int:
        """Dimension of the state of the first route."""
        return self.members[0].states

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Further sensors, of whose channels all routes have the same."""
        return self.members[0].sensors


def atlas_of(routes: Mapping[str, ModelHead]) -> AtlasModel:
    """
    Return the atlas of routes by name, in which those of an atlas have names of their own.

    A map of one line is that of a route, and has its name alone. An ``InputError`` says which name
    is none or there twice, which model is no map of a route, and which one takes other channels.
    """
    known: dict[str, RouteModel] = {}
    trouble = '' if routes else 'an atlas needs at least one route'
    for given, model in routes.items():
        for own, each in model.routes.items():
            name, route = own or given, each.route_model
            trouble = trouble or trouble_with(name)
            if name in known:
                trouble = f'there are two routes of the name {name}: give one of them another name'
            if route is None:
                trouble = trouble or (
                    f'{name}: an atlas holds maps of routes, and this is a model of another '
                    'method: train it with --method route'
                )
            else:
                known[name] = replace(route, lines=None) if len(route.route_names) == 1 else route
    if trouble:
        raise InputError(trouble)
    names = tuple(sorted(known))
    members = tuple(known[name] for name in names)
    lines = Counter(line for name, each in known.items() for line in {name, *each.route_names})
    twice = next((name for name, count in lines.items() if count > 1), '')
    if twice:
        owners = [name for name, each in known.items() if twice in {name, *each.route_names}]
        msg = (
            f'there are two routes or lines of the name {twice}, on the maps '
            f'{" and ".join(sorted(owners))}: give one of them another name (a line gets its name '
            'in training), or take one of the maps out'
        )
        raise InputError(msg)
    first = members[0]
    for name, each in known.items():
        unlike = {
            'takes other channels': each.channels.names != first.channels.names,
            'takes other sensors': each.further_names != first.further_names,
            'knows laps alone, or positions, otherwise': (
                (each.frame_id == LAP_FRAME) != (first.frame_id == LAP_FRAME)
            ),
        }
        trouble = next(filter(unlike.get, unlike), '')
        if trouble:
            msg = f'{name}: it {trouble} than {names[0]}: train both on the same topics'
            raise InputError(msg)
    head = {each.name: getattr(first, each.name) for each in fields(ModelHead)}
    seam = np.full((1, 2), np.nan)
    tracks = [part for each in members for part in (each.track, seam)]
    head['track'] = np.concatenate(tracks[:-1])
    head['summary'] = {'method': 'atlas', 'routes': list(names)}
    return AtlasModel(**head, names=names, members=members)
