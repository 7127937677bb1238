"""Training from files: the same bits as in memory, whatever the file, the order and the interruptions."""

import gzip
import os

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt
from from_files import RNG, check_same, dump_svmlight_file, rows, same
from rosenblatt import FileError, fit, read
from rosenblatt.formats.contents import Inventory
from rosenblatt.formats.reading import in_bytes, make_reading
from rosenblatt.scale import fit_from_files as files
from rosenblatt.scale import row_cache as cache

pytestmark = pytest.mark.usefixtures("quiet", "small_blocks")


LEARNERS = [
    ("Perceptron", {}),
    ("Perceptron", {"bias_step": "radius", "margin": 0.5}),
    ("Perceptron", {"learning_rate": lambda epoch: 1 / epoch, "record_errors": True}),
    ("Perceptron", {"class_weight": "balanced", "learning_rate": "1/sqrt(t)"}),
    ("AveragedPerceptron", {"class_weight": {0: 2.5, 1: 0.5}}),
    ("PAUM", {}),
    ("PassiveAggressive", {"keep": "average", "bias_step": "radius"}),
    ("AROW", {"bias_step": 0.01}),
    ("SecondOrderPerceptron", {"covariance": "full"}),
]


@pytest.mark.parametrize("order", ["blocks", "cyclic"])
@pytest.mark.parametrize(("name", "settings"), LEARNERS, ids=lambda one: str(one)[:30])
def test_two_classes_to_the_bit(name, settings, order, svm):
    def make():
        return getattr(rosenblatt, name)(max_epochs=3, random_state=3, order=order, **settings)

    check_same(make, svm())


MINIMISERS = [
    ("LinearClassifier", {"solver": "stochastic"}),
    ("LinearClassifier", {"solver": "stochastic", "loss": "hinge", "penalty": "l1", "alpha": 1e-3}),
    ("LinearClassifier", {"solver": "stochastic", "penalty": None, "class_weight": "balanced"}),
    ("LinearClassifier", {"loss": "exponential", "penalty": "elasticnet", "learning_rate": "1/sqrt(t)"}),
    (
        "LinearClassifier",
        {"solver": "stochastic", "multiclass": "ovr", "tol": 0.2, "max_epochs": 30, "n_iter_no_change": 2},
    ),
    ("Pegasos", {}),
    ("Pegasos", {"project": True, "class_weight": {0: 2.5, 1: 0.5}, "alpha": 0.01}),
]


def check_objective(streamed, path):
    whole = type(streamed)(**streamed.get_params()).fit(*read(path))
    assert streamed.report_.objective == pytest.approx(whole.report_.objective)
    assert str(streamed.report_).splitlines()[0] == str(whole.report_).splitlines()[0]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("order", ["blocks", "cyclic"])
@pytest.mark.parametrize(("name", "settings"), MINIMISERS, ids=lambda one: str(one)[:30])
def test_objectives_to_the_bit(name, settings, order, classes, svm):
    def make():
        return getattr(rosenblatt, name)(**{"max_epochs": 3, **settings}, random_state=3, order=order)

    path = svm(classes=classes)
    streamed = check_same(make, path)
    check_objective(streamed, path)
    assert (streamed.report_.outcome == "stalled") == ("tol" in settings)


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_regressors_of_any_loss_to_the_bit(tmp_path, loss):
    path = tmp_path / "numbers.svm"
    X, _ = rows(150)
    dump_svmlight_file(X, X @ np.arange(30), path, zero_based=False)
    for order, most in (("blocks", 3), ("cyclic", 3), ("cyclic", 1)):
        settings = {"loss": loss, "max_epochs": most, "random_state": 3, "order": order}
        check_objective(check_same(lambda some=settings: rosenblatt.LinearRegressor(**some), path), path)


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("order", ["blocks", "cyclic"])
def test_a_tree_of_classes_to_the_bit(order, keep, svm, tmp_path):
    path, point = svm(classes=4), tmp_path / "point"

    def make(most=3, **settings):
        tree = [[0.0, 1.0], [2.0, 3.0]]
        return rosenblatt.HierarchicalPerceptron(
            tree, max_epochs=most, random_state=3, order=order, keep=keep, **settings
        )

    whole = check_same(make, path)
    check_same(lambda: make(1, record_errors=True, class_weight="balanced"), path)
    distance = make().fit(*read(path)).report_.tree_distance
    assert whole.report_.tree_distance == pytest.approx(distance)
    fit(make(2), path, checkpoint=point)
    same(whole, fit(make(), path, checkpoint=point, resume=True))


