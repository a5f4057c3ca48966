# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The online learner, its SVD and moments beside the paper, direct sums, the batch and Bayes."""

from copy import copy
from dataclasses import replace
import math
import warnings

from exact_tpsr import evidences, learn_by_tensor, NaiveOnline, part, rows_of, unit, wandering
from hypothesis import given, strategies
import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr import learner as module
from two_manifold_ros.tpsr.features import fourier_features, WithConstant
from two_manifold_ros.tpsr.learner import learn, LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.tpsr.parameters import RememberingBelief, SMALLEST_EVIDENCE, Tpsr, TpsrBelief
from two_manifold_ros.tpsr.thin_svd import PENDING, ThinSvd

SIZE, OBSERVATIONS, RIDGE = 8, 5, 3.0


def learner(**changes: float) -> OnlineLearner:
    settings = {'states': 4, 'rank': 8, 'ridge': RIDGE, 'fold_every': 1} | changes
    return OnlineLearner(LearnerSettings(**settings), unit(SIZE), SIZE, OBSERVATIONS)


@pytest.mark.parametrize('memory', [math.inf, 80.0])
@pytest.mark.parametrize('rank', [4, 8])
def test_is_the_online_algorithm_as_the_paper_writes_it(rank, memory):
    triples = wandering(300)
    ours = learner(rank=rank, memory=memory)
    naive = NaiveOnline(SIZE, SIZE, OBSERVATIONS, rank)
    for row in rows_of(triples):
        ours.add(*row)
        naive.add(*row, decay=ours.settings.decay)
    ours.covariance.refresh()
    tpsr = ours.parameters()
    belief, states = TpsrBelief(tpsr), []
    for row in triples.observations[-40:]:
        belief.update(row)
        assert belief.accepted
        states.append(ours.svd.across.rows[:4].T @ belief.state)
    expected = naive.filtered(unit(SIZE), triples.observations[-40:], RIDGE, 4)
    np.testing.assert_allclose(states, expected, atol=1e-7)
    np.testing.assert_allclose(ours.svd.values, naive.values, rtol=1e-9)
    tensor = np.einsum(
        'dr,ork->odk', ours.svd.across.rows.T, ours.moments(rank)[:-1] / ours.svd.values
    )
    expected_tensor = np.einsum('dr,rok->odk', naive.left, naive.whole_tensor)
    signs = np.sign((ours.svd.down.rows @ naive.right).diagonal())
    np.testing.assert_allclose(tensor * signs, expected_tensor, atol=1e-8)


@pytest.mark.parametrize('memory', [math.inf, 60.0])
@pytest.mark.parametrize('batch', [1, 7, 300])
def test_is_the_weighted_batch_when_nothing_is_cut_off(batch, memory):
    triples = wandering(250)
    ours = learner(memory=memory, fold_every=300)
    for begin in range(0, len(triples), batch):
        ours.add_all(part(triples, begin, begin + batch))
    ours.covariance.refresh()
    faded = triples.importance * np.exp(-np.arange(len(triples))[::-1] / memory)
    whole = learn(Triples(**vars(triples) | {'importance': faded}), unit(SIZE), 4, RIDGE)
    tpsr = ours.parameters()
    found, expected = (evidences(each, triples.observations) for each in (tpsr, whole))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    modes, wanted = (np.linalg.eigvals(each) for each in (tpsr.transition, whole.transition))
    np.testing.assert_allclose(np.sort_complex(modes), np.sort_complex(wanted), atol=1e-9)
    # A state may be as long as any test, however rare that is.
    assert tpsr.bound == pytest.approx(whole.bound)
    assert tpsr.bound > np.linalg.norm(triples.tests, axis=1).max()


def test_samples_wait_and_moves_add_up():
    triples = wandering(50)
    ours = learner(fold_every=16)
    assert [ours.add(*row) for row in rows_of(part(triples, 0, 15))] == [None] * 15
    with pytest.raises(InputError, match='nothing was learned yet'):
        ours.parameters()
    ours.fold()
    before = ours.svd.across.rows.copy()
    whole = ours.add_all(part(triples, 15, 50))
    np.testing.assert_array_equal(ours.fold().left, np.eye(8))
    np.testing.assert_allclose(whole.left, ours.svd.across.rows @ before.T, atol=1e-12)


