"""Pictures: what they show, not only that they are there."""

import builtins
import gc
import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import rosenblatt as rb
from rosenblatt.plot import drawing
from rosenblatt.plot.convex_hulls import hull_corners
from rosenblatt.plot.mistake_curve import MistakesDisplay

CUHK = np.array([[1, 0], [0, -1], [0, 1], [-1, 0]], dtype=float), np.array([1, -1, 1, -1])
XOR = np.array([[0, 0], [1, 1], [0, 1], [1, 0]], dtype=float), np.array([0, 0, 1, 1])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def model():
    return rb.Perceptron(fit_intercept=False, order="cyclic", record_errors=True).fit(*CUHK)


@pytest.fixture
def run():
    return rb.trace(*CUHK, fit_intercept=False)


def drawn(axes):
    """The picture as pixels: it was rendered, and not as a blank."""
    axes.figure.canvas.draw()
    pixels = np.asarray(axes.figure.canvas.buffer_rgba())
    assert pixels.std() > 1
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    return pixels


def test_regions(model):
    shown = rb.plot.regions(model, *CUHK)
    assert shown.margin == pytest.approx(np.sqrt(0.5))
    assert shown.support.tolist() == [0, 1, 2, 3]
    across, up = shown.grid
    assert shown.codes[-1, -1] == 1  # above the line x₁ + x₂ = 0
    assert shown.codes[0, 0] == 0
    agree = (across[None, :] + up[:, None] > 0) == (shown.codes == 1)
    assert agree.mean() > 0.99
    x, y = shown.ax_.get_lines()[0].get_data()
    assert np.allclose(x + y, 0)
    for dashed, sign in zip(shown.ax_.get_lines()[1:3], (1, -1), strict=True):
        x, y = dashed.get_data()
        assert np.allclose((x + y) / np.sqrt(2), sign * shown.margin)
    drawn(shown.ax_)
    assert rb.plot.regions(model, *CUHK, ax=shown.ax_).ax_ is shown.ax_


def test_regions_of_other_models():
    X, y = XOR
    three = rb.Perceptron(order="cyclic").fit([[0, 0], [3, 0], [0, 3]], [0, 1, 2])
    shown = rb.plot.regions(three, [[0, 0], [3, 0], [0, 3]], [0, 1, 2])
    assert set(np.unique(shown.codes)) == {0, 1, 2}
    assert shown.margin is None
    voted = rb.VotedPerceptron(order="cyclic", max_epochs=2).fit(*CUHK)
    assert rb.plot.regions(voted, *CUHK).coef is None
    wrong = LogisticRegression().fit(X, [0, 1, 1, 1])
    shown = rb.plot.regions(wrong, X, y)
    assert shown.margin < 0
    assert "wrong side" in shown.ax_.get_title()
    with pytest.raises(ValueError, match="two features"):
        rb.plot.regions(wrong, [[1, 2, 3]], [0])


def test_slack():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]), np.array([0, 1, 0, 1])
    model = rb.LinearSVM(C=1.0, random_state=0).fit(X, y)
    shown = rb.plot.regions(model, X, y, slack=True)
    f = model.decision_function(X) * [-1, 1, -1, 1]
    assert np.allclose(shown.slack, np.maximum(0, 1 - f))
    (w,), (b,) = model.coef_, model.intercept_
    for line, side in zip(shown.ax_.get_lines()[1:3], (-1, 1), strict=True):
        assert np.allclose(np.column_stack(line.get_data()) @ w + b, -side)
    segments = shown.ax_.get_lines()[3:]
    assert len(segments) == np.count_nonzero(shown.slack)
    for line, row in zip(segments, np.flatnonzero(shown.slack), strict=True):
        begin, end = np.column_stack(line.get_data())
        assert begin.tolist() == X[row].tolist()
        assert (end @ w + b) * (1 if y[row] else -1) == pytest.approx(1)
    assert "short of y·f = 1" in shown.ax_.get_title()
    drawn(shown.ax_)
    three = rb.Perceptron(order="cyclic").fit([[0, 0], [3, 0], [0, 3]], [0, 1, 2])
    with pytest.raises(ValueError, match="one plane between two classes"):
        rb.plot.regions(three, [[0, 0], [3, 0], [0, 3]], [0, 1, 2], slack=True)