@pytest.mark.parametrize("order", ["blocks", "cyclic"])
@pytest.mark.parametrize("dense", [False, True])
def test_a_network_to_the_bit(order, dense, svm, tmp_path):
    path, point = svm(classes=4), tmp_path / "point"
    if dense:  # rows of a table have a value in every column
        X, y = read(path)
        path = tmp_path / "rows.csv"
        names = ",".join([*(f"c{j}" for j in range(X.shape[1])), "label"])
        np.savetxt(path, np.column_stack([X.toarray(), y]), delimiter=",", header=names, comments="", fmt="%.17g")
    settings = {"label": "label"} if dense else {}

    def make(most=3, **more):  # batches of 33 rows end where no piece does
        return rosenblatt.MultilayerPerceptron(
            (7, 5), batch_size=33, max_epochs=most, random_state=3, order=order, **more
        )

    whole = check_same(make, path, **settings)
    check_same(lambda: make(2, record_errors=True, class_weight="balanced", solver="sgd", alpha=0.1), path, **settings)
    assert whole.report_.loss == pytest.approx(make().fit(*read(path, **settings)).report_.loss)
    fit(make(2), path, checkpoint=point, **settings)
    same(whole, fit(make(), path, checkpoint=point, resume=True, **settings))
    slow = check_same(lambda: make(50, tol=1.0, n_iter_no_change=2), path, **settings)
    assert (slow.report_.outcome, slow.n_iter_) == ("stalled", 3)


def test_an_objective_goes_on_from_a_checkpoint(svm, tmp_path):
    path, point = svm(classes=3), tmp_path / "point"

    def make(most):
        return rosenblatt.LinearClassifier(
            solver="stochastic", max_epochs=most, random_state=0, tol=0.05, n_iter_no_change=2
        )

    whole = fit(make(40), path)
    assert whole.report_.outcome == "stalled"
    fit(make(whole.n_iter_ - 1), path, checkpoint=point)
    again = fit(make(40), path, checkpoint=point, resume=True)
    same(whole, again)
    assert again.report_.outcome == "stalled"


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@pytest.mark.parametrize("order", ["blocks", "cyclic"])
@pytest.mark.parametrize("name", ["AveragedPerceptron", "AROW"])
def test_many_classes_to_the_bit(name, order, multiclass, svm):
    def make():
        return getattr(rosenblatt, name)(max_epochs=3, random_state=3, order=order, multiclass=multiclass)

    check_same(make, svm(classes=4))


def test_until_it_converges_to_the_bit(tmp_path):
    path = tmp_path / "separable.svm"
    X, _ = rows(120)
    dump_svmlight_file(X, (X @ np.arange(30) > 0).astype(int), path, zero_based=True)
    for name in ("Perceptron", "PassiveAggressive"):
        model = check_same(lambda name=name: getattr(rosenblatt, name)(order="blocks", random_state=1), path)
        assert model.report_.outcome == "separated"


def test_a_class_left_out_to_the_bit(svm):
    def make():
        return rosenblatt.Perceptron(max_epochs=3, random_state=3, order="blocks", class_weight={2: 0.0})

    check_same(make, svm(classes=3))
    with pytest.raises(ValueError, match="leaves out a class"):
        fit(rosenblatt.PAUM(class_weight={2: 0.0}), svm(classes=3))


def test_labels_by_indicator_to_the_bit(tmp_path):
    path = tmp_path / "labels.svm"
    X, _ = rows(150)
    y = (X @ RNG.normal(size=(30, 3)) > 0).astype(int)
    dump_svmlight_file(X, sp.csr_matrix(y), path, multilabel=True, zero_based=False)
    for order in ("blocks", "cyclic"):
        for most in (1, 3):
            model = rosenblatt.AveragedPerceptron(max_epochs=most, random_state=3, order=order)
            streamed = fit(model, path)
            whole = rosenblatt.AveragedPerceptron(max_epochs=most, random_state=3, order=order).fit(*read(path))
            same(whole, streamed)
    with pytest.raises(ValueError, match="several labels"):
        fit(rosenblatt.Perceptron(class_weight="balanced"), path)
    with pytest.raises(ValueError, match="learns numbers"):
        fit(rosenblatt.PassiveAggressiveRegressor(), path)


