"""The order of visits: a permutation each epoch, any piece of it from (seed, epoch) alone."""

from itertools import pairwise

import numpy as np
import pytest

from rosenblatt import Perceptron
from rosenblatt.learn import orders
from rosenblatt.learn.orders import Cyclic, Explicit, Random, Shuffled

# Up to 4096 rows a shuffle is made in an array, above it place by place: both sides of that border, powers of two and
# their neighbours (the network's domain is the next product a·2^k), and a prime.
SIZES = [1, 2, 3, 5, 16, 31, 100, 1000, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 12289, 16384, 65537, 100_000]
compiled_only = [pytest.param(1_000_003, marks=pytest.mark.compiled)]


@pytest.mark.parametrize("n", SIZES + compiled_only)
def test_a_shuffle_visits_every_row_once(n):
    for epoch in (0, 1) if n < 20_000 else (2,):
        visited = Shuffled(n, seed=5).piece(epoch, 0, n)
        assert visited.dtype == np.uint64
        assert np.array_equal(np.sort(visited), np.arange(n))


@pytest.mark.parametrize("n", [4097, 12289, 65537])
def test_words_of_32_and_of_64_bits_give_the_same_permutation(n, monkeypatch):
    narrow = Shuffled(n, seed=3).piece(1, 0, n)
    monkeypatch.setattr(orders, "MOST_OF_32_BITS", 0)
    assert np.array_equal(Shuffled(n, seed=3).piece(1, 0, n), narrow)


@pytest.mark.parametrize("n", [1, 7, 300, 4097, 9000])
@pytest.mark.parametrize("kind", [Shuffled, Random])
def test_pieces_are_parts_of_the_whole(kind, n):
    order = kind(n, seed=11)
    whole = order.piece(3, 0, n)
    cuts = sorted({0, 1, n // 3, n // 2, n - 1, n})
    pieces = [order.piece(3, begin, end) for begin, end in pairwise(cuts)]
    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("n", [200, 6000])
@pytest.mark.parametrize("kind", [Shuffled, Random])
def test_the_order_depends_on_seed_and_epoch_alone(kind, n):
    def order(seed, epoch):
        return kind(n, seed).piece(epoch, 0, n)

    first = order(1, 4)
    order(2, 9)  # what else was asked for leaves no trace
    assert np.array_equal(order(1, 4), first)
    others = [order(1, 5), order(2, 4), order(4, 1)]
    # Two random orders of n rows agree at about one place.
    assert max(np.count_nonzero(other == first) for other in others) < 12


def chi_square(observed, expected):
    """The statistic, in standard deviations above its mean: Wilson and Hilferty's cube root is close to normal."""
    observed = np.asarray(observed, dtype=np.float64).ravel()
    freedom = observed.size - 1
    statistic = ((observed - expected) ** 2 / expected).sum()
    return ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))


@pytest.mark.parametrize("by", ["epoch", "seed"])
def test_every_permutation_of_four_is_equally_likely(by):
    rounds = 4800
    counts = {}
    for k in range(rounds):
        seed, epoch = (9, k) if by == "epoch" else (k, 0)
        visited = tuple(Shuffled(4, seed).piece(epoch, 0, 4).tolist())
        counts[visited] = counts.get(visited, 0) + 1
    assert len(counts) == 24
    assert abs(chi_square(list(counts.values()), rounds / 24)) < 3.5


@pytest.mark.parametrize(("n", "rounds"), [(7, 3000), (40, 2000)])
def test_every_row_is_equally_likely_in_every_place(n, rounds):
    places = np.zeros((n, n))
    for epoch in range(rounds):
        places[np.arange(n), Shuffled(n, 3).piece(epoch, 0, n).astype(int)] += 1
    assert abs(chi_square(places, rounds / n)) < 3.5


@pytest.mark.compiled
@pytest.mark.parametrize("n", [4097, 5000, 40_000])
def test_a_large_shuffle_spreads_rows_evenly(n):
    """Where blocks of neighbouring rows go, and how far apart they land: no trace of the input order."""
    blocks = 16
    where, steps, rounds = np.zeros((blocks, blocks)), np.zeros(blocks), 60
    for epoch in range(rounds):
        visited = Shuffled(n, 21).piece(epoch, 0, n).astype(np.int64)
        np.add.at(where, (np.arange(n) * blocks // n, visited * blocks // n), 1)
        steps += np.bincount((np.diff(visited) % n) * blocks // n, minlength=blocks)
    sizes = np.bincount(np.arange(n) * blocks // n, minlength=blocks)
    expected = rounds * np.outer(sizes, sizes) / n
    # Rows are drawn without replacement, so counts vary less than independent ones: only too much is a fault.
    assert chi_square(where / expected * expected.mean(), expected.mean()) < 3.5
    assert abs(chi_square(steps, steps.sum() / blocks)) < 4


def test_random_draws_with_replacement_evenly():
    n, rounds = 50, 400
    drawn = np.concatenate([Random(n, 13).piece(epoch, 0, n) for epoch in range(rounds)]).astype(np.int64)
    counts = np.bincount(drawn, minlength=n)
    assert counts.size == n
    assert drawn.min() >= 0
    assert abs(chi_square(counts, rounds)) < 3.5
    # An epoch leaves out (1 − 1/n)^n of the rows, some 36 %: it is no permutation.
    seen = np.mean([np.unique(epoch).size for epoch in drawn.reshape(rounds, n)]) / n
    assert seen == pytest.approx(1 - (1 - 1 / n) ** n, abs=0.01)


def test_random_draws_are_independent_from_one_to_the_next():
    n = 8
    drawn = np.concatenate([Random(n, 2).piece(epoch, 0, n) for epoch in range(2000)]).astype(np.int64)
    pairs = np.bincount(drawn[:-1] * n + drawn[1:], minlength=n * n)
    assert abs(chi_square(pairs, pairs.sum() / n**2)) < 3.5


def test_cyclic_and_explicit_orders_are_what_they_say():
    assert Cyclic(5).piece(7, 1, 4).tolist() == [1, 2, 3]
    rows = np.array([4, 4, 0], dtype=np.uint64)
    assert Explicit(rows).size == 3
    assert Explicit(rows).piece(2, 1, 3).tolist() == [4, 0]


@pytest.mark.parametrize("order", ["shuffle", "random"])
def test_a_model_is_the_same_for_the_same_seed_only(order):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)

    def coef(seed):
        with pytest.warns(match="budget"):
            return Perceptron(order=order, max_epochs=3, random_state=seed).fit(X, y).coef_

    assert np.array_equal(coef(4), coef(4))
    assert not np.array_equal(coef(4), coef(5))