def test_surface(run):
    X, y = [[-2, 3], [-1, -1], [2, -3]], [1, -1, 1]
    flat = rb.plot.surface(X, y, "zero_one")
    assert set(np.unique((3 * flat.values).round(9))) <= {1, 2, 3}  # the lecture's case: one to three errors
    sloping = rb.plot.surface(X, y, reach=1.0)
    i, j = 100, 30
    w = np.array([sloping.w1[j], sloping.w2[i]])
    expected = np.mean(np.maximum(0, -np.array([1, -1, 1]) * (np.array(X) @ w)))
    assert sloping.values[i, j] == pytest.approx(expected)
    assert sloping.values[79:81, 79:81].max() < 0.05  # the criterion is 0 at w = 0
    drawn(sloping.ax_)
    walked = rb.plot.surface(trace=run)
    assert walked.path.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert walked.w1[-1] == 1.25
    assert walked.ax_.get_lines()[0].get_xdata().tolist() == [0, 1, 1]
    drawn(walked.ax_)
    for options, match in [
        ((X, y, "squared"), "not among"),
        ((X, y, "nothing"), "not among"),
        ((X, [0, 1, 2]), "two classes; y has 3"),
        (([[1, 2, 3]], [0]), "two features"),
    ]:
        with pytest.raises(ValueError, match=match):
            rb.plot.surface(*options)
    with pytest.raises(ValueError, match="one plane"):
        rb.plot.surface(trace=rb.trace([[0, 0], [3, 0], [0, 3]], [0, 1, 2]))


def test_normalised(model):
    shown = rb.plot.normalised(*CUHK, model=model)
    assert shown.turned.tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert (shown.turned @ shown.coef > 0).all()
    assert shown.ax_.get_title() == "all rows on one side"
    drawn(shown.ax_)
    turned, _, plain = shown.ax_.collections
    assert turned.get_facecolor().size == 0  # a ring, in which a row at the same place is seen
    assert sorted(map(tuple, turned.get_offsets())) == sorted(map(tuple, plain.get_offsets()))
    assert rb.plot.normalised(*XOR).coef is None
    wrong = rb.Perceptron(fit_intercept=False, order="cyclic", max_epochs=2).fit([[-2, 3], [2, -3.0]], [1, 1 - 2])
    turned = rb.plot.normalised([[-2, 3], [2, -3.0], [-2, 3]], [1, -1, -1], model=wrong)
    assert turned.ax_.get_title() == "1 of 3 rows on the wrong side"
    with pytest.raises(ValueError, match="fit_intercept=False"):
        rb.plot.normalised(*XOR, model=rb.Perceptron(order="cyclic").fit([[1, 1], [2, 2.0]], [0, 1]))
    with pytest.raises(ValueError, match="two classes"):
        rb.plot.normalised([[1, 2]], [1])


def test_logistic():
    X, y = np.array([[0.0], [1.0], [3.0]]), ["no", "no", "yes"]
    model = rb.LinearClassifier(solver="batch", alpha=0.1).fit(X, y)
    shown = rb.plot.logistic(model, X, y)
    assert np.array_equal(shown.scores, model.decision_function(X))
    assert shown.labels.tolist() == [False, False, True]
    assert np.allclose(shown.curve, 1 / (1 + np.exp(-shown.at)))
    told = [path.vertices[:, 1] for drawn in shown.ax_.collections for path in drawn.get_paths() if len(path) == 2]
    assert np.allclose(sorted(ends.max() for ends in told)[:2], np.sort(model.predict_proba(X)[:2, 1]))
    assert shown.ax_.get_ylabel() == "probability of class yes"
    drawn(shown.ax_)
    assert rb.plot.logistic(y=[0, 1], scores=[-9.0, 2.0]).at[-1] == pytest.approx(9.45)
    with pytest.raises(ValueError, match="two classes"):
        rb.plot.logistic(y=[0, 1, 2], scores=[0.0, 1.0, 2.0])


def test_run(run):
    shown = rb.plot.run(run)
    assert shown.coef.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert shown.rows == [0, 1]
    lines = shown.ax_.get_lines()
    assert len(lines) == 3
    assert np.isnan(lines[0].get_xdata()).all()  # w = 0 is no plane
    x, y = lines[2].get_data()
    assert np.allclose(x + y, 0)
    assert lines[0].get_alpha() < lines[2].get_alpha()
    drawn(rb.plot.run(run).ax_)
    start = shown.plot(until=0)
    assert "update 0 of 2" in start.ax_.get_title()
    with pytest.raises(ValueError, match="one-vs-one"):
        rb.plot.run(rb.trace([[0, 0], [3, 0], [0, 3]], [0, 1, 2], multiclass="ovo"))
    with pytest.raises(ValueError, match="one plane per class"):
        rb.plot.run(rb.trace([[0, 0], [3, 0]], [0.5, 2.5], rb.PassiveAggressiveRegressor(order="cyclic", max_epochs=2)))


