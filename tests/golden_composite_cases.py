"""Golden cases of tables, sequences, embeddings and searches, and of solvers that multiply matrices."""

from golden_case import Case

LINEAR = {"learner": None}  # as in models of older files: "linear"
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[1,1]\nB"


def table_cases():
    for data in ("table two", "table three", "table numbers"):
        learner = "TableRegressor" if data.endswith("numbers") else "TableClassifier"
        small = data != "table three"  # 300 random features of hundreds of words
        yield Case(f"{data}, default", learner, LINEAR, data, kind="blas", stored=small)
        yield Case(f"{data}, auto", learner, {"learner": "auto"}, data, kind="blas", stored=small)
        yield Case(f"{data}, weights", learner, LINEAR, data, kind="blas", how={"weights": "fractions"})
    yield Case(
        "table checkers, auto", "TableClassifier", {"learner": "auto"}, "table checkers", kind="blas", stored=True
    )
    for name, settings in {
        "kinds": {"columns": {"size": "names", "place": "drop"}},
        "scoring": {"scoring": "roc_auc", "cv": 3},
        "balanced": {"class_weight": "balanced"},
    }.items():
        yield Case(f"table two, {name}", "TableClassifier", {**LINEAR, **settings}, "table two", kind="blas")
    yield Case("table two, file", "TableClassifier", LINEAR, "table two", act="table file", kind="blas", stored=True)
    yield Case(
        "table numbers, file", "TableRegressor", LINEAR, "table numbers", act="table file", kind="blas", stored=True
    )
    yield Case("table two, not fitted", "TableClassifier", LINEAR, "table two", act="made", stored=True)
    yield Case("encoder", "TableEncoder", {}, "table two", kind="blas", stored=True)
    splines = {"columns": {"size": "splines"}}
    yield Case("encoder, splines", "TableEncoder", splines, "table two", kind="blas", stored=True)


def sequence_cases():
    for name, settings in {
        "perceptron": {},
        "pa": {"rule": "pa", "C": 0.25},
        "last": {"keep": "last"},
        "constraints": {"constraints": "iob2"},
        "no transitions": {"transitions": False, "order": "cyclic"},
        "rare": {"min_count": 2, "order": "random"},
    }.items():
        for data in ("sentences items", "sentences mappings"):
            yield Case(f"{data}, {name}", "SequencePerceptron", settings, data, stored=True)
    for name, settings in {"template": {}, "template pa": {"rule": "pa"}}.items():
        settings = {**settings, "template": TEMPLATE}
        yield Case(f"sentences columns, {name}", "SequencePerceptron", settings, "sentences columns", stored=True)
    early = {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "max_epochs": 8}
    yield Case("sentences, early", "SequencePerceptron", early, "sentences items", stored=True)
    for act in ("sentence pieces", "watched", "stopped", "interrupted", "again"):
        settings = {"max_epochs": 6}
        yield Case(f"sentences, {act}", "SequencePerceptron", settings, "sentences items", act=act, stored=True)
    yield Case("sentences, clean", "SequencePerceptron", {"max_epochs": 60}, "sentences clean")
    settings = {"template": TEMPLATE}
    yield Case(
        "sentences, resumed",
        "SequencePerceptron",
        settings,
        "sentences columns",
        act="resumed sentences",
        stored=True,
    )
    yield Case("sentences, not fitted", "SequencePerceptron", {}, "sentences items", act="made", stored=True)
    yield Case("words", "Tagger", {}, "sentences words", stored=True)
    yield Case("words, sure", "Tagger", {"sure_count": 2, "sure_share": 0.75}, "sentences words", stored=True)
    for act in ("watched", "stopped", "interrupted"):
        yield Case(f"words, {act}", "Tagger", {"max_epochs": 6}, "sentences words", act=act)


def product_cases():
    """The solvers that read all rows, or multiply matrices of them."""
    for solver in ("gradient", "minibatch", "minibatch+lbfgs", "auto"):
        for data in ("two", "four", "labels"):
            settings = {"solver": solver, "alpha": 0.0625, "max_epochs": 6}
            yield Case(f"{solver}, {data}", "LinearClassifier", settings, data, kind="blas", stored=True)
        settings = {"solver": solver, "alpha": 0.0625, "max_epochs": 6}
        yield Case(f"{solver}, numbers", "LinearRegressor", settings, "numbers", kind="blas", stored=True)
    for loss in ("perceptron", "hinge", "squared_hinge", "exponential", "modified_huber"):
        settings = {"solver": "minibatch", "loss": loss, "alpha": 0.0625, "max_epochs": 6}
        yield Case(f"minibatch, {loss}", "LinearClassifier", settings, "four", kind="blas")
    for loss in ("absolute", "huber", "log_cosh", "epsilon_insensitive"):
        settings = {"solver": "minibatch", "loss": loss, "alpha": 0.0625, "epsilon": 0.5, "max_epochs": 6}
        yield Case(f"minibatch, {loss}", "LinearRegressor", settings, "numbers", kind="blas")
    for penalty in (None, "l1", "elasticnet"):
        settings = {"solver": "minibatch", "penalty": penalty, "alpha": 0.0625, "max_epochs": 6}
        yield Case(f"minibatch, {penalty}", "LinearClassifier", settings, "four", "dense float32", kind="blas")
    for data in ("long two", "long four", "long labels"):
        yield Case(f"probe, {data}", "LinearProbe", {}, data, kind="blas", stored=True)
    yield Case("probe, weights", "LinearProbe", {}, "long four", kind="blas", how={"weights": "fractions"})
    yield Case("probe, balanced", "LinearProbe", {"class_weight": "balanced", "refit": False}, "long four", kind="blas")


def search_cases():
    for name, learner, settings, grid in (
        ("perceptron", "Perceptron", {}, {"margin": [0.0, 1.0], "keep": ["last", "average"], "max_epochs": [2, 4]}),
        ("rates", "Perceptron", {}, {"learning_rate": ["1/t", "1/sqrt(t)", 0.5], "fit_intercept": [True, False]}),
        ("PA", "PassiveAggressive", {}, {"C": [0.01, 1.0], "variant": ["PA", "PA-I", "PA-II"]}),
        ("AROW", "AROW", {}, {"r": [0.1, 1.0, 10.0], "class_weight": [None, "balanced"]}),
        ("one by one", "AROW", {"covariance": "full"}, {"r": [0.1, 1.0]}),
        ("log", "LinearClassifier", {"solver": "stochastic"}, {"alpha": [0.001, 0.1], "penalty": ["l1", "l2"]}),
        ("batch", "LinearClassifier", {"solver": "batch"}, {"alpha": [0.001, 0.1]}),
    ):
        for data, form in (("long two", "dense float64"), ("long four", "sparse float32")):
            how = {"grid": grid}
            kind = "blas" if name in ("one by one", "batch") else "rounded"
            yield Case(f"search, {name}, {data}", learner, settings, data, form, act="search", how=how, kind=kind)
