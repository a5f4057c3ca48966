# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Metadata for colcon and pip: all of it is here, because setuptools 59 to 79 agree on this."""

import os
from pathlib import Path
import subprocess
import sys

from setuptools import find_packages, setup
from setuptools.command.develop import develop
from setuptools.command.install import install

NAME = 'two_manifold_ros'
NODES = ('filter_node', 'slot_car_node', 'trainer_node', 'updater_node')
SHARE = f'share/{NAME}'

# The only platform these wheels exist for; elsewhere ROS 2 comes from apt.
WHEELS = 'sys_platform == "linux" and platform_machine == "x86_64"'
# Exactly pinned: one private publisher, one release; requirements/ locks the hashes as well.
ROS = (
    'ros-jazzy-rclpy[fastrtps]==7.1.6',
    'ros-jazzy-diagnostic-msgs==5.3.6',
    'ros-jazzy-geometry-msgs==5.3.6',
    'ros-jazzy-lifecycle-msgs==2.0.3',
    'ros-jazzy-nav-msgs==5.3.6',
    'ros-jazzy-rosgraph-msgs==2.0.3',
    'ros-jazzy-sensor-msgs==5.3.6',
    'ros-jazzy-std-msgs==5.3.6',
    'ros-jazzy-std-srvs==5.3.6',
    'ros-jazzy-visualization-msgs==5.3.6',
)


class Install(install):
    """Compile the loops as well, where colcon installs into the workspace of a robot."""

    def run(self) -> None:
        """Install, then warm the cache of this user; nodes do without, in more time."""
        super().run()
        if 'COLCON' in os.environ and not self.root:
            warm_cache()


class Develop(develop):
    """The same with ``--symlink-install``."""

    def run(self) -> None:
        """Install links, then warm the cache of this user."""
        super().run()
        if 'COLCON' in os.environ and not self.uninstall:
            warm_cache()


def warm_cache() -> None:
    """Run ``two-manifold compile`` on these sources: compiled code knows no paths."""
    program = 'from two_manifold_ros.__main__ import main; main(["compile"])'
    subprocess.run([sys.executable, '-c', program], cwd=Path(__file__).parent, check=False)


def files(pattern: str) -> list[str]:
    """List the files that match, in a stable order."""
    return sorted(str(path) for path in Path().glob(pattern) if path.is_file())


setup(
    name=NAME,
    version='0.1.0',
    description='Where a lapping vehicle is, and where it will be, from its IMU alone',
    long_description=(
        'Learns a predictive model of one route from a recording with an IMU and positions '
        '(two-manifold HSE-HMM), then estimates from the IMU where the vehicle is and will be: '
        'a typed core without ROS, a command line, and ROS 2 nodes.'
    ),
    author='The two_manifold_ros developers',
    url='https://arxiv.org/abs/1206.4648',
    maintainer='The two_manifold_ros developers',
    maintainer_email='maintainers@two-manifold-ros.example',
    license='Apache-2.0',
    keywords=['ROS', 'localisation', 'IMU', 'hidden Markov model'],
    classifiers=[
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Typing :: Typed',
    ],
    cmdclass={'install': Install, 'develop': Develop},
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/launch', files('launch/*')),
        (f'{SHARE}/config', files('config/*')),
        (f'{SHARE}/config/examples', files('config/examples/*')),
        # pip puts console scripts into bin/, where ros2 run and launch do not look.
        (f'lib/{NAME}', files('resource/lib/*')),
    ],
    zip_safe=False,
    python_requires='>=3.10',
    # NumPy and SciPy are those of Ubuntu 22.04, which has ROS 2 Humble, or newer; package.xml says
    # the same, and requirements/oldest-*.txt hold the oldest of them for newer versions of Python.
    # eigh of SciPy 1.9.2, as built for Python 3.11, writes past the end of an array (scipy#16527).
    install_requires=['setuptools', 'numpy>=1.21.5', 'scipy>=1.8,!=1.9.2', 'numba'],
    extras_require={
        # Bags, tables with progress, figures, pages for a browser, a rival method, estimators:
        # never needed by a node.
        'train': [
            'rosbags',
            'lz4',
            'backports.zstd; python_version < "3.14"',
            'rich',
            'matplotlib',
            'bokeh>=3.9',
            'tornado',
            'hmmlearn',
            'joblib',
            'scikit-learn>=1.2',
        ],
        # Work on several processes or machines: nothing on a robot needs it.
        'fleet': ['distributed>=2024.5', 'dask', 'cryptography'],
        # Bags in object stores and on web servers: s3://, gs://, http(s)://.
        'remote': ['fsspec', 's3fs', 'gcsfs', 'aiohttp'],
        # Files of AiM loggers, which nothing else reads.
        'xrk': ['libxrk'],
        'ros': [f'{requirement}; {WHEELS}' for requirement in ROS],
        # launch_testing's plugin breaks pytest 9; colcon test looks for pytest under this name.
        # playwright opens pages in a browser that is there already.
        # moto is a server of S3 on this machine, and s3fs its client.
        'test': [
            'pytest<9',
            'hypothesis',
            'playwright',
            'pytest-timeout',
            'pytest-xdist',
            'PyYAML',
            'moto[s3]',
            'flask',
            'flask-cors',
            's3fs',
        ],
        # The documentation site; the last is MathJax, so that nothing is loaded from a network.
        'docs': ['sphinx>=8', 'myst-parser', 'furo', 'sphinx-mathjax-offline'],
        'dev': ['colcon-common-extensions', 'import-linter', 'mypy', 'ruff', 'types-PyYAML'],
    },
    entry_points={
        'console_scripts': [
            f'two-manifold = {NAME}.__main__:main',
            *(f'{node} = {NAME}.nodes.__main__:{node}' for node in NODES),
        ],
    },
)