def test_animation(run, tmp_path):
    rb.plot.animate(run, tmp_path / "run.gif", seconds=0.2)
    from PIL import Image

    with Image.open(tmp_path / "run.gif") as movie:
        assert movie.n_frames == 3
    rb.plot.animate(run, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    assert text.count("data:image/png") >= 3
    with pytest.raises(ValueError, match="must end in"):
        rb.plot.animate(run, tmp_path / "run.txt")


@pytest.mark.parametrize("available", [True, False])
def test_mp4_needs_ffmpeg(run, tmp_path, monkeypatch, available):
    from matplotlib.animation import FFMpegWriter, FuncAnimation

    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: available)
    saved = []
    monkeypatch.setattr(FuncAnimation, "save", lambda self, path, writer: saved.append((path, type(writer))))
    if available:
        rb.plot.animate(run, tmp_path / "run.mp4")
        assert saved == [(tmp_path / "run.mp4", FFMpegWriter)]
    else:
        with pytest.raises(RuntimeError, match="ffmpeg"):
            rb.plot.animate(run, tmp_path / "run.mp4")


@pytest.mark.parametrize("name", ["run.avi", "run.mp4"])
def test_a_refused_file_name_builds_no_animation(run, tmp_path, monkeypatch, name):
    from matplotlib.animation import FFMpegWriter

    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, RuntimeError)):
            rb.plot.animate(run, tmp_path / name)
        gc.collect()  # matplotlib warns when it deletes an animation that was never drawn
    assert [str(warning.message) for warning in caught] == []


def test_epochs(model):
    shown = rb.plot.epochs(model)
    assert (shown.epochs.tolist(), shown.updates.tolist(), shown.errors.tolist()) == ([1, 2], [2, 0], [0, 0])
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert labels == ["updates during the epoch", "errors after the epoch"]
    drawn(shown.ax_)
    uncounted = rb.Perceptron(fit_intercept=False, order="cyclic").fit(*CUHK)
    assert np.isnan(rb.plot.epochs(uncounted).errors).tolist() == [True, False]
    assert rb.plot.epochs(model.report_).ax_.get_xlabel() == "epoch"


def test_mistakes(run):
    shown = rb.plot.mistakes(run)
    assert shown.mistakes.tolist() == [0, 1, 2, 2, 2, 2, 2, 2, 2]
    assert shown.bound == 2
    assert shown.ax_.get_lines()[1].get_ydata() == [2, 2]
    drawn(shown.ax_)
    assert shown.ax_.get_yscale() == "linear"
    far = MistakesDisplay(shown.visits, shown.mistakes, 9000.0).plot()
    assert far.ax_.get_yscale() == "symlog"
    drawn(far.ax_)
    assert "no bound" in rb.plot.mistakes(rb.trace(*XOR, max_epochs=3)).ax_.get_title()


def covered_points(ax):
    """The points of the scatter plots of these axes that lie under the legend."""
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    places = np.vstack(
        [ax.transData.transform(shown.get_offsets()) for shown in ax.collections if len(shown.get_offsets())]
    )
    return [tuple(place) for place in places if box.contains(*place)]


def test_legends_cover_no_points(model, run):
    separable = rb.Perceptron(max_epochs=3, order="cyclic").fit(*XOR)
    for shown in (
        rb.plot.regions(separable, *XOR),
        rb.plot.hulls(*XOR),
        rb.plot.normalised(*CUHK, model=model),
        rb.plot.run(run),
    ):
        assert covered_points(shown.ax_) == []
        legend = shown.ax_.get_legend().get_window_extent()
        assert legend.x1 <= shown.figure_.bbox.x1  # nor is it cut off


def test_counts_have_ticks_at_whole_numbers(model, run):
    one = rb.Perceptron(order="cyclic", max_epochs=1).fit(*CUHK)
    for ax in (rb.plot.epochs(model).ax_, rb.plot.epochs(one).ax_, rb.plot.mistakes(run).ax_):
        ax.figure.canvas.draw()
        for ticks in (ax.get_xticks(), ax.get_yticks()):
            assert np.array_equal(ticks, np.round(ticks))


def test_margins(model):
    shown = rb.plot.margins(model, *CUHK)
    assert np.allclose(shown.margins, np.sqrt(0.5))
    assert shown.shares.tolist() == [0.25, 0.5, 0.75, 1]
    drawn(shown.ax_)
    many = rb.plot.margins(y=[0, 1, 2], scores=[[1, 0, 0], [0, 3, 1], [5, 0, 1]])
    assert many.margins.tolist() == [-4, 1, 2]
    assert many.ax_.get_xlabel() == "margin"
    voted = rb.VotedPerceptron(order="cyclic", max_epochs=2).fit(*CUHK)
    assert not rb.plot.margins(voted, *CUHK).geometric
    X, y = [[0, 0], [3, 0], [0, 3]], [0, 1, 2]
    three = rb.Perceptron(order="cyclic").fit(X, y)
    assert np.array_equal(rb.plot.margins(three, X, y).margins, np.sort(rb.margins(three, X, y).geometric))


