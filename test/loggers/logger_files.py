# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated drive in the files of loggers, each written by the rules of its format."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

G = 9.80665
SECOND = 1_000_000_000
# West of Greenwich, and across midnight.
START = datetime(2026, 3, 7, 23, 59, 40, tzinfo=timezone.utc)
LATITUDE, LONGITUDE = 38.1612, -122.4549
# A test looks for it.
DRIVER = 'Jane Example'


@dataclass(frozen=True)
class Drive:
    """Laps on an oval with a speed that changes: IMU at 20 Hz, fixes at 5 Hz."""

    seconds: np.ndarray
    """Of the samples, from the start."""
    imu: np.ndarray
    """Forward, left, up in m/s^2, then about these axes in rad/s: (N, 6)."""
    fixes: np.ndarray
    """Latitude and longitude in degrees, metres, of every fourth sample: (M, 3)."""

    @property
    def stamps(self) -> np.ndarray:
        """Stamps of the samples, nanoseconds."""
        return round(START.timestamp()) * SECOND + np.rint(self.seconds * 1e9).astype(np.int64)


def drive(length_s: float = 60.0) -> Drive:
    seconds = np.arange(0.0, length_s, 0.05)
    # Two straights with a bend each: the heading turns at a rate that changes.
    rate = 0.25 + 0.2 * np.sin(0.25 * seconds)
    speed = 12.0 + 3.0 * np.sin(0.4 * seconds)
    course = np.cumsum(rate) * 0.05
    east, north = (np.cumsum(speed * wave(course)) * 0.05 for wave in (np.cos, np.sin))
    forces = np.gradient(speed, 0.05), speed * rate, G + 0.3 * np.sin(3.0 * seconds)
    turns = 0.02 * np.sin(2.0 * seconds), 0.03 * np.cos(2.0 * seconds), rate
    metres = 111_195.0
    longitude = LONGITUDE + east / (metres * np.cos(np.radians(LATITUDE)))
    places = LATITUDE + north / metres, longitude, 30.0 + np.sin(0.1 * seconds)
    imu, fixes = np.stack([*forces, *turns], axis=1), np.stack(places, axis=1)
    return Drive(seconds, imu, fixes[::4])


def of_day(seconds: float) -> str:
    """Return a time of day of UTC as HHMMSS.SS."""
    whole = (23 * 3600 + 59 * 60 + 40 + seconds) % 86_400
    minutes, rest = divmod(round(whole * 100), 6000)
    return f'{minutes // 60:02d}{minutes % 60:02d}{rest / 100:05.2f}'


