# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages with positions as position fixes of a filter, each in the frame of a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
import math
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.fixes import Fix
from two_manifold_ros.interface.assessment import format_duration, WORDS
from two_manifold_ros.interface.transforms import yaw_of
from two_manifold_ros.names import LAP_FRAME, POSITION_FIELDS
from two_manifold_ros.recordings.decoding import Deserialise, position_decoder
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import GEODETIC, valid_fixes

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.messages import Scene
    from two_manifold_ros.interface.session import Session

_POSE = tuple(f'pose.covariance.{index}' for index in (0, 1, 7))
_GEODETIC = *(f'position_covariance.{index}' for index in (0, 1, 4)), 'position_covariance_type'
COVARIANCES: dict[str, tuple[str, ...]] = {
    'geometry_msgs/msg/PoseWithCovarianceStamped': _POSE,
    'nav_msgs/msg/Odometry': _POSE,
    GEODETIC: _GEODETIC,
}
"""Fields with the variance of x, the covariance of x and y, and the variance of y, by type."""

HEADING = (*(f'pose.pose.orientation.{axis}' for axis in 'xyzw'), 'pose.covariance.35')
"""Fields with a heading: a quaternion, and the variance of the yaw."""

SAID_S = 10.0
"""Time for which trouble with one fix is shown, seconds: long enough to be read."""


def fix_of(msgtype: str, stamp_ns: int, frame_id: str, numbers: Sequence[float]) -> Fix | None:
    """
    Return a fix by numbers of its fields; ``None`` if a satellite receiver has none.

    They are those of `POSITION_FIELDS`, `COVARIANCES`, or else it is zero, and maybe `HEADING`.
    """
    size = len(POSITION_FIELDS[msgtype])
    place, further = numbers[:size], numbers[size + 3 :]
    xx, xy, yy = numbers[size : size + 3] or (0.0, 0.0, 0.0)
    covariance = np.array([[xx, xy], [xy, yy]])
    if msgtype == GEODETIC:
        latitude, longitude, _, status = place
        if not valid_fixes(*np.array([[latitude], [longitude], [status]])):
            return None
        # The header names the antenna. Of a covariance of type 0 nothing is known.
        known = covariance if any(further) else np.zeros((2, 2))
        return Fix(stamp_ns, np.zeros(2), known, origin=GeodeticOrigin(latitude, longitude, 0.0))
    *turn, variance = further or (0.0,)
    # A quaternion of another length than one, up to coarse rounding, is none; and who fills in no
    # covariance knows no heading.
    turned = variance != 0.0 and 0.9 < math.hypot(*turn) < 1.1
    heading = yaw_of(*turn) if turned else math.nan
    return Fix(stamp_ns, np.array(place), covariance, heading, variance, frame_id)


def maps_of(scene: Scene, latest: Estimate | None = None) -> list[Scene]:
    """Return the maps in metres that are known, that of the newest estimate first."""
    first = [] if latest is None else [scene.of(latest)]
    known = *first, *scene.routes.values(), scene
    maps = [each for each in known if each.model.route_model is not None]
    return [each for each in maps if each.model.frame_id != LAP_FRAME]


class FixInput:
    """
    Hand positions to the filter of a session as fixes, and say what is wrong with them.

    ``session`` and ``scene`` return those of now, no session while none is to have fixes. ``find``
    returns where a frame is in another one, as x, y in metres and yaw, or raises `InputError`.
    """

    def __init__(
        self,
        session: Callable[[], Session | None],
        scene: Callable[[], Scene],
        deserialise: Deserialise,
        find: Callable[[str, str], tuple[float, float, float]],
    ) -> None:
        self._session, self._scene = session, scene
        self._deserialise, self._find = deserialise, find
        # Counts that were complained of, what is wrong, and when it was said.
        self._seen: Counter[str] = Counter()
        self._words, self._said_s = '', -math.inf

    def begin(self, name: str, msgtype: str, *, clicked: bool) -> Callable[[bytes], None]:
        """Return what takes the messages of a topic, with a heading if a person clicked them."""
        further = COVARIANCES.get(msgtype, ()) + HEADING * clicked
        decode = position_decoder(self._deserialise, msgtype, further)

        def take(raw: bytes) -> None:
            session = self._session()
            if session is None:
                return
            cause, words = 'malformed', WORDS['malformed']
            try:
                read = decode(raw)
                cause = 'refused'
                fix = fix_of(msgtype, *read)
                cause = 'no_fix' if fix is None else 'other_frame'
                if fix is not None:
                    fix = self._placed(fix, maps_of(self._scene(), session.latest))
                    cause = 'refused'
                    session.fix(fix, clicked=clicked)
                    return
            # Bytes that are no message of this type make a decoder raise almost anything.
            except Exception as error:
                if isinstance(error, InputError):
                    words = str(error)
                elif cause != 'malformed':
                    raise
                self._say(f'a position on {name} is not used: {words}')
            for counts in (session.filter.fixes, self._seen):
                counts.update(['received', cause])

        return take

    def _say(self, words: str) -> None:
        self._words, self._said_s = words, monotonic()

    def _placed(self, fix: Fix, maps: list[Scene]) -> Fix:
        """Return a fix in the frame of a map, if one is known for it."""
        if fix.origin is not None:
            # At the height of the map, as in the training.
            heights = [each.model.origin.altitude_m for each in maps if each.model.origin]
            return replace(fix, origin=replace(fix.origin, altitude_m=[*heights, 0.0][0]))
        if not maps:
            return fix
        for each in maps:
            model = each.model
            if fix.frame_id in {'', each.track, model.frame_id}:
                return replace(fix, frame_id=model.frame_id, origin=model.origin)
        x, y, yaw = self._find(fix.frame_id, maps[0].track)
        cosine, sine = math.cos(yaw), math.sin(yaw)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        (xx, xy), (_, yy) = turn @ fix.covariance @ turn.T
        return replace(
            fix,
            position=turn @ fix.position + np.array([x, y]),
            covariance=np.array([[xx, xy], [xy, yy]]),
            heading=fix.heading + yaw,
            frame_id=maps[0].model.frame_id,
            origin=maps[0].model.origin,
        )

    @property
    def complaint(self) -> tuple[str, str]:
        """A cause and what was wrong with the newest fixes that were not used, or empty words."""
        session = self._session()
        if session is None:
            return 'fixes', ''
        fresh, self._seen = session.filter.fixes - self._seen, session.filter.fixes.copy()
        if fresh['late'] or fresh['ahead']:
            behind_s, window_s = session.fix_behind_s, session.model.window_ns / 1e9
            side = 'before' if behind_s > 0.0 else 'after'
            self._say(
                f'position fixes are stamped {format_duration(abs(behind_s))} {side} the newest '
                f'sample of the IMU, more than a window of {window_s:g} s: the clocks of the two '
                'sensors differ, so set them alike, or the fixes come too late'
            )
        elif fresh['other_frame']:
            self._say(
                'position fixes fit no map: they need a model with a map in metres, those of '
                'satellites one that was trained on such fixes'
            )
        return 'fixes', self._words if monotonic() - self._said_s < SAID_S else ''
