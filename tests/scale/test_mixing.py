"""Shards that learn side by side: mixing against its slow twin, and the same bits for any number of threads."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from mixing_cases import _quiet, parts, rows  # noqa: F401 (fixtures)
from sklearn import datasets

import reference as twin
import rosenblatt
from from_files import same
from rosenblatt import FileError, fit
from rosenblatt.planes.mixing import MIXINGS
from rosenblatt.scale.shards import cut_up, file_groups

# -- against the slow twin -------------------------------------------------------------------------------------------


def mix_slowly(shards, rule, *, scheme, classes, mixing, epochs, d):
    """Iterative parameter mixing with an average, in fractions: the last w, the averaged w, mistakes of each shard."""
    K = classes if scheme != "one" else 1
    w, b = [[Fraction(0)] * d for _ in range(K)], [Fraction(0)] * K
    sum_w, sum_b, clock, made = [[Fraction(0)] * d for _ in range(K)], [Fraction(0)] * K, Fraction(0), []
    for _ in range(epochs):
        ends, counts = [], []
        for X, truth in shards:
            how = {"scheme": scheme, "classes": classes, "start": (w, b), "epochs": 1, "stop": False}
            last = twin.train(X, truth, rule, keep="last", **how)
            mean = twin.train(X, truth, rule, keep="average", **how)
            ends.append((last.coef, last.intercept, mean.coef, mean.intercept, len(X)))
            counts.append(sum(last.updates))
        made.append(tuple(counts))
        shares = [Fraction(1, len(shards))] * len(shards)
        if mixing == "mistakes" and sum(counts):
            shares = [Fraction(k, sum(counts)) for k in counts]
        w = [[sum(mu * end[0][k][j] for mu, end in zip(shares, ends, strict=True)) for j in range(d)] for k in range(K)]
        b = [sum(mu * end[1][k] for mu, end in zip(shares, ends, strict=True)) for k in range(K)]
        for k in range(K):
            sum_b[k] += sum(mu * end[4] * end[3][k] for mu, end in zip(shares, ends, strict=True))
            for j in range(d):
                sum_w[k][j] += sum(mu * end[4] * end[2][k][j] for mu, end in zip(shares, ends, strict=True))
        clock += sum(mu * end[4] for mu, end in zip(shares, ends, strict=True))
    average = [[one / clock for one in row] for row in sum_w], [one / clock for one in sum_b]
    return (w, b), average, tuple(made)


@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize(("classes", "multiclass"), [(2, "multinomial"), (3, "multinomial"), (3, "ovr")])
def test_mixing_is_its_slow_twin(classes, multiclass, mixing):
    X, y = rows(57, classes=classes)  # shards of 19, 19, 19 rows
    scheme = "one" if classes == 2 else multiclass
    fractions = [[Fraction(float(one)) for one in row] for row in X]
    truth = [2 * int(label) - 1 for label in y] if classes == 2 else [int(label) for label in y]
    shards = [(fractions[a : a + 19], truth[a : a + 19]) for a in (0, 19, 38)]
    (w, b), (mean_w, mean_b), made = mix_slowly(
        shards, twin.Perceptron(), scheme=scheme, classes=classes, mixing=mixing, epochs=4, d=6
    )
    for sparse in (False, True):
        for keep, coef, intercept in (("last", w, b), ("average", mean_w, mean_b)):
            model = rosenblatt.Perceptron(order="cyclic", keep=keep, max_epochs=4, multiclass=multiclass)
            fit(model, (sp.csr_matrix(X) if sparse else X, y), shards=3, mixing=mixing)
            np.testing.assert_allclose(model.coef_, np.array(coef, dtype=float), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(model.intercept_, np.array(intercept, dtype=float), rtol=1e-12, atol=1e-12)
            assert model.report_.sharding.mistakes == made
            assert model.report_.updates == sum(map(sum, made))


def test_shards_of_different_lengths_share_one_average():
    """The sum of iterates is that of the mean path: Σ μ_i Σ_t w_t, over Σ μ_i N_i visits."""
    X, y = rows(50)
    truth = [2 * int(label) - 1 for label in y]
    fractions = [[Fraction(float(one)) for one in row] for row in X]
    bounds = [50 * k // 4 for k in range(5)]  # 12, 13, 12, 13
    shards = [(fractions[a:b], truth[a:b]) for a, b in itertools.pairwise(bounds)]
    for mixing in MIXINGS:
        _, (w, b), made = mix_slowly(shards, twin.Perceptron(), scheme="one", classes=2, mixing=mixing, epochs=5, d=6)
        model = rosenblatt.AveragedPerceptron(order="cyclic", max_epochs=5)
        fit(model, (X, y), shards=4, mixing=mixing)
        assert model.report_.sharding.mistakes == made
        np.testing.assert_allclose(model.coef_, np.array(w, dtype=float), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, np.array(b, dtype=float), rtol=1e-12, atol=1e-12)


def arow_slowly(shards, r, epochs, mixing):
    """AROW with a full covariance, the bias as a last feature, mixed by precision."""
    d = shards[0][0].shape[1] + 1
    w, S = np.zeros(d), np.eye(d)
    for _ in range(epochs):
        ends = []
        for X, truth in shards:
            mine, cov, made = w.copy(), S.copy(), 0
            for x, y in zip(np.column_stack([X, np.ones(len(X))]), truth, strict=True):
                lack = 1 - y * (mine @ x)
                if lack > 0:
                    Sx = cov @ x
                    beta = 1 / (x @ Sx + r)
                    mine = mine + lack * beta * y * Sx
                    cov = cov - beta * np.outer(Sx, Sx)
                    made += 1
            ends.append((mine, np.linalg.inv(cov), made))
        total = sum(end[2] for end in ends)
        shares = [1 / len(ends) if mixing == "uniform" else end[2] / total for end in ends]
        P = sum(mu * end[1] for mu, end in zip(shares, ends, strict=True))
        w = np.linalg.solve(P, sum(mu * end[1] @ end[0] for mu, end in zip(shares, ends, strict=True)))
        S = np.linalg.inv(P)
    return w


@pytest.mark.parametrize("mixing", MIXINGS)
def test_arow_is_mixed_by_precision(mixing):
    X, y = rows(60)
    truth = 2 * y - 1
    w = arow_slowly([(X[a : a + 20], truth[a : a + 20]) for a in (0, 20, 40)], 1.0, 3, mixing)
    model = fit(rosenblatt.AROW(order="cyclic", covariance="full", max_epochs=3), (X, y), shards=3, mixing=mixing)
    np.testing.assert_allclose([*model.coef_[0], model.intercept_[0]], w, rtol=1e-8, atol=1e-10)


def test_a_diagonal_covariance_is_the_full_one_where_features_do_not_meet():
    X, y = np.zeros((24, 4)), np.zeros(24, int)
    rng = np.random.default_rng(0)
    for i in range(24):  # each row has one feature: Σ stays diagonal
        X[i, i % 4], y[i] = rng.integers(1, 4) * (2 * (i % 3 == 0) - 1), i % 3 == 0
    for kind in (rosenblatt.AROW, rosenblatt.SecondOrderPerceptron):
        for mixing in MIXINGS:
            models = [
                fit(
                    kind(order="cyclic", covariance=covariance, fit_intercept=False, max_epochs=3),
                    (X, y),
                    shards=3,
                    mixing=mixing,
                )
                for covariance in ("diagonal", "full")
            ]
            np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-8, atol=1e-10)


# -- what holds for every learner ------------------------------------------------------------------------------------

LEARNERS = [
    ("Perceptron", {}),
    ("Perceptron", {"bias_step": "radius", "margin": 0.5, "record_errors": True}),
    ("Perceptron", {"class_weight": "balanced", "learning_rate": "1/sqrt(t)", "order": "random"}),
    ("AveragedPerceptron", {"class_weight": {0: 2.5, 1: 0.5}}),
    ("AveragedPerceptron", {"multiclass": "ovo"}),
    ("PAUM", {}),
    ("PassiveAggressive", {"keep": "average", "multiclass": "ovr"}),
    ("AROW", {}),
    ("AROW", {"covariance": "full", "bias_step": 0.1}),
    ("SecondOrderPerceptron", {"bias_step": 0.1}),
    ("SecondOrderPerceptron", {"covariance": "full"}),
    ("LinearClassifier", {"solver": "stochastic"}),
    ("LinearClassifier", {"solver": "stochastic", "loss": "hinge", "penalty": "l1", "alpha": 1e-3}),
    ("Pegasos", {}),
    ("PassiveAggressiveRegressor", {}),
    ("LinearRegressor", {"solver": "stochastic"}),
    ("LinearRegressor", {"solver": "stochastic", "loss": "epsilon_insensitive"}),
]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("name", "settings"), LEARNERS, ids=lambda one: str(one)[:30])
def test_any_number_of_threads_gives_the_same_bits(name, settings, classes, parts):
    X, y = rows(120, classes=classes)
    source = parts(X, y, 4)

    def learn(n_jobs=1, source=source, mixing="uniform", **how):
        model = getattr(rosenblatt, name)(**{"max_epochs": 3, "random_state": 3, **settings})
        return fit(model, source, shards=4, n_jobs=n_jobs, mixing=mixing, **how)

    one = learn()
    same(one, learn(n_jobs=3))
    same(one, learn(source=(sp.csr_matrix(X), y)))
    assert one.report_.sharding.rows == (30, 30, 30, 30)
    assert len(one.report_.sharding.mistakes) == one.n_iter_ == 3
    assert one.report_.updates == sum(map(sum, one.report_.sharding.mistakes))
    by_mistakes = learn(mixing="mistakes")
    assert by_mistakes.score(X, y) > (0 if name.endswith("Regressor") else 1 / classes)
    assert "4 shards" in str(one.report_)


def test_threads_share_the_rows_of_one_file(parts):
    X, y = rows(101, classes=3)
    source = parts(X, y, 1)
    models = [
        fit(rosenblatt.AveragedPerceptron(max_epochs=3, random_state=0), source, shards=7, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    ]
    same(*models)
    assert models[0].report_.sharding.rows == tuple(101 * (k + 1) // 7 - 101 * k // 7 for k in range(7))
    same(models[0], fit(rosenblatt.AveragedPerceptron(max_epochs=3, random_state=0), (sp.csr_matrix(X), y), shards=7))


def test_files_are_dealt_out(parts):
    X, y = rows(100)
    source = parts(X, y, 10)
    model = fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), source, shards=3)
    assert model.report_.sharding.rows == (30, 30, 40)
    model = fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), source, shards=13)
    assert model.report_.sharding.rows == (5, 5) * 3 + (10,) * 7
    groups = file_groups(["a", "b"], 5)
    assert [one.name for one in cut_up(groups, [1, 6], 5)[0]] == ["a [3/3]", "b [1/2]", "b [2/2]"]


def test_single_precision_stays_single():
    X, y = rows(60, classes=3)
    single = fit(rosenblatt.AveragedPerceptron(max_epochs=3, random_state=0), (X.astype(np.float32), y), shards=3)
    double = fit(rosenblatt.AveragedPerceptron(max_epochs=3, random_state=0), (X, y), shards=3)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-4, atol=1e-5)


def test_a_separable_set_is_separated_within_the_distributed_bound():
    X, _ = rows(80)
    y = (X @ [3, -1, 2, 1, 0, 1] > 0.5).astype(int)
    for mixing in MIXINGS:
        for kind in (rosenblatt.Perceptron, rosenblatt.AveragedPerceptron, rosenblatt.PAUM):
            report = fit(kind(random_state=0), (X, y), shards=5, mixing=mixing).report_
            assert report.outcome == "separated"
            assert report.updates <= report.bound
            assert report.sharding.weighted <= report.bound / 5
            assert report.sharding.weighted >= report.updates / 5 * (1 - 1e-12)
        report = fit(rosenblatt.PassiveAggressive(random_state=0), (X, y), shards=5, mixing=mixing).report_
        assert (report.outcome, report.errors, report.bound) == ("separated", 0, None)


def test_the_budget_may_end_with_every_row_right():
    X, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), [1, 0, 1, 0]
    report = fit(rosenblatt.Perceptron(max_epochs=1, fit_intercept=False, order="cyclic"), (X, y), shards=2).report_
    assert (report.outcome, report.errors) == ("separated", 0)


def test_a_class_that_one_shard_has_and_a_pair_that_none_has(parts):
    X, y = rows(90, classes=3)
    y = np.sort(y)  # each file has one class or two, none has 0 and 2
    source = parts(X, y, 9)
    for multiclass in ("multinomial", "ovr", "ovo"):
        model = fit(
            rosenblatt.AveragedPerceptron(max_epochs=20, random_state=0, multiclass=multiclass), source, shards=9
        )
        assert model.classes_.tolist() == [0, 1, 2]
        if multiclass != "ovo":
            assert set(model.predict(X)) == {0, 1, 2}


def test_a_class_left_out():
    X, y = rows(90, classes=3)
    learn = rosenblatt.Perceptron(max_epochs=3, random_state=0, class_weight={2: 0.0})
    model = fit(learn, (X, np.sort(y)), shards=9)
    assert model.report_.rows == np.count_nonzero(y != 2)


def test_several_labels_a_row(tmp_path):
    X, _ = rows(80)
    Y = (X @ np.random.default_rng(1).normal(size=(6, 3)) > 0).astype(int)
    Y[40:, 0] = 0  # a label that the first half alone has
    for k in range(2):
        datasets.dump_svmlight_file(
            X[40 * k : 40 * k + 40], Y[40 * k : 40 * k + 40], str(tmp_path / f"{k}.svm"), multilabel=True
        )
    model = fit(rosenblatt.AveragedPerceptron(max_epochs=5, random_state=0), str(tmp_path / "*.svm"), shards=2)
    assert model.predict(X).shape == (80, 3)
    assert (model.predict(X) == Y).mean() > 0.8


def test_where_columns_start_is_decided_by_all_files(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n0 2:1\n")
    (tmp_path / "b.svm").write_text("1 0:2\n0 2:1\n")
    (tmp_path / "c.svm").write_text("# nothing\n")
    model = fit(rosenblatt.Perceptron(max_epochs=1), str(tmp_path / "*.svm"), shards=3)
    assert (model.n_features_in_, model.reading_.zero_based, model.report_.sharding.rows) == (3, True, (2, 2))
    with pytest.raises(FileError, match=r"[ab]\.svm.*expected 2 features"):
        fit(rosenblatt.Perceptron(), str(tmp_path / "*.svm"), shards=3, n_features=2)
    with pytest.raises(FileError, match=r"c\.svm.*no"):
        fit(rosenblatt.Perceptron(), str(tmp_path / "c.svm"), shards=3)


@pytest.mark.parametrize("categorical", ["onehot", "hash"])
def test_tables_agree_on_their_columns(tmp_path, categorical):
    for k, (colours, labels) in enumerate([(["red", "blue"], ["no", "yes"]), (["green", "red"], ["yes", "maybe"])]):
        lines = [f"{i},{colours[i % 2]},{labels[i % 2]}" for i in range(20)]
        (tmp_path / f"{k}.csv").write_text("\n".join(["size,colour,label", *lines]) + "\n")
    source = str(tmp_path / "*.csv")
    model = fit(rosenblatt.Perceptron(max_epochs=3), source, shards=2, categorical=categorical)
    whole = fit(rosenblatt.Perceptron(max_epochs=3), source, categorical=categorical)
    assert model.reading_ == whole.reading_
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    (tmp_path / "2.csv").write_text("size,label\n1,no\n")
    with pytest.raises(FileError, match=r"2\.csv.*expected the columns"):
        fit(rosenblatt.Perceptron(), source, shards=3, categorical=categorical)
