# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The table of experiments."""

from __future__ import annotations

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.experiment import Experiment

EXPERIMENTS = (
    Experiment(
        'swiss-rolls',
        'Two noisy Swiss rolls of one sheet are unrolled together where neither is alone.',
        'Boots & Gordon 2012, Figs. 1 and 2',
        'two_views:run_swiss_rolls',
    ),
    Experiment(
        'linear-iv',
        'A second view removes the bias that noise gives to principal components.',
        'Boots & Gordon 2012, section 3.1',
        'two_views:run_linear_iv',
    ),
    Experiment(
        'slot-car',
        'A manifold HSE-HMM predicts where a slot car will be better than its rivals do.',
        'Boots & Gordon 2012, Fig. 3',
        'slot_car:run',
    ),
    Experiment(
        'nlica-square',
        'Brownian motion in a square is recovered behind a map that bends the square.',
        'Singer & Coifman 2008, Figs. 1 to 4',
        'independent_components:run_square',
    ),
    Experiment(
        'nlica-sphere',
        'A mushroom on the sphere is mapped back to the square that it came from.',
        'Singer & Coifman 2008, Figs. 6 and 7',
        'independent_components:run_sphere',
    ),
    Experiment(
        'slow-manifold',
        'The slow variable of a system is found behind the fast one that hides it.',
        'Singer & Coifman 2008, section 1',
        'independent_components:run_slow_manifold',
    ),
    Experiment(
        'mkdr-torus',
        'A response on a torus is linear in one direction of the eigenvectors of its graph.',
        'Nilsson, Sha & Jordan 2007, Figs. 1 to 3',
        'mkdr:run_torus',
    ),
    Experiment(
        'mkdr-sphere',
        'A temperature on the globe is linear in one direction of the eigenvectors of its graph.',
        'Nilsson, Sha & Jordan 2007, Figs. 4 and 5',
        'mkdr:run_sphere',
    ),
    Experiment(
        'mkdr-images',
        'Eigenvectors that show how an object is turned are found among many that do not.',
        'Nilsson, Sha & Jordan 2007, Figs. 6 and 7',
        'mkdr_images:run',
    ),
    Experiment(
        'rr-hmm',
        'Learned eigenvalues of a reduced-rank HMM converge to the true ones as samples add up.',
        'Boots & Gordon 2011, Fig. 1',
        'rr_hmm:run',
    ),
    Experiment(
        'slot-car-online',
        'Online learning with random features predicts an IMU as well as the HSE-HMM does.',
        'Boots & Gordon 2011, Fig. 2',
        'slot_car_online:run',
        takes_recordings=True,
    ),
    Experiment(
        'video',
        'Learned online from a film, the map of a room closes when the camera returns.',
        'Boots & Gordon 2011, Fig. 3',
        'video:run',
    ),
)

ALL = 'all'
"""The name that stands for every experiment."""


def experiments_named(name: str) -> tuple[Experiment, ...]:
    """
    Return the experiment of a name, or all of them.

    Raises
    ------
    InputError
        If there is no experiment of that name.

    """
    chosen = tuple(each for each in EXPERIMENTS if name in {each.name, ALL})
    if not chosen:
        names = ', '.join(each.name for each in EXPERIMENTS)
        msg = f'there is no experiment {name}; choose from {names} or {ALL}'
        raise InputError(msg)
    return chosen