def test_regression_to_the_bit(tmp_path):
    path = tmp_path / "numbers.svm"
    X, _ = rows(150)
    dump_svmlight_file(X, X @ np.arange(30), path, zero_based=False)
    for order in ("blocks", "cyclic"):
        check_same(
            lambda order=order: rosenblatt.PassiveAggressiveRegressor(max_epochs=3, random_state=3, order=order), path
        )
    with pytest.raises(ValueError, match="continuous"):
        fit(rosenblatt.Perceptron(), path)


@pytest.mark.parametrize("names", [False, True])
def test_tables_to_the_bit(tmp_path, names):
    path = tmp_path / "table.csv"
    X, y = rows(200, 6)
    lines = ["a,b,c,d,e,colour,label"]
    for x, label in zip(X.toarray(), y, strict=True):
        colour = ("red", "blue", "green")[int(abs(x[5]) * 7) % 3] if names else x[5]
        lines.append(",".join(map(repr, map(float, x[:5]))) + f",{colour},{('no', 'yes')[label]}")
    path.write_text("\n".join(lines) + "\n")
    for order in ("blocks", "cyclic"):
        for most in (1, 3):
            settings = {"max_epochs": most, "random_state": 3, "order": order}
            whole = rosenblatt.AveragedPerceptron(**settings).fit(*read(path))
            same(whole, fit(rosenblatt.AveragedPerceptron(**settings), path))


def test_text_and_many_files(tmp_path):
    words = ["a", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "runs", "away", "from", "it"]
    for part in range(3):
        lines = [f"{'spam' if k % 3 else 'ham'}\t{' '.join(RNG.choice(words, 9))}" for k in range(60)]
        (tmp_path / f"part-{part}.txt").write_text("\n".join(lines))
    pattern = str(tmp_path / "part-*.txt")
    how = {"format": "text", "n_features": 1 << 10, "ngrams": (1, 2)}
    whole = rosenblatt.Perceptron(max_epochs=3, random_state=3, order="blocks").fit(*read(pattern, **how))
    same(whole, fit(rosenblatt.Perceptron(max_epochs=3, random_state=3), pattern, **how))


def test_a_single_pass_in_order_needs_no_cache(svm):
    path = svm()
    model = fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), path)
    same(model, rosenblatt.Perceptron(max_epochs=1, order="cyclic").fit(*read(path)))
    assert [one.name for one in path.parent.iterdir()] == ["rows.svm"]
    assert model.report_.errors is None
    assert model.report_.rows == 250


def test_classes_that_are_given(svm, monkeypatch):
    path, looked = svm(classes=3), []
    through = files.preview_tasks
    monkeypatch.setattr(files, "preview_tasks", lambda *args: looked.append(1) or through(*args))
    X, y = read(path, n_features=40)
    for order, most in (("cyclic", 1), ("cyclic", 3), ("blocks", 2)):

        def make(order=order, most=most):
            return rosenblatt.AveragedPerceptron(max_epochs=most, order=order, random_state=3, class_weight={2: 0.5})

        whole = make()
        for _ in range(most):
            whole.partial_fit(X, y, classes=[0.0, 1.0, 2.0, 7.0])
        how = {"n_features": 40, "zero_based": False}
        streamed = fit(make(), path, classes=[7, 0, 1, 2], **how)
        same(whole, streamed)
        assert streamed.report_.rows == 250
        assert streamed.report_.epochs[-1].loss == pytest.approx(whole.report_.epochs[-1].loss)
        assert not looked
        with pytest.raises(ValueError, match=r"The label [012]\.0 is not one of the given classes"):
            fit(make().set_params(class_weight=None), path, classes=[0, 9], **how)
    fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), path, classes=[0, 1, 2, 7])