def test_losses(model):
    shown = rb.plot.losses()
    at = np.argmin(np.abs(shown.margin))  # margin 0
    expected = {"zero_one": 1, "perceptron": 0, "hinge": 1, "squared_hinge": 1, "log": np.log(2), "exponential": 1}
    for name, value in {**expected, "modified_huber": 1}.items():
        assert shown.curves[name][at] == pytest.approx(value, abs=1e-9)
    assert shown.curves["modified_huber"][0] == 12
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert legend[0] == "0/1"
    assert legend[-1] == "modified Huber"
    drawn(shown.ax_)
    two = rb.plot.losses(["squared_hinge", "modified_huber"])
    top = two.ax_.get_ylim()[1]
    seen = [curve < top for curve in two.curves.values()]
    apart = np.abs(two.curves["squared_hinge"] - two.curves["modified_huber"])[seen[0] & seen[1]]
    assert apart.max() > 0.1 * top  # two curves are seen, not one
    names = ["squared", "absolute", "huber", "log_cosh", "epsilon_insensitive"]
    residual = rb.plot.losses(names)
    assert residual.label == "residual f − y"
    assert [curve[0] for curve in residual.curves.values()] == pytest.approx([4.5, 3, 2.5, np.log(np.cosh(3)), 2])
    assert rb.plot.losses(["huber"], epsilon=2.0).curves["huber"][0] == 4
    marked = rb.plot.losses(["hinge"], model=model, X=CUHK[0], y=CUHK[1])
    assert marked.points.tolist() == [1, 1, 1, 1]
    marked = rb.plot.losses(["hinge"], y=[0, 1], scores=[-0.5, -0.5])
    assert marked.points.tolist() == [0.5, -0.5]
    assert marked.ax_.collections[0].get_offsets().tolist() == [[0.5, 0.5], [-0.5, 1.5]]
    with pytest.raises(ValueError, match="'nothing' is not among"):
        rb.plot.losses(["hinge", "nothing"])
    with pytest.raises(ValueError, match="one picture"):
        rb.plot.losses(["hinge", "squared"])


def test_hulls():
    shown = rb.plot.hulls(*XOR)
    assert shown.crossing.tolist() == pytest.approx([0.5, 0.5])
    assert sorted(map(tuple, shown.hulls[0].tolist())) == [(0, 0), (1, 1)]
    drawn(shown.ax_)
    X, y = [[0, 0], [2, 0], [1, 1], [5, 0], [5, 2]], ["a", "a", "a", "b", "b"]
    apart = rb.plot.hulls(X, y)
    assert apart.crossing is None
    assert apart.verdict.margin == pytest.approx(1.5)
    assert len(apart.hulls[0]) == 3
    x, _ = apart.ax_.get_lines()[0].get_data()
    assert np.allclose(x, 3.5)
    assert rb.plot.hulls(X, y).ax_.get_title() == "separable, with a margin of 1.5"
    with pytest.raises(ValueError, match="two classes"):
        rb.plot.hulls(X, [0, 1, 2, 0, 1])
    assert hull_corners(np.array([[1.0, 1.0], [1.0, 1.0]])).tolist() == [[1, 1]]


def test_words():
    model = rb.Perceptron(order="cyclic").fit([[2, 0, 0, 1], [0, 1, 0, 1]], ["spam", "ham"])
    shown = rb.plot.words(model, ["money", "friend", "never", "the"], most=3)
    assert shown.words[0] == "friend"
    assert shown.words[-1] == "money"
    assert shown.label == "spam"
    assert "never" not in shown.words
    assert [bar.get_width() for bar in shown.ax_.patches] == shown.weights.tolist()
    drawn(shown.ax_)
    turned = rb.plot.words(model, label="ham")
    assert turned.words[0] == "column 0"
    three = rb.Perceptron(order="cyclic").fit([[1, 0], [0, 1], [-1, -1]], [0, 1, 2])
    assert rb.plot.words(three, label=1).ax_.get_xlabel() == "weight for class 1"
    for options, match in [({}, "Choose one"), ({"label": 7}, "not among"), ({"label": 1, "names": ["a"]}, "1 words")]:
        with pytest.raises(ValueError, match=match):
            rb.plot.words(three, **options)


