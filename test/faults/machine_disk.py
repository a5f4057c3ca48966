# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Disks without room, what was on them when the power went, and missing folders and networks."""

from pathlib import Path
import resource
import signal
from time import monotonic

from fault import RATE_HZ
from geometry_msgs.msg import PoseStamped
from imu_feed import connect, Feed
from machine import in_namespaces, Machine, WatchedProcess
from ros_talk import Health

HZ = round(RATE_HZ)
ROOM = 40_000
"""Bytes a file may have: more than any log and fewer than any bag, model or checkpoint."""

NO_ROOM = ['sh', '-c', f'ulimit -f {ROOM // 512}; exec "$@"', 'sh']
QUICK = ('--rate', 10, '--window', 20, '--states', 8, '--horizons', '0,5')


def on_a_full_disk(machine: Machine) -> tuple[float, ...]:
    """Let everything that writes a file and ends run out of room."""
    bag, folder = machine.bag, machine.folder / 'written'
    folder.mkdir()
    trainer = {'rate_hz': 10.0, 'window': 20, 'states': 8, 'model': folder / 'new.npz'}
    ending = {
        machine.command('simulate', '-o', folder / 'new', '--laps', 8, prefix=NO_ROOM): 2,
        machine.command('train', bag, '-o', folder / 'new.npz', *QUICK, prefix=NO_ROOM): 2,
        machine.command('replay', machine.model, bag, '-o', folder / 'new', prefix=NO_ROOM): 2,
        machine.node('trainer_node', NO_ROOM, bags=f'[{bag}]', **trainer): 1,
    }
    for process, status in ending.items():
        assert process.ended() == status, process.said
        assert 'cannot be written (File too large)' in process.said, process.said
        assert 'Traceback' not in process.said, process.said
    assert list(folder.iterdir()) == []
    return (0.0,)


def updater_in_trouble(machine: Machine) -> tuple[float, ...]:
    """Take the room from an updater that learns, give it back, and kill it."""
    folder = machine.folder / 'kept'
    updater = _updater(machine, folder)
    talk = machine.talk()
    health, reference = Health(talk), talk.publisher(PoseStamped, 'reference')
    feed = Feed(talk, machine.drive.run, connect(talk, health), reference, every=5)
    health.until_value('reference_type', 'geometry_msgs/msg/PoseStamped')
    _leave_room(updater, ROOM)
    feed.send(14 * HZ)
    begin_s = monotonic()
    talk.until(lambda: 'checkpoint_trouble' in health.values, 'the trouble to be reported')
    reported_s = monotonic() - begin_s
    assert 'File too large' in health.values['checkpoint_trouble']
    assert health.level == 1
    learned = int(health.values['samples_learned'])
    assert learned > 0
    feed.send(4 * HZ)
    talk.until(lambda: int(health.values['samples_learned']) > learned, 'it to learn on')
    _leave_room(updater, resource.RLIM_INFINITY)
    # A tenth more is worth another one.
    feed.send(6 * HZ)
    talk.until(lambda: 'checkpoint_trouble' not in health.values, 'a checkpoint')
    assert health.values['checkpoints_written'] != '0'
    assert updater.stop(signal.SIGKILL) == -signal.SIGKILL
    begun = folder / '.updater.000099.npz.begun'
    begun.write_bytes(b'half')
    begin_s = monotonic()
    again = _updater(machine, folder)
    again.until_said('resumed at ')
    assert not begun.exists()
    return reported_s, monotonic() - begin_s


def _updater(machine: Machine, folder: Path) -> WatchedProcess:
    chosen = {'learner': 'tpsr', 'checkpoint_folder': folder, 'checkpoint_s': 1.0}
    return machine.node('updater_node', input_timeout_s=60.0, **chosen)


def _leave_room(process: WatchedProcess, size: int) -> None:
    _, most = resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (size, most))


UNSET = dict.fromkeys(('HOME', 'ROS_HOME', 'ROS_LOG_DIR', 'XDG_CACHE_HOME'))
READ_ONLY = 'mount -t tmpfs -o ro tmpfs /mnt; ip link set lo up'


def in_poor_surroundings(machine: Machine) -> tuple[float, ...]:
    """Start nodes that lack folders, and networks but loopback."""
    place, given = in_namespaces('mn', READ_ONLY), {'model': machine.model}
    homeless = machine.node('filter_node', (), UNSET, **given)
    read_only = machine.node('filter_node', place, UNSET | {'HOME': '/mnt'}, **given)
    for node, words in (
        (homeless, 'No log file is written, because HOME is not set'),
        (read_only, 'because /mnt/.ros/log cannot be written (Read-only file system)'),
        (read_only, 'Loops are compiled again by every process'),
    ):
        node.until_said('it has no publisher')
        assert words in node.said, node.said
    for node in (homeless, read_only):
        assert node.stop(signal.SIGINT) == 0, node.said
        assert 'Traceback' not in node.said, node.said
    return (0.0,)