def vbo(path: Path, made: Drive) -> Path:
    """Write a VBO file: minutes, west positive, g, degrees a second, right positive."""
    lines = [
        'File created on 07/03/2026 at 23:59:41',
        '',
        '[header]',
        *('satellites', 'time', 'latitude', 'longitude', 'velocity kmh', 'heading', 'height'),
        *('LongAcc', 'LatAcc', 'YawRate'),
        '',
        '[comments]',
        f'Driver : {DRIVER}',
        '',
        '[laptiming]',
        'Start   +7347.29 +2289.67 +7347.30 +2289.68 ¬ Start',
        '',
        '[column names]',
        'sats time lat long velocity heading height LongAcc LatAcc YawRate ',
        '',
        '[data]',
    ]
    for index, (second, sample) in enumerate(zip(made.seconds, made.imu, strict=True)):
        north, east, up = made.fixes[index // 4]
        lines.append(
            f'012 {of_day(second)} {north * 60:+013.6f} {-east * 60:+013.6f} 043.200 090.00 '
            f'{up:+09.2f} {sample[0] / G:+.5f} {-sample[1] / G:+.5f} '
            f'{-np.degrees(sample[5]):+.4f}'
        )
    # As Racelogic writes it: the sign before the start line is not of UTF-8.
    path.write_bytes('\r\n'.join([*lines, '']).encode('latin-1'))
    return path


def racechrono(path: Path, made: Drive) -> Path:
    """Write a CSV v3 of RaceChrono: g, degrees a second, rows of either sensor or the receiver."""
    lines = [
        'This file is created using RaceChrono Pro v9.1.3 ( http://racechrono.com/ ).',
        'Format,3',
        'Session title,"Practice"',
        f'Driver name,{DRIVER}',
        'Created,07/03/2026,23:59',
        'Note,',
        '',
        (
            'timestamp,fragment_id,lap_number,elapsed_time,altitude,latitude,longitude,speed,'
            'device_update_rate,lateral_acc,speed,x_acc,y_acc,z_acc,device_update_rate,'
            'x_rate_of_rotation,y_rate_of_rotation,z_rate_of_rotation'
        ),
        'unix time,,,s,m,deg,deg,m/s,Hz,G,m/s,G,G,G,Hz,deg/s,deg/s,deg/s',
        (
            ',,,,100: gps,100: gps,100: gps,100: gps,100: gps,calc,calc,101: acc,'
            '101: acc,101: acc,102: gyro,102: gyro,102: gyro,102: gyro'
        ),
    ]
    for index, (stamp, sample) in enumerate(zip(made.stamps, made.imu, strict=True)):
        begin = f'{stamp / 1e9:.3f},0,,{made.seconds[index]:.3f}'
        force = ','.join(f'{each / G:.6f}' for each in sample[:3])
        turn = ','.join(f'{each:.5f}' for each in np.degrees(sample[3:]))
        if index % 4 == 0:
            north, east, up = made.fixes[index // 4]
            lines.append(f'{begin},{up:.3f},{north:.8f},{east:.8f},12.0,5,0.1,12.0,,,,,,,')
        lines.append(f'{begin},,,,,,,,{force},20,{turn}')
    path.write_text('\n'.join([*lines, '']), encoding='utf-8')
    return path


def racecapture(path: Path, made: Drive) -> Path:
    """Write a log of RaceCapture: sparse cells, milliseconds, UTC that is zero before a fix."""
    columns = (
        '"Interval"|"ms"|0|0|1,"Utc"|"ms"|0|0|1,"Battery"|"Volts"|0.0|20.0|1,'
        '"AccelX"|"G"|-3.0|3.0|25,"AccelY"|"G"|-3.0|3.0|25,"AccelZ"|"G"|-3.0|3.0|25,'
        '"Yaw"|"Deg/Sec"|-120|120|25,"Pitch"|"Deg/Sec"|-120|120|25,"Roll"|"Deg/Sec"|-120|120|25,'
        '"Latitude"|"Degrees"|-180.0|180.0|5,"Longitude"|"Degrees"|-180.0|180.0|5,'
        '"Speed"|"MPH"|0.0|150.0|5,"Altitude"|"ft"|0.0|4000.0|5'
    )
    lines = [columns]
    for index, (second, sample) in enumerate(zip(made.seconds, made.imu, strict=True)):
        force = ','.join(f'{each / G:.6f}' for each in sample[:3])
        turn = ','.join(f'{each:.5f}' for each in np.degrees(sample[[5, 4, 3]]))
        utc = 0 if index < 3 else made.stamps[index] // 1_000_000
        cells = ',,,'
        if index % 4 == 0:
            north, east, up = made.fixes[index // 4]
            cells = f'{north:.8f},{east:.8f},27.1,{up / 0.3048:.3f}'
        lines.append(f'{round(second * 1000) + 5000},{utc},,{force},{turn},{cells}')
    path.write_text('\n'.join([*lines, '']), encoding='utf-8')
    return path


def aim(path: Path, made: Drive) -> Path:
    """Write a CSV of Race Studio: quoted cells, one rate, right positive, local time."""
    places = [f'GPS {word}' for word in ('Speed', 'LatAcc', 'Latitude', 'Longitude', 'Altitude')]
    rates = 'InlineAcc', 'LateralAcc', 'VerticalAcc', 'RollRate', 'PitchRate', 'YawRate'
    rows = [
        ['Format', 'AiM CSV File'], ['Session', 'Some track'], ['Vehicle', 'Kart 7'],
        ['Racer', DRIVER], ['Date', 'Saturday, March 7, 2026'], ['Time', '11:59:40 PM'],
        ['Sample Rate', '20'], [], ['Time', *places, *rates],
        ['s', 'km/h', 'g', 'deg', 'deg', 'ft', *['g'] * 3, *['deg/s'] * 3], [],
    ]  # fmt: skip
    for index, (second, sample) in enumerate(zip(made.seconds, made.imu, strict=True)):
        north, east, up = made.fixes[index // 4]
        signs = np.array([1, -1, 1, 1, 1, -1])
        values = np.concatenate([sample[:3] / G, np.degrees(sample[3:])]) * signs
        place = ['43.2', '0.1', f'{north:.8f}', f'{east:.8f}', f'{up / 0.3048:.3f}']
        rows.append([f'{second:.3f}', *place, *(f'{each:.6f}' for each in values)])
    lines = [','.join(f'"{cell}"' for cell in row) for row in rows]
    path.write_text('\r\n'.join([*lines, '']), encoding='utf-8')
    return path


WRITERS: dict[str, tuple[Callable[[Path, Drive], Path], str]] = {
    'vbo': (vbo, 'drive.vbo'),
    'racechrono': (racechrono, 'session.csv'),
    'racecapture': (racecapture, 'rc_1.log'),
    'aim': (aim, 'run.csv'),
}
"""Writers of each format, and names of their files."""