def test_a_pass_that_needs_no_scan(svm, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "preview_tasks", None)  # whoever calls it fails
    path, how = svm(), {"n_features": 30, "zero_based": False}
    model = fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), path, classes=[0, 1], **how)
    same(model, rosenblatt.Perceptron(max_epochs=1, order="cyclic").fit(*read(path)))
    numbers = fit(rosenblatt.PassiveAggressiveRegressor(max_epochs=1, order="cyclic"), path, **how)
    same(numbers, rosenblatt.PassiveAggressiveRegressor(max_epochs=1, order="cyclic").fit(*read(path)))
    assert model.report_.rows == numbers.report_.rows == 250
    words = tmp_path / "words.txt"
    words.write_text("ham\tsee you\nspam\tbuy this\n" * 40)
    spam = fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), words, classes=["spam", "ham"], n_features=64)
    assert spam.classes_.tolist() == ["ham", "spam"]
    words.write_text("ham\tsee you\nspammy\tbuy this\n")
    with pytest.raises(ValueError, match="The label 'spammy' is not one of"):
        fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), words, classes=["spam", "ham"], n_features=64)
    (tmp_path / "empty.svm").write_text("# nothing\n")
    with pytest.raises(FileError, match="expected rows, found none"):
        fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), tmp_path / "empty.svm", classes=[0, 1], **how)
    (tmp_path / "several.svm").write_text("0,1 1:1\n1 2:1\n")
    with pytest.raises(FileError, match="label"):
        fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), tmp_path / "several.svm", classes=[0, 1], **how)


def test_classes_that_cannot_be_given(svm, tmp_path):
    path = svm()
    with pytest.raises(ValueError, match="learns numbers: it has no classes"):
        fit(rosenblatt.PassiveAggressiveRegressor(), path, classes=[0, 1])
    with pytest.raises(ValueError, match="has none"):
        fit(rosenblatt.Perceptron(class_weight="balanced"), path, classes=[0, 1, 2])
    (tmp_path / "several.svm").write_text("0,1 1:1\n1 2:1\n")
    with pytest.raises(ValueError, match="these have several"):
        fit(rosenblatt.Perceptron(), tmp_path / "several.svm", classes=[0, 1])


def test_a_cache_is_used_again_until_the_file_changes(svm, monkeypatch, on_disk):
    path = svm()
    made = []
    convert = cache.convert
    monkeypatch.setattr(cache, "convert", lambda *args: made.append(1) or convert(*args))

    def learn():
        return fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), path)

    first = learn()
    same(first, learn())
    fit(rosenblatt.Perceptron(max_epochs=1, order="cyclic"), path)
    assert len(made) == 1
    about = path.stat()
    data = bytearray(path.read_bytes())
    data[0] ^= 1  # another label
    path.write_bytes(data)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # as if nothing had been written
    second = learn()
    assert len(made) == 2
    assert (second.coef_ != first.coef_).any()
    (kept,) = on_disk.glob("*.rbcache")
    data = bytearray(kept.read_bytes())
    data[-60] ^= 1  # the footer
    kept.write_bytes(data)
    same(second, learn())
    assert len(made) == 3
    data = bytearray(kept.read_bytes())
    data[20] ^= 1  # a block
    kept.write_bytes(data)
    with pytest.raises(FileError, match="damaged"):
        learn()
    kept.write_bytes(b"short")
    learn()
    assert len(made) == 4


def test_names_are_no_numbers_however_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.formats.contents.MAX_LABELS", 3)
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "".join(f"{k},n{k}\n" for k in range(9)))
    with pytest.raises(ValueError, match="labels are names"):
        fit(rosenblatt.PassiveAggressiveRegressor(), path)


def test_a_file_that_was_just_written_is_not_trusted(svm, monkeypatch, on_disk):
    monkeypatch.setattr(cache, "RACY", 10**15)
    path = svm()
    model = fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), path)
    assert model.n_iter_ == 2
    assert cache.fresh(path, make_reading(path)) is None