def test_what_a_picture_is_drawn_of_is_given_once(model, run):
    X, y = CUHK
    for given in (
        {"y": y},
        {"scores": y},
        {"X": X, "y": y},
        {"model": model, "y": y},
        {"X": X, "y": y, "scores": y},
        {"model": model, "X": X, "y": y, "scores": y},
    ):
        for draw in (rb.plot.margins, rb.plot.logistic, rb.plot.losses):
            if draw is rb.plot.margins and given.keys() == {"model", "y"}:
                continue  # refused by rosenblatt.margins, which it asks
            with pytest.raises(ValueError, match="come from a model and X or are given as scores="):
                draw(**given)
    for given in ({}, {"X": X}, {"y": y}, {"X": X, "trace": run}, {"X": X, "y": y, "trace": run}):
        with pytest.raises(ValueError, match="for X and y, or for a trace"):
            rb.plot.surface(**given)
    assert rb.plot.losses(points=[2.0], model=model, X=X, y=y).points.tolist() == [2, 1, 1, 1, 1]
    raised = rb.plot.surface(trace=run, reach=4.0, intercept=1.0)
    assert (raised.w1[-1], raised.path.tolist()) == (4.0, [[0, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(raised.values, rb.plot.surface(X, y, reach=4.0, intercept=1.0).values)
    assert repr(raised) == "<SurfaceDisplay>"  # not its 25,600 numbers


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install \"rosenblatt\[plot\]\""):
        rb.plot.losses()


def test_frame_and_line():
    assert drawing.frame_around(np.array([[0.0, 0.0], [10.0, 2.0]])) == (-1.5, 11.5, -1.5, 3.5)
    x, y = drawing.line_across(np.array([0.0, 2.0]), -2.0, (0, 1, 0, 1))
    assert np.allclose(y, 1)
    assert x[0] != x[1]
    wide = drawing.frame_around(np.array([[20_000.0, 18.0], [90_000.0, 70.0]]))
    assert wide == pytest.approx((9_500, 100_500, 10.2, 77.8))
    w = np.array([1e-3, -1.0])
    x, y = drawing.line_across(w, -11.0, wide)
    assert np.allclose(x * w[0] + y * w[1] - 11, 0, atol=1e-6)
    assert x.min() < wide[0]
    assert x.max() > wide[1]
    ax = drawing.import_pyplot().subplots()[1]
    drawing.set_window(ax, wide)
    assert ax.get_aspect() == "auto"
    assert drawing.frame_around(np.zeros((1, 2))) == (-1, 1, -1, 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_is_drawn_with_its_band_and_what_was_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    grid = {"C": [0.001, 0.1, 1.0], "keep": ["last", "average"]}
    search = rb.GridSearchCV(rb.PassiveAggressive(max_epochs=2, random_state=0), grid, cv=4).fit(X, y)
    shown = rb.plot.search(search)
    drawn(shown.ax_)
    assert shown.name == "C"
    assert shown.ax_.get_xscale() == "log"
    assert set(shown.lines) == {"keep=last", "keep=average"}
    for keep in grid["keep"]:
        means = [
            mean
            for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
            if params["keep"] == keep
        ]
        np.testing.assert_array_equal(shown.lines[f"keep={keep}"][1], means)
    assert shown.chosen == (search.best_params_["C"], search.best_score_)
    assert rb.plot.search(search, "C").ax_.get_xlabel() == "C"
    with pytest.raises(ValueError, match="no parameter with numbers called 'keep'"):
        rb.plot.search(search, "keep")
    passes = rb.GridSearchCV(rb.PassiveAggressive(random_state=0), {"max_epochs": [1, 2, 4], "C": [0.1, 1.0]}, cv=3)
    shown = rb.plot.search(passes.fit(X, y), "max_epochs")
    assert passes.one_pass_ == 18
    assert shown.ax_.get_xlabel() == "passes (max_epochs)"
    assert set(shown.lines) == {"C=0.1", "C=1.0"}
    assert [values.tolist() for values, _, _ in shown.lines.values()] == [[1, 2, 4]] * 2
    mixed = rb.GridSearchCV(rb.Perceptron(max_epochs=2), {"learning_rate": [1.0, 2.0, "1/t"]}, cv=3, scoring="accuracy")
    drawn(rb.plot.search(mixed.fit(X, y)).ax_)
    several = rb.GridSearchCV(
        rb.Perceptron(max_epochs=2), {"margin": [0.0, 1.0]}, cv=3, scoring=["f1", "accuracy"], refit=False
    )
    with pytest.raises(ValueError, match="by the one that refit= names"):
        rb.plot.search(several.fit(X, y))