@pytest.mark.parametrize('column', range(4))
@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e31])
def test_features_that_cannot_be_computed_with_are_refused(column, value):
    triples = wandering(40)
    ours, clean = learner(fold_every=4), learner(fold_every=4)
    for row in rows_of(triples):
        bad = [feature.copy() for feature in row[:4]]
        bad[column][1] = value
        assert ours.add(*bad) is None
        ours.add(*row)
        clean.add(*row)
    assert ours.parameters().transition.tobytes() == clean.parameters().transition.tobytes()


IMPORTANCES = (1.0, 1.0, 1.0, 0.0, 1e-50, 1e50, 1e-3, -1.0, np.nan)


def hostile(rng: np.random.Generator, usual: np.ndarray) -> np.ndarray:
    """Long, short, zero, parallel or broken features, of which the last is the constant."""
    direction = usual if rng.random() < 0.4 else rng.normal(size=len(usual))
    length = rng.choice([0.0, 1e-200, 1e-30, 1e-6, 1e-3, 1.0, 1.0, 1.0, 1e3, 3e5])
    features = np.append(length * direction, 1.0)
    if rng.random() < 0.01:
        features[0] = rng.choice([np.nan, np.inf, -np.inf, 1e200])
    return features


@pytest.mark.parametrize('seed', range(8))
def test_a_learner_survives(seed):
    rng = np.random.default_rng(seed)
    tests, histories, observations, states = rng.integers(2, 8, 4)
    memory, ridge = rng.choice([np.inf, 3.0, 100.0]), rng.choice([1e-9, 1e-3, 1.0, 100.0])
    settings = LearnerSettings(
        int(states), int(states + rng.integers(4)), ridge, memory, (1, 2, 5, 33)[seed % 4]
    )
    learner = OnlineLearner(settings, np.eye(histories + 1)[-1], tests + 1, observations + 1)
    usual = [rng.normal(size=size) for size in (tests, tests, histories, observations)]
    belief = None
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for _ in range(150):
            sample = [hostile(rng, features) for features in usual]
            move = learner.add(*sample, rng.choice(IMPORTANCES))
            if move is not None:
                tpsr = learner.parameters()
                assert all(np.isfinite(value).all() for value in vars(tpsr).values())
                if belief is None:
                    belief = TpsrBelief(tpsr)
                else:
                    belief.adopt(tpsr, move)
                for basis in (learner.svd.across.rows, learner.svd.down.rows):
                    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-9)
            if belief is not None:
                assert -1.0 <= belief.update(sample[3]) <= 1.0
                assert np.isfinite(belief.state).all()
    assert learner.weight > 0.0


MOMENTS = 12


