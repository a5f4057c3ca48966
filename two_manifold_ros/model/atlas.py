# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The atlas: a model of many known routes, each with its own map, frame, origin and rate."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.head import ModelHead
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.names import LAP_FRAME, NO_ROUTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.typing import Floats

LONGEST_NAME = 100
"""Characters in the name of a route: it goes into topics, tables and file names of users."""


@dataclass(frozen=True, kw_only=True)
class AtlasModel(ModelHead):
    """
    A model of many known routes; `atlas_of` makes it, and checks that they go together.

    What nodes and tables read of its head is that of the first route, and the tracks of all.

    Parameters
    ----------
    names
        Of the routes, in alphabetical order.
    members
        Their models.

    """

    names: tuple[str, ...]
    members: tuple[RouteModel, ...]

    @property
    def routes(self) -> dict[str, ModelHead]:
        """The model of each known route by name."""
        return dict(zip(self.names, self.members, strict=True))

    @property
    def states(self) -> int:
        """Dimension of the state of the first route."""
        return self.members[0].states

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the channels of further sensors (m,), which all routes share."""
        return self.members[0].further_names

    @property
    def further_means(self) -> Floats:
        """Means of the channels of further sensors (m,) on the first route."""
        return self.members[0].further_means


def atlas_of(routes: Mapping[str, ModelHead]) -> AtlasModel:
    """
    Return the atlas of routes by name, in which those of an atlas have names of their own.

    Raises
    ------
    InputError
        If there is no route, a name is no name or there twice, a model is no map of a route, or
        they take other channels.

    """
    known: dict[str, RouteModel] = {}
    for given, model in routes.items():
        for own, each in model.routes.items():
            name = own or given
            if trouble_with(name):
                raise InputError(trouble_with(name))
            if name in known:
                msg = f'there are two routes of the name {name}: give one of them another name'
                raise InputError(msg)
            if not isinstance(each, RouteModel):
                msg = (
                    f'{name}: an atlas holds maps of routes, and this is a model of another '
                    'method: train it with --method route'
                )
                raise InputError(msg)
            known[name] = each
    if not known:
        msg = 'an atlas needs at least one route'
        raise InputError(msg)
    names = tuple(sorted(known))
    members = tuple(known[name] for name in names)
    for name, each in known.items():
        trouble = _unlike(each, members[0])
        if trouble:
            msg = f'{name}: it {trouble} than {names[0]}: train both on the same topics'
            raise InputError(msg)
    first = members[0]
    head = {each.name: getattr(first, each.name) for each in fields(ModelHead)}
    seam = np.full((1, 2), np.nan)
    tracks = [part for each in members for part in (each.track, seam)]
    head['track'] = np.concatenate(tracks[:-1])
    head['summary'] = {'method': 'atlas', 'routes': list(names)}
    return AtlasModel(**head, names=names, members=members)


def trouble_with(name: str) -> str:
    """Return why that cannot be the name of a route; empty if it can."""
    if name == NO_ROUTE:
        return f'{name!r} is no name of a route: it stands for none of them; take another'
    blanks = name != name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or ',' in name or blanks:
        return (
            f'{ascii(name)[:40]} is no name of a route: take up to {LONGEST_NAME} characters '
            'that can be printed, without commas, and without blanks at the ends'
        )
    return ''


def _unlike(model: RouteModel, other: RouteModel) -> str:
    """Return in which way two models of a route take other input; empty if in none."""
    if model.channels.names != other.channels.names:
        return 'takes other channels'
    if model.further_names != other.further_names:
        return 'takes other sensors'
    if (model.frame_id == LAP_FRAME) != (other.frame_id == LAP_FRAME):
        return 'knows laps alone, or positions, otherwise'
    return ''
