# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serialised reference messages on their way into a learner."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from time import monotonic
from typing import cast, TYPE_CHECKING

import numpy as np

from two_manifold_ros.nodes.live_recording import LiveTopic, LiveTypes
from two_manifold_ros.recordings.decoding import fix_decoder, position_decoder
from two_manifold_ros.recordings.fixes import FRAME, GEODETIC, NO_FIX
from two_manifold_ros.recordings.geodesy import east_north
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.nodes.updater_session import UpdaterSession
    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.decoding import Decode


class ReferenceInput:
    """
    Decodes positions; satellite fixes become positions in the plane of the session's origin.

    Where the session has no origin yet, the first valid fix is it.

    Parameters
    ----------
    session
        That takes them.
    clock
        Seconds, never going back.

    Attributes
    ----------
    received
        How many messages came.

    """

    def __init__(self, session: UpdaterSession, clock: Callable[[], float] = monotonic) -> None:
        self._session = session
        self._clock = clock
        self._used_s = math.nan
        self._decode: Decode | None = None
        self._geodetic = False
        self._refused: Counter[str] = Counter()
        self.received = 0

    def begin(self, msgtype: str) -> None:
        """Take messages of a type from now on."""
        # Importing the classes of bags needs rosbags, which a robot does not have.
        topic = cast('Topic', LiveTopic('reference', msgtype))
        self._geodetic = msgtype == GEODETIC
        decoder = fix_decoder if self._geodetic else position_decoder
        self._decode = decoder(cast('Bag', LiveTypes()), topic)

    @property
    def silence_s(self) -> float:
        """Seconds since a position was used; NaN if none ever was."""
        return self._clock() - self._used_s

    def take(self, raw: bytes) -> bool:
        """Take one serialised message; return whether its position is used."""
        used = self._take(raw)
        if used:
            self._used_s = self._clock()
        return used

    def counts(self) -> Counter[str]:
        """Return how many were used, and how many were not by cause."""
        return self._refused + self._session.learner.reference.counters

    def _take(self, raw: bytes) -> bool:
        if self._decode is None:
            return False
        self.received += 1
        try:
            stamp_ns, frame_id, numbers = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and told in the diagnostics
            self._refused['malformed'] += 1
            return False
        if self._geodetic:
            return self._take_fix(stamp_ns, *numbers)
        return self._session.take_position(stamp_ns, frame_id, *numbers)

    def _take_fix(
        self, stamp_ns: int, latitude: float, longitude: float, altitude: float, status: float
    ) -> bool:
        session = self._session
        if status == NO_FIX or not (math.isfinite(latitude) and math.isfinite(longitude)):
            self._refused['no_fix'] += 1
            return False
        origin = session.head.origin
        if origin is None:
            height = altitude if math.isfinite(altitude) else 0.0
            origin = GeodeticOrigin(latitude, longitude, height)
            session.head = replace(session.head, origin=origin)
        if not math.isfinite(altitude):
            altitude = origin.altitude_m
        fix = np.array([latitude]), np.array([longitude]), np.array([altitude])
        ((east, north),) = east_north(*fix, origin).tolist()
        # The header names the antenna; the positions are in a plane fixed to the earth.
        return session.take_position(stamp_ns, FRAME, east, north)