@pytest.mark.parametrize('batch', [1, MOMENTS // 4 + 1])
@pytest.mark.parametrize('decay', [1.0, 0.99])
def test_inverse_is_that_of_the_sum_and_its_ridge(batch, decay):
    rng = np.random.default_rng(0)
    covariance = module.ObservationCovariance(MOMENTS, 0.2)
    total, count, updates = np.zeros((MOMENTS, MOMENTS)), 0.0, 0
    for _ in range(700):
        rows, weights = rng.normal(size=(batch, MOMENTS)), rng.random(batch)
        covariance.fold(rows, weights, decay)
        total = decay * total + (rows.T * weights) @ rows
        count = decay * count + weights.sum()
        ridge = covariance.ridge_within
        assert ridge == pytest.approx(0.2 * count, rel=0.1)
        inverse = np.linalg.inv(total + ridge * np.eye(MOMENTS))
        np.testing.assert_allclose(covariance.inverse, inverse, rtol=1e-9, atol=1e-13)
        np.testing.assert_array_equal(covariance.inverse, covariance.inverse.T)
        updates += covariance.since > 0
    # Both forms have to have been used, or one of them was not tested.
    assert (updates > 500) == (batch == 1)
    assert updates < 700


TRANSITION = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
EMISSION = np.array([[0.5, 0.25, 0.25, 0, 0], [0, 0.25, 0, 0.5, 0.25], [0, 0, 0.5, 0.2, 0.3]])
SYMBOLS, STATES, EXACT_RIDGE = 5, 3, 0.1


def word_triples() -> Triples:
    """Every triple of symbols: the history is the first, the test starts with the second."""
    words, chances = naive.words_of_chain(TRANSITION, EMISSION)
    order = np.random.default_rng(0).permutation(len(words))
    histories, tests, next_tests = (np.eye(SYMBOLS)[column] for column in words[order].T)
    return Triples(tests, next_tests, histories, tests, chances[order])


def online(fold_every: int) -> tuple[Tpsr, np.ndarray]:
    settings = LearnerSettings(STATES, SYMBOLS, EXACT_RIDGE, fold_every=125)
    learner = OnlineLearner(settings, np.ones(SYMBOLS), SYMBOLS, SYMBOLS)
    # At first many at once: a next test that no basis has yet would be lost in part.
    for begin in (0, *range(50, 125, fold_every)):
        learner.add_all(part(word_triples(), begin, begin + fold_every if begin else 50))
    return learner.parameters(), learner.svd.across.rows[:STATES]


def in_batch(form: object) -> tuple[Tpsr, np.ndarray]:
    data = word_triples()
    covariance = (data.tests * data.importance[:, None]).T @ data.histories
    left = np.linalg.svd(covariance)[0][:, :STATES].T
    tpsr = form(data, np.ones(SYMBOLS), STATES, EXACT_RIDGE)
    # The batch forms do not return their bases, but LAPACK gives the same to a sign.
    return tpsr, left * np.sign((left @ (data.importance @ data.tests)) * tpsr.start)[:, None]


@pytest.mark.parametrize('missing', [0, 2])
@pytest.mark.parametrize('how', ['tensor', 'batch', 'update', 'online'])
def test_predicts_as_bayes_does(how, missing):
    tpsr, left = {
        'tensor': lambda: in_batch(learn_by_tensor),
        'batch': lambda: in_batch(learn),
        'update': lambda: online(25),
        'online': lambda: online(1),
    }[how]()
    belief = TpsrBelief(tpsr)
    usual = np.linalg.matrix_power(TRANSITION, 500)[0]
    np.testing.assert_allclose(left.T @ belief.state, usual @ EMISSION, atol=1e-9)
    for seen, gap, expected in naive.follow_chain(TRANSITION, EMISSION, [missing] * 100):
        belief.update(seen)
        assert belief.accepted
        belief.skip(gap)
        np.testing.assert_allclose(left.T @ belief.state, expected, atol=1e-9)


WIDTH, CHANNELS, KEPT, SMALL_RIDGE = 4, 2, 5, 0.5
FEATURES = fourier_features(CHANNELS, 6, 1.5, seed=1)
WINDOWS = WithConstant(fourier_features(WIDTH * CHANNELS, 9, 3.0, seed=2))


def stretch(ticks: int, seed: int) -> np.ndarray:
    """Return noisy observations of a point on a circle: (T, 2)."""
    rng = np.random.default_rng(seed)
    angles = np.cumsum(0.3 + 0.05 * rng.standard_normal(ticks)) + seed
    circle = np.stack([np.cos(angles), np.sin(2.0 * angles)], axis=1)
    return np.asarray(circle + 0.1 * rng.standard_normal(circle.shape))


STRETCHES = [stretch(120, 0), stretch(2 * WIDTH, 1), stretch(90, 2)]


def learned(
    pieces: int = 1000, fold_every: int = 1, memory: float = math.inf
) -> module.WindowLearner:
    """Learn the stretches in pieces of so many ticks, keeping every direction."""
    settings = LearnerSettings(KEPT, WINDOWS.size, SMALL_RIDGE, memory, fold_every=fold_every)
    ours = module.WindowLearner(WINDOWS, FEATURES, WIDTH, settings, 1000)
    for seen in STRETCHES:
        ours.end_stretch()
        for begin in range(0, len(seen), pieces):
            ours.learn(seen[begin : begin + pieces])
    return ours


def naive_triples() -> tuple[Triples, list[int]]:
    """Collect windows with a loop over ticks, and the numbers of these ticks."""
    rows: list[tuple[np.ndarray, ...]] = []
    numbers = []
    for index, seen in enumerate(STRETCHES):
        begin = (index + 1) * module.SEAM + sum(map(len, STRETCHES[:index]))
        for tick in range(WIDTH, len(seen) - WIDTH):
            windows = [seen[first : first + WIDTH].T.ravel() for first in
                       (tick, tick + 1, tick - WIDTH)]  # fmt: skip
            test, next_test, history = WINDOWS.transform(np.array(windows))
            rows.append((test, next_test, history, FEATURES.transform(seen[tick][None])[0]))
            numbers.append(begin + tick)
    columns = [np.array(each) for each in zip(*rows, strict=True)]
    return Triples(*columns, np.ones(len(rows))), numbers


@pytest.mark.parametrize('fold_every', [1, 7])
@pytest.mark.parametrize('pieces', [1, 13, 1000])
def test_parameters_are_those_of_all_samples_at_once(pieces, fold_every):
    triples, numbers = naive_triples()
    ours = learned(pieces, fold_every=fold_every)
    np.testing.assert_array_equal(ours.remembered.numbers, numbers)
    np.testing.assert_allclose(ours.remembered.features, triples.observations, atol=1e-12)
    ours.learner.covariance.refresh()
    tpsr, _ = ours.parameters()
    wanted = learn_by_tensor(triples, np.eye(WINDOWS.size)[-1], KEPT, SMALL_RIDGE)
    found, expected = TpsrBelief(tpsr), TpsrBelief(wanted)
    for observation in FEATURES.transform(stretch(40, 3)):
        assert found.update(observation) == pytest.approx(expected.update(observation), abs=1e-8)


@pytest.mark.parametrize('memory', [math.inf, 60.0])
def test_weights_of_remembered_ticks_make_the_next_state(memory):
    """The mean of next tests under them is the next state, Boots & Gordon 2011, eq. 2 and 7c."""
    triples, _ = naive_triples()
    ours = learned(memory=memory)
    tpsr, table = ours.parameters()
    belief = RememberingBelief(tpsr, FEATURES, table, ours.remembered.features)
    directions = ours.learner.svd.across.rows[:KEPT]
    for observation in stretch(30, 4):
        belief.update(observation)
        assert belief.accepted
        mean = directions @ (triples.next_tests.T @ belief.weights)
        np.testing.assert_allclose(mean / (tpsr.normaliser @ mean), belief.state, atol=1e-8)
    # A filter does not die of a sample too far out for features.
    assert belief.update(np.full_like(observation, 1e30)) == 0.0
    assert not belief.accepted
    assert np.isfinite(belief.state).all()
    belief.update(observation)
    assert belief.accepted
    with pytest.raises(InputError):
        belief.update(observation[:-1])


def whole(svd: ThinSvd) -> np.ndarray:
    return svd.across.rows.T * svd.values @ svd.down.rows


def defect(svd: ThinSvd) -> float:
    return max(
        np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0)
        for rows in (svd.across.rows, svd.down.rows)
    )


@pytest.mark.parametrize('batch', [1, 3, PENDING + 4])
@pytest.mark.parametrize('size', [12, 1024, 1025])
def test_is_the_svd_of_the_weighted_sum_when_nothing_is_cut_off(size, batch):
    """Though its rows are turned late, and many columns in blocks."""
    rng = np.random.default_rng(0)
    svd, total = ThinSvd(size, 10, 10), np.zeros((size, 10))
    for _ in range(30):
        x, y = rng.normal(size=(batch, size)), rng.normal(size=(batch, 10))
        weights = rng.random(batch)
        svd.fold(x, y, weights, 0.9)
        total = 0.9 * total + (x * weights[:, None]).T @ y
    np.testing.assert_allclose(whole(svd), total, atol=1e-11 * np.abs(total).max())
    assert defect(svd) < 1e-11


@given(
    rank=strategies.integers(1, 6),
    batches=strategies.lists(strategies.integers(0, 9), min_size=1, max_size=5),
    seed=strategies.integers(0, 2**16),
)
def test_moves_show_how_the_bases_moved(rank, batches, seed):
    rng = np.random.default_rng(seed)
    svd = ThinSvd(7, 5, rank)
    for batch in batches:
        left, right = svd.across.rows.copy(), svd.down.rows.copy()
        x, y = rng.normal(size=(batch, 7)), rng.normal(size=(batch, 5))
        move = svd.fold(x, y, np.ones(batch))
        np.testing.assert_allclose(svd.across.coordinates(x), x @ svd.across.rows.T, atol=1e-12)
        np.testing.assert_allclose(svd.newest, y @ svd.down.rows.T, atol=1e-12)
        np.testing.assert_allclose(move.left, svd.across.rows @ left.T, atol=1e-12)
        np.testing.assert_allclose(move.right, svd.down.rows @ right.T, atol=1e-12)
        assert (np.diagonal(move.left) >= 0.0).all()
        assert (np.diff(svd.values) <= 0.0).all()
        assert defect(svd) < 1e-11


def test_directions_hardly_there_are_found_and_mended():
    rng = np.random.default_rng(3)
    svd, total = ThinSvd(20, 20, 9), np.zeros((20, 20))
    base = rng.normal(size=20)
    for fold in range(3):
        x = base + 3e-6 * rng.normal(size=(3, 20))
        y = rng.normal(size=(3, 20))
        left = svd.across.rows.copy()
        move = svd.fold(x, y, np.ones(3))
        assert len(svd.values) == 3 * (fold + 1)
        assert defect(svd) < 1e-14
        np.testing.assert_allclose(svd.newest, y @ svd.down.rows.T, atol=1e-9)
        np.testing.assert_allclose(move.left, svd.across.rows @ left.T, atol=1e-9)
        total += x.T @ y
        np.testing.assert_allclose(whole(svd), total, atol=1e-11)


def taught(
    triples: Triples, states: int = 4, ridge: float = 0.3, constant: float = 1.0
) -> OnlineLearner:
    learner = OnlineLearner(LearnerSettings(states, 8, ridge), constant * unit(8), 8, 5)
    learner.add_all(triples)
    return learner


def test_no_mode_of_the_transition_grows_and_the_start_is_normal():
    learner = taught(wandering(12))
    raw, tpsr = learner.transition(), learner.parameters()
    assert np.abs(np.linalg.eigvals(raw)).max() > 1.001
    assert np.abs(np.linalg.eigvals(tpsr.transition)).max() <= 1.0 + 1e-9
    assert tpsr.normaliser @ tpsr.start == pytest.approx(1.0)
    assert np.linalg.norm(tpsr.start) < tpsr.bound
    with pytest.raises(InputError, match='append a constant feature'):
        taught(wandering(200), constant=0.01).parameters()


def test_a_likelihood_keeps_its_size_however_long_was_learned():
    triples = wandering(500)
    sizes = []
    for scale in (1.0, 1e9):
        triples.importance[:] = scale
        tpsr = taught(triples).parameters()
        sizes.append(
            [tpsr.normaliser @ tpsr.operator(row) @ tpsr.start for row in triples.observations]
        )
    np.testing.assert_allclose(sizes[0], sizes[1], rtol=1e-6)
    assert 0.1 < np.mean(sizes[0]) < 10.0


TRIPLES = wandering(600)


@pytest.fixture
def begun() -> OnlineLearner:
    return taught(part(TRIPLES, 0, 400), states=5, ridge=3.0)


@pytest.fixture
def belief(begun: OnlineLearner) -> TpsrBelief:
    belief = TpsrBelief(begun.parameters())
    for row in TRIPLES.observations[:50]:
        belief.update(row)
    return belief


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 0.0, 1e200, 1e40])
def test_features_without_information_are_passed_over(belief, bad):
    expected = copy(belief)
    expected.skip(1)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert belief.update(np.full(5, bad)) == 0.0
    assert not belief.accepted
    np.testing.assert_array_equal(belief.state, expected.state)
    belief.update(TRIPLES.observations[50])
    assert belief.accepted