def test_a_cache_folder(svm, monkeypatch, tmp_path, on_disk):
    path = svm()
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    fit(rosenblatt.Perceptron(max_epochs=2), path)
    assert len(list((tmp_path / "caches").iterdir())) == 1
    monkeypatch.delenv("ROSENBLATT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    fit(rosenblatt.Perceptron(max_epochs=2), path)
    assert (tmp_path / "home" / "rosenblatt").stat().st_mode & 0o777 == 0o700  # rows are as private as their files
    assert len(list((tmp_path / "home" / "rosenblatt").iterdir())) == 1
    monkeypatch.setenv("ROSENBLATT_CACHE", str(path / "under-a-file"))
    with pytest.raises(FileError, match="cannot write"):
        fit(rosenblatt.Perceptron(max_epochs=2), path)


def test_compressed_files(svm):
    path = svm()
    packed = path.with_name("rows.svm.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    model = rosenblatt.Perceptron(max_epochs=2, random_state=0)
    same(fit(model, packed), fit(rosenblatt.Perceptron(max_epochs=2, random_state=0), path))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (rosenblatt.VotedPerceptron(), "every row that made an update"),
        (rosenblatt.Perceptron(keep="pocket"), "pocket"),
        (rosenblatt.Perceptron(update="batch"), "batch"),
        (rosenblatt.Perceptron(order="random"), "needs random access"),
        (rosenblatt.Perceptron(order=[1, 2]), "needs random access"),
        (rosenblatt.Perceptron(early_stopping=True), "early_stopping"),
        (rosenblatt.Perceptron(class_weight={0: 0.0, 1: 0.0}), "zero on every row"),
        (rosenblatt.LinearClassifier(solver="batch"), "LinearClassifier .* batch solver needs all rows"),
        (rosenblatt.Pegasos(batch_size=5), "Pegasos .* must not end where a part"),
        (rosenblatt.Pegasos(class_weight={0: 0.0}), "leaves out a class"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_files_cannot_teach_is_refused(model, match, svm):
    with pytest.raises(ValueError, match=match):
        fit(model, svm())
    assert not hasattr(model, "n_features_in_")


IN_MEMORY = {
    "VotedPerceptron": "every row that made an update",
    "KernelPerceptron": "its support may be the whole file",
    "KernelSVM": "its dual needs all rows",
    "LinearSVM": "its dual needs all rows",
    "MarkI": "the thresholds of its units",
    "SequencePerceptron": "needs a template to learn from files",
}
EVERY = [
    name
    for name in rosenblatt.__all__
    if hasattr(getattr(rosenblatt, name), "get_params") and name != "GridSearchCV"  # which needs an estimator
]


@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_learns_from_files_as_in_memory_or_says_why_not(name, svm):
    path = svm(classes=3)

    def make():
        model = getattr(rosenblatt, name)()
        few = {"random_state": 3, "max_epochs": 3, "order": "cyclic"}
        return model.set_params(**{key: few[key] for key in few.keys() & model.get_params().keys()})

    model = make()
    if name in IN_MEMORY:
        with pytest.raises(ValueError, match=f"^{name} .*{IN_MEMORY[name]}.*: use fit, in memory"):
            fit(model, path)
    elif not hasattr(model, "partial_fit"):
        why = "Tagger learns from sentences" if name == "Tagger" else f"online learners from files; {name} is not"
        with pytest.raises(TypeError, match=why):
            fit(model, path)
    else:
        check_same(make, path)
        return
    assert vars(model) == vars(make())


def test_settings_that_make_no_sense(svm):
    path, model = svm(), rosenblatt.Perceptron()
    for wrong in ({"memory": "1MB"}, {"memory": "lots"}, {"shards": 0}, {"n_jobs": 2}, {"resume": True}, {"colour": 1}):
        with pytest.raises(ValueError, match=r"\w"):
            fit(model, path, **wrong)
    for other in (object(), rosenblatt.RandomWiring()):
        with pytest.raises(TypeError, match="online learners"):
            fit(other, path)
    empty = path.with_name("empty.svm")
    empty.write_text("# nothing\n\n")
    for settings in ({}, {"order": "cyclic", "max_epochs": 1}):
        with pytest.raises(FileError, match="expected rows, found none"):
            fit(rosenblatt.Perceptron(**settings), empty)
    one = path.with_name("one.svm")
    one.write_text("1 1:1\n1 1:2\n")
    with pytest.raises(ValueError, match="at least 2 classes"):
        fit(model, one)
    assert in_bytes(5) == 5
    assert in_bytes("1.5 KiB") == 1536
    assert in_bytes("9" * 400) == int("9" * 400)


def test_too_many_labels_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.formats.contents.MAX_LABELS", 10)
    path = tmp_path / "many.svm"
    path.write_text("".join(f"{k} 1:{k}\n" for k in range(30)))
    with pytest.raises(ValueError, match="too many different labels"):
        fit(rosenblatt.Perceptron(), path)
    facts = Inventory()
    assert facts.contents(make_reading(path)).labels is None
