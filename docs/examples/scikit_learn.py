# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Unroll a noisy Swiss roll by the two-manifold method, as an estimator of scikit-learn.

It prints::

    one manifold: R2 0.48
    two manifolds: R2 0.95
"""

from matplotlib.figure import Figure
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators import InstrumentalEigenmaps, ManifoldEmbedding
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

random = np.random.default_rng(0)
place = random.random((2000, 2))
angle = 1.5 * np.pi * (1.0 + 2.0 * place)
rolls = []
for turned, flat in ((0, 1), (1, 0)):
    turn, width = angle[:, turned], 21.0 * place[:, flat]
    roll = np.column_stack([turn * np.cos(turn), turn * np.sin(turn), width])
    rolls.append(roll + random.normal(size=roll.shape))
x, y = rolls

learner = LaplacianEigenmap(dimension=60, neighbours=20)
one = ManifoldEmbedding(LaplacianEigenmap(dimension=2, neighbours=20)).fit(x)
two = InstrumentalEigenmaps(2, learner=learner).fit(x, y)
figure = Figure(figsize=(6.0, 3.0), layout='constrained')
for axes, (name, fitted) in zip(
    figure.subplots(1, 2), (('one manifold', one), ('two manifolds', two)), strict=True
):
    sheet = fitted.embedding_
    score = (
        KNeighborsRegressor(10).fit(sheet[:1500], place[:1500]).score(sheet[1500:], place[1500:])
    )
    print(f'{name}: R2 {score:.2f}')
    axes.scatter(*sheet.T, c=place[:, 0], s=3.0, cmap='viridis')
    axes.set(title=name, xticks=[], yticks=[])
figure.savefig('scikit_learn.png', dpi=110, metadata={'Software': None})