def test_a_contradiction_is_passed_over_and_a_state_that_cannot_be_starts_again(belief):
    # An operator that turns the sign of every likelihood: nothing could contradict more.
    tpsr = replace(belief.tpsr, operators=-belief.tpsr.operators)
    contradicted = TpsrBelief(tpsr)
    evidence = contradicted.update(TRIPLES.observations[50])
    assert evidence == pytest.approx(-0.5)
    assert evidence < SMALLEST_EVIDENCE
    assert not contradicted.accepted
    assert np.isfinite(contradicted.state).all()
    # No state is longer than the bound, and one that nothing normalises starts again.
    short, stuck = copy(belief), copy(belief)
    short.tpsr = replace(belief.tpsr, bound=0.99 * np.linalg.norm(belief.tpsr.start))
    short.update(TRIPLES.observations[50])
    assert not short.accepted
    stuck.tpsr = replace(belief.tpsr, transition=np.zeros((5, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        stuck.skip(1)
    for each in (short, stuck):
        np.testing.assert_array_equal(each.state, belief.tpsr.start)


def test_adopting_newer_parameters_moves_the_state_along(begun, belief):
    jumps, without = [], []
    for tick in range(400, 600):
        left, state = begun.svd.across.rows[:5].copy(), belief.state
        move = begun.add(*(array[tick] for array in vars(TRIPLES).values()))
        if move is not None:
            tpsr, rows = begun.parameters(), begun.svd.across.rows[:5]
            belief.adopt(tpsr, move)
            jumps.append(np.linalg.norm(rows.T @ belief.state - left.T @ state))
            without.append(np.linalg.norm((rows - left).T @ state))
            assert belief.tpsr is tpsr
        belief.update(TRIPLES.observations[tick])
    assert np.mean(jumps) < 0.05 * np.linalg.norm(belief.state)
    assert np.mean(jumps) < 0.5 * np.mean(without)
    move = begun.fold()
    belief.state = np.full(5, np.nan)
    belief.adopt(begun.parameters(), move)
    np.testing.assert_array_equal(belief.state, belief.tpsr.start)
