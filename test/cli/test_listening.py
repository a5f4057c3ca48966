# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What commands listen on: loopback alone, unless another address is asked for, or nothing."""

from __future__ import annotations

from contextlib import suppress
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest

psutil = pytest.importorskip('psutil', reason='psutil is not installed (extra: test)')
pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')
pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
pytestmark = pytest.mark.xdist_group('fleet')

LONGEST_S = 120.0


def listening(process: psutil.Process) -> set[str]:
    """Return the addresses that a process and those that it started listen on."""
    found = set()
    with suppress(psutil.NoSuchProcess):
        for each in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                sockets = each.net_connections('inet')
                found |= {one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ('view MODEL BAG --port 0 --no-browser', {'127.0.0.1'}),
        ('view --live --port 0 --no-browser', {'127.0.0.1'}),
        ('view MODEL BAG --port 0 --no-browser --host 0.0.0.0', {'0.0.0.0'}),  # noqa: S104 - asked
        ('inspect BAG BAG --workers 1', {'127.0.0.1'}),
        ('replay MODEL BAG -o OUT', set()),
    ],
)
def test_commands_listen_on_loopback_alone(given, expected, slot_car_bag, model_file, tmp_path):
    if '--live' in given:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    places = {'BAG': slot_car_bag, 'MODEL': model_file, 'OUT': tmp_path / 'out'}
    command = [str(places.get(each, each)) for each in given.split()]
    started = subprocess.Popen(
        [sys.executable, '-m', 'two_manifold_ros', *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    process, begun_s, found = psutil.Process(started.pid), monotonic(), set[str]()
    # A page is served for as long as nobody ends it; what else is there ends by itself.
    while started.poll() is None and monotonic() - begun_s < LONGEST_S:
        found |= listening(process)
        if found and given.startswith('view'):
            # It may open others a little later.
            sleep(1.0)
            found |= listening(process)
            break
        sleep(0.02)
    started.send_signal(signal.SIGINT)
    said = started.communicate(timeout=60)[1]
    assert started.returncode in {0, 130}, said
    assert 'Traceback' not in said
    assert found == expected
