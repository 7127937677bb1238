"""The short fits whose results are kept in tests/golden, as a table.

A case says which learner, with which settings, on which of the data sets of `golden_runs`, and what is done with it
(`act`). `kind` says how its results are compared:

- "exact": whole numbers and a rule that only adds them, so that nothing is ever rounded: equal on every processor.
- "rounded": compiled sums, whose last bits depend on the width of the processor's vectors.
- "blas": sums made by BLAS or LAPACK (networks, kernels, trees of classes, the batch solver, duals, a full covariance
  mixed by its inverse, MaxMargin), whose last bits depend on its version and its threads.
"""

from dataclasses import dataclass, field, replace

from rosenblatt import Layer


@dataclass(frozen=True)
class Case:
    """One short training, and what may be kept of it."""

    name: str
    learner: str
    settings: dict = field(default_factory=dict)
    data: str = "two"
    form: str = "dense float64"
    act: str = "fit"
    how: dict = field(default_factory=dict)
    kind: str = "rounded"
    stored: bool = False  # whether a model file of it is kept


# -- settings that are functions -------------------------------------------------------------------------------------


def halved(epoch):
    return 2.0**-epoch


def interrupts_third(epoch):
    if epoch == 3:
        raise KeyboardInterrupt
    return 1.0


def fails_third(epoch):
    if epoch == 3:
        raise RuntimeError("no rate")
    return 1.0


def product(A, B):
    return A @ B.T


PATIENT = {"tol": 1e-4, "n_iter_no_change": 10}  # of networks, when files of version 0.1 were written


# -- the online learners ---------------------------------------------------------------------------------------------

ADDITIVE = {
    "last": ("Perceptron", {}),
    "rate": ("Perceptron", {"learning_rate": 0.5}),
    "halved": ("Perceptron", {"learning_rate": halved}),
    "margin": ("Perceptron", {"margin": 3.0}),
    "radius": ("Perceptron", {"bias_step": "radius"}),
    "no bias": ("Perceptron", {"fit_intercept": False}),
    "pocket": ("Perceptron", {"keep": "pocket"}),
    "first": ("Perceptron", {"order": "first", "max_epochs": 9}),
    "worst": ("Perceptron", {"order": "worst", "max_epochs": 9}),
    "random": ("Perceptron", {"order": "random"}),
    "blocks": ("Perceptron", {"order": "blocks"}),
    "cyclic": ("Perceptron", {"order": "cyclic"}),
    "rows": ("Perceptron", {"order": [3, 1, 4, 1, 5, 9, 2, 6]}),
    "errors": ("Perceptron", {"record_errors": True}),
    "PAUM": ("PAUM", {"margin": (2.0, 5.0), "multiclass": "ovr"}),
}
ROUNDED = {
    "average": ("AveragedPerceptron", {"record_errors": True}),
    "PAUM average": ("PAUM", {"keep": "average", "multiclass": "ovr"}),
    "1/t": ("Perceptron", {"learning_rate": "1/t"}),
    "1/sqrt(t)": ("Perceptron", {"learning_rate": "1/sqrt(t)", "keep": "average"}),
    "batch": ("Perceptron", {"update": "batch"}),
    "batch average": ("AveragedPerceptron", {"update": "batch"}),
    "batch pocket": ("Perceptron", {"update": "batch", "keep": "pocket"}),
    "line search": ("Perceptron", {"update": "batch", "learning_rate": "line-search"}),
    "PA": ("PassiveAggressive", {"variant": "PA"}),
    "PA-I": ("PassiveAggressive", {"C": 0.5}),
    "PA-II average": ("PassiveAggressive", {"variant": "PA-II", "keep": "average"}),
    "AROW": ("AROW", {}),
    "AROW full": ("AROW", {"covariance": "full"}),
    "second order": ("SecondOrderPerceptron", {}),
    "second order full": ("SecondOrderPerceptron", {"covariance": "full"}),
    "regression": ("PassiveAggressiveRegressor", {"C": 0.1, "record_errors": True}),
    "regression average": ("PassiveAggressiveRegressor", {"variant": "PA-II", "keep": "average"}),
}
VOTES = {
    "vote": ("VotedPerceptron", {}),
    "PAUM vote": ("PAUM", {"keep": "vote", "margin": 1.0, "multiclass": "ovr"}),
}
TASKS = ["two", "multinomial", "ovr", "ovo", "labels"]
FUNCTIONS = ("halved",)  # a file cannot hold these
LIKE_LAST = ("rate", "margin", "no bias", "first", "worst", "random", "blocks", "cyclic", "rows", "errors", "1/t")
CLASSIFIERS = {
    "last": ("Perceptron", {}, "exact"),
    "average": ("AveragedPerceptron", {}, "rounded"),
    "vote": ("VotedPerceptron", {}, "exact"),
    "pocket": ("Perceptron", {"keep": "pocket"}, "exact"),
    "batch": ("Perceptron", {"update": "batch"}, "rounded"),
    "PAUM": ("PAUM", {}, "rounded"),
    "PA": ("PassiveAggressive", {}, "rounded"),
    "AROW": ("AROW", {}, "rounded"),
    "second order": ("SecondOrderPerceptron", {"covariance": "full"}, "rounded"),
    "linear": ("LinearClassifier", {"alpha": 0.01}, "rounded"),
    "Pegasos": ("Pegasos", {"alpha": 0.01}, "rounded"),
    "tree": ("HierarchicalPerceptron", {}, "blas"),
    "kernel": ("KernelPerceptron", {"kernel": "poly", "degree": 2, "gamma": 0.125, "coef0": 1.0}, "blas"),
    "network": ("MultilayerPerceptron", {**PATIENT, "hidden_layer_sizes": (4,), "batch_size": 16}, "blas"),
    "Mark I": ("MarkI", {"n_units": 24, "n_connections": 3}, "exact"),
}
TREE = [[0, 1], [2, 3]]


def every_variant():
    for variants, kind in ((ADDITIVE, "exact"), (ROUNDED, "rounded"), (VOTES, "exact")):
        for name, (learner, settings) in variants.items():
            yield name, learner, settings, kind


def suits(name, learner, task):
    if learner.endswith("Regressor"):
        return task == "two"
    return not (name.startswith("PAUM") and task == "multinomial")  # a margin per class of two


def online(name, learner, settings, kind, task):
    how = {"multiclass": task} if task in ("multinomial", "ovr", "ovo") else {}
    data = {"two": "two", "labels": "labels"}.get(task, "four")
    data = "numbers" if learner.endswith("Regressor") else data
    return Case(f"{name}, {task}", learner, {**settings, **how}, data=data, kind=kind)


def online_cases():
    """Every online learner, for every task that it can do; then sparse rows and single precision."""
    for name, learner, settings, kind in every_variant():
        for task in TASKS:
            if suits(name, learner, task):
                stored = name not in FUNCTIONS and (task in ("two", "multinomial") or name not in LIKE_LAST)
                yield replace(online(name, learner, settings, kind, task), stored=stored)
        for form, task in (("sparse float64", "two"), ("dense float32", "two"), ("sparse float32", "ovr")):
            if suits(name, learner, task):
                case = online(name, learner, settings, kind, task)
                yield replace(case, name=f"{case.name}, {form}", form=form, stored=name in ("last", "average", "AROW"))
        if suits(name, learner, "multinomial"):
            case = online(name, learner, settings, kind, "multinomial")
            yield replace(case, name=f"{case.name}, sparse float32", form="sparse float32")


def separable_cases():
    """Rows that can be separated, until they are."""
    for name, learner, settings, kind in every_variant():
        for task, data in (("two", "clean two"), ("ovr", "clean four"), ("ovo", "clean four")):
            if suits(name, learner, task) and not learner.endswith("Regressor"):
                more = {"max_epochs": 60, **({} if task == "two" else {"multiclass": task})}
                yield Case(
                    f"{name}, {data}, {task}",
                    learner,
                    {**settings, **more},
                    data,
                    kind=kind,
                    stored=task == "two" and name in ("last", "average", "pocket"),
                )
    yield Case("no limit, clean two", "Perceptron", {"max_epochs": None}, "clean two", kind="exact")
    yield Case("regression, clean", "PassiveAggressiveRegressor", {"epsilon": 0.5, "max_epochs": 60}, "clean numbers")


# -- choices that most learners share --------------------------------------------------------------------------------


def shared_cases():
    for name, (learner, settings, kind) in CLASSIFIERS.items():
        early = {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "max_epochs": 8}
        for data in ("two", "four"):
            yield Case(f"early, {name}, {data}", learner, {**settings, **early}, data, kind=kind, stored=True)
        weighed = "rounded" if kind == "exact" else kind
        yield Case(f"whole weights, {name}", learner, settings, "four", kind=kind, how={"weights": "whole"})
        yield Case(f"weights, {name}", learner, settings, "two", kind=weighed, how={"weights": "fractions"})
        yield Case(f"balanced, {name}", learner, {**settings, "class_weight": "balanced"}, "four", kind=weighed)
        yield Case(
            f"class weights, {name}",
            learner,
            {**settings, "class_weight": {0: 2.5, 2: 0.0}},
            "four",
            kind=weighed,
            stored=name == "linear",
        )
        yield Case(f"names, {name}", learner, settings, "words", kind=kind, stored=kind == "blas")
        yield Case(f"drawn seed, {name}", learner, {**settings, "random_state": "drawn"}, "two", kind=kind)
        yield Case(f"pieces, {name}", learner, settings, "four", act="pieces", kind=kind, stored=True)
        yield Case(
            f"pieces of weighted sparse rows, {name}",
            learner,
            settings,
            "four",
            "sparse float64",
            act="pieces",
            how={"weights": "whole"},
            kind=kind,
        )
        yield Case(f"watched, {name}", learner, settings, "two", act="watched", kind=kind)
        yield Case(f"stopped, {name}", learner, {**settings, "max_epochs": 9}, "four", act="stopped", kind=kind)
        yield Case(
            f"interrupted, {name}",
            learner,
            {**settings, "max_epochs": 9},
            "four",
            act="interrupted",
            kind=kind,
            stored=True,
        )
        yield Case(f"failed, {name}", learner, {**settings, "max_epochs": 9}, "two", act="failed", kind=kind)
        yield Case(
            f"interrupted early stopping, {name}",
            learner,
            {**settings, **early},
            "two",
            act="interrupted",
            kind=kind,
        )
        yield Case(f"two calls, {name}", learner, settings, "two", act="again", kind=kind)
        yield Case(f"not fitted, {name}", learner, settings, act="made", kind=kind, stored=True)
        if name not in ("AROW", "second order", "tree", "kernel", "network", "Mark I"):
            yield Case(
                f"warm, {name}", learner, {**settings, "warm_start": True}, "four", act="again", kind=kind, stored=True
            )
            yield Case(f"start, {name}", learner, settings, "two", kind=kind, how={"start": True})
            yield Case(f"start, {name}, four", learner, settings, "four", kind=kind, how={"start": True})
        if name not in ("linear", "Pegasos", "batch", "tree", "kernel", "network", "Mark I"):
            yield Case(f"new classes, {name}", learner, settings, "four", act="new classes", kind=kind)
    for name, rate in (("interrupted", interrupts_third), ("failed", fails_third)):
        for learner in ("Perceptron", "AveragedPerceptron", "LinearClassifier"):
            yield Case(f"{name} by its rate, {learner}", learner, {"learning_rate": rate, "max_epochs": 5}, "four")
        yield Case(
            f"{name} by its rate, ovo",
            "Perceptron",
            {"learning_rate": rate, "max_epochs": 5, "multiclass": "ovo"},
            "four",
            kind="exact",
        )
    for name, settings in (("PA-I", {}), ("average", {"keep": "average"})):
        early = {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "max_epochs": 8}
        yield Case(
            f"early, regression {name}", "PassiveAggressiveRegressor", {**settings, **early}, "numbers", stored=True
        )
        yield Case(f"pieces, regression {name}", "PassiveAggressiveRegressor", settings, "numbers", act="pieces")
        yield Case(
            f"weights, regression {name}",
            "PassiveAggressiveRegressor",
            settings,
            "numbers",
            how={"weights": "fractions"},
        )
        yield Case(
            f"warm, regression {name}",
            "PassiveAggressiveRegressor",
            {**settings, "warm_start": True},
            "numbers",
            act="again",
        )
        yield Case(f"start, regression {name}", "PassiveAggressiveRegressor", settings, "numbers", how={"start": True})
    for learner in ("Perceptron", "AveragedPerceptron", "AROW"):
        early = {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "max_epochs": 8}
        yield Case(f"early, labels, {learner}", learner, early, "labels", stored=True)
        yield Case(f"pieces of labels, {learner}", learner, {}, "labels", act="pieces", stored=True)
        yield Case(f"early, ovo, {learner}", learner, {**early, "multiclass": "ovo"}, "four")
        yield Case(f"early, clean, {learner}", learner, {**early, "max_epochs": 60}, "clean two")
        yield Case(f"pieces, ovo, {learner}", learner, {"multiclass": "ovo"}, "four", act="pieces")
        yield Case(f"weights, ovr, {learner}", learner, {"multiclass": "ovr"}, "four", how={"weights": "fractions"})
        yield Case(f"weights, labels, {learner}", learner, {}, "labels", how={"weights": "whole"})


# -- objectives ------------------------------------------------------------------------------------------------------


def objective_cases():
    kept = [("log", "l2"), ("hinge", "l1"), ("log", "elasticnet"), ("squared_hinge", None)]
    for loss in ("perceptron", "hinge", "squared_hinge", "log", "exponential", "modified_huber"):
        for penalty in (None, "l2", "l1", "elasticnet"):
            aim = {"loss": loss, "penalty": penalty, "alpha": 0.0625, "l1_ratio": 0.5}
            yield Case(
                f"{loss} + {penalty}, stochastic", "LinearClassifier", aim, "two", stored=(loss, penalty) in kept
            )
            yield Case(
                f"{loss} + {penalty}, stochastic, four",
                "LinearClassifier",
                aim,
                "four",
                "sparse float64",
                stored=(loss, penalty) in kept,
            )
            yield Case(
                f"{loss} + {penalty}, batch",
                "LinearClassifier",
                {**aim, "solver": "batch", "max_epochs": 12},
                "two",
                kind="blas",
                stored=(loss, penalty) in kept,
            )
    for rate in (0.125, "1/t", "1/sqrt(t)", halved):
        for penalty in ("l2", "l1"):
            name = getattr(rate, "__name__", rate)
            aim = {"learning_rate": rate, "penalty": penalty, "alpha": 0.0625}
            yield Case(f"log + {penalty}, rate {name}", "LinearClassifier", aim, "four", stored=rate == "1/t")
    for multiclass in ("auto", "multinomial", "ovr"):
        for solver in ("stochastic", "batch"):
            aim = {"multiclass": multiclass, "solver": solver, "alpha": 0.0625, "max_epochs": 6}
            kind = "blas" if solver == "batch" else "rounded"
            for form in ("dense float64", "sparse float32"):
                yield Case(f"log, {multiclass}, {solver}, {form}", "LinearClassifier", aim, "four", form, kind=kind)
    for order in ("random", "blocks", "cyclic", [3, 1, 4, 1, 5]):
        yield Case(f"log, order {order}", "LinearClassifier", {"order": order, "alpha": 0.0625}, "four")
    aim = {"alpha": 0.0625, "tol": 0.05, "n_iter_no_change": 2, "max_epochs": 40}
    for learner in ("LinearClassifier", "Pegasos"):
        yield Case(f"no longer falls, {learner}", learner, aim, "two", stored=True)
        yield Case(f"no longer falls, {learner}, four", learner, aim, "four")
        yield Case(f"no longer falls, {learner}, no bias", learner, {**aim, "fit_intercept": False}, "two")
    yield Case(
        "no longer falls, batch",
        "LinearClassifier",
        {"solver": "batch", "alpha": 0.0625, "tol": 1e-3, "max_epochs": 200},
        "two",
        kind="blas",
    )
    yield Case(
        "early, batch",
        "LinearClassifier",
        {
            "solver": "batch",
            "alpha": 0.0625,
            "early_stopping": True,
            "validation_fraction": 0.25,
            "n_iter_no_change": 2,
            "max_epochs": 8,
        },
        "two",
        kind="blas",
    )
    for loss in ("squared", "absolute", "huber", "log_cosh", "epsilon_insensitive"):
        aim = {"loss": loss, "alpha": 0.0625, "epsilon": 0.5, "solver": "stochastic"}
        yield Case(f"{loss}, numbers", "LinearRegressor", aim, "numbers", stored=True)
        yield Case(
            f"{loss}, numbers, sparse float32", "LinearRegressor", {**aim, "penalty": "l1"}, "numbers", "sparse float32"
        )
        yield Case(
            f"{loss}, numbers, batch",
            "LinearRegressor",
            {**aim, "solver": "batch", "max_epochs": 12},
            "numbers",
            kind="blas",
        )
        yield Case(f"{loss}, numbers, weights", "LinearRegressor", aim, "numbers", how={"weights": "fractions"})
    yield Case(
        "early, numbers",
        "LinearRegressor",
        {
            "solver": "stochastic",
            "alpha": 0.0625,
            "early_stopping": True,
            "n_iter_no_change": 2,
            "validation_fraction": 0.25,
            "max_epochs": 8,
        },
        "numbers",
        stored=True,
    )
    yield Case(
        "no longer falls, numbers",
        "LinearRegressor",
        {"solver": "stochastic", "alpha": 0.0625, "tol": 0.05, "n_iter_no_change": 2, "max_epochs": 40},
        "numbers",
    )
    for act in ("pieces", "again", "watched", "interrupted", "stopped"):
        yield Case(
            f"{act}, numbers",
            "LinearRegressor",
            {"solver": "stochastic", "alpha": 0.0625, "warm_start": act == "again"},
            "numbers",
            act=act,
        )
    for settings in (
        {"batch_size": 8},
        {"project": True},
        {"fit_intercept": False},
        {"batch_size": 7, "project": True},
        {"order": "random"},
        {"order": "cyclic"},
    ):
        for data, form in (("two", "dense float64"), ("four", "sparse float32")):
            words = ", ".join(f"{name} {value}" for name, value in settings.items())
            yield Case(
                f"Pegasos, {words}, {data}",
                "Pegasos",
                {"alpha": 0.0625, **settings},
                data,
                form,
                stored=form == "dense float64",
            )


def dual_cases():
    for loss in ("hinge", "squared_hinge"):
        for data in ("two", "four"):
            svm = {"loss": loss, "C": 0.125, "tol": 0.01}
            yield Case(
                f"LinearSVM, {loss}, {data}",
                "LinearSVM",
                svm,
                data,
                kind="blas",
                stored=True,
            )
            yield Case(
                f"LinearSVM, {loss}, {data}, sparse float32",
                "LinearSVM",
                svm,
                data,
                "sparse float32",
                kind="blas",
            )
            yield Case(
                f"LinearSVM, {loss}, {data}, budget",
                "LinearSVM",
                {**svm, "tol": 1e-9, "max_epochs": 3},
                data,
                kind="blas",
            )
    for settings in (
        {"multiclass": "crammer_singer"},
        {"shrinking": False},
        {"fit_intercept": False},
        {"intercept_scaling": 4.0},
        {"class_weight": "balanced"},
    ):
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        yield Case(
            f"LinearSVM, {words}",
            "LinearSVM",
            {"C": 0.125, "tol": 0.01, **settings},
            "four",
            kind="blas",
            stored=True,
        )
    yield Case(
        "LinearSVM, weights",
        "LinearSVM",
        {"C": 0.125, "tol": 0.01},
        "two",
        kind="blas",
        how={"weights": "fractions"},
    )
    for data in ("two", "four"):
        for multiclass in ("ovr", "ovo"):
            svm = {"kernel": "rbf", "gamma": 0.125, "tol": 0.01, "multiclass": multiclass}
            yield Case(
                f"KernelSVM, {data}, {multiclass}",
                "KernelSVM",
                svm,
                data,
                kind="blas",
                stored=True,
            )
    yield Case(
        "KernelSVM, sparse float32",
        "KernelSVM",
        {"kernel": "poly", "degree": 2, "gamma": 0.125, "coef0": 1.0, "tol": 0.01},
        "two",
        "sparse float32",
        kind="blas",
    )
    for settings in ({"fit_intercept": False}, {"class_weight": "balanced"}, {"max_epochs": 2, "tol": 1e-9}):
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        yield Case(
            f"KernelSVM, {words}",
            "KernelSVM",
            {"gamma": 0.125, "tol": 0.01, **settings},
            "two",
            kind="blas",
        )
    for act in ("watched", "stopped", "interrupted"):
        for learner in ("LinearSVM", "KernelSVM"):
            yield Case(f"{act}, {learner}", learner, {"tol": 1e-9, "max_epochs": 6}, "two", kind="blas", act=act)
    for data in ("clean two", "clean four", "two"):
        for form in ("dense float64", "sparse float64"):
            yield Case(f"MaxMargin, {data}, {form}", "MaxMargin", {}, data, form, kind="blas", stored=form[0] == "d")
    yield Case("MaxMargin, no bias", "MaxMargin", {"fit_intercept": False}, "clean two", kind="blas", stored=True)


# -- kernels, trees, networks ----------------------------------------------------------------------------------------


def kernel_cases():
    poly = {"kernel": "poly", "degree": 2, "gamma": 0.125, "coef0": 1.0}
    for keep in ("last", "average", "vote"):
        for task, data in (("multinomial", "two"), ("multinomial", "four"), ("ovr", "four"), ("ovo", "four")):
            yield Case(
                f"kernel, {keep}, {task}, {data}",
                "KernelPerceptron",
                {**poly, "keep": keep, "multiclass": task},
                data,
                kind="blas",
                stored=True,
            )
        yield Case(
            f"kernel, {keep}, clean two",
            "KernelPerceptron",
            {**poly, "keep": keep, "max_epochs": 40},
            "clean two",
            kind="blas",
        )
        yield Case(
            f"kernel, {keep}, sparse float32",
            "KernelPerceptron",
            {**poly, "keep": keep},
            "four",
            "sparse float32",
            kind="blas",
        )
    for rule in ("projectron++", "forgetron"):
        for data in ("two", "four"):
            yield Case(
                f"kernel, {rule}, {data}",
                "KernelPerceptron",
                {**poly, "budget": 6, "budget_rule": rule, "multiclass": "ovr"},
                data,
                kind="blas",
                stored=True,
            )
        yield Case(
            f"kernel, {rule}, pieces",
            "KernelPerceptron",
            {**poly, "budget": 6, "budget_rule": rule, "multiclass": "ovr"},
            "four",
            act="pieces",
            kind="blas",
        )
    for name, settings in {
        "linear": {"kernel": "linear"},
        "rbf": {"kernel": "rbf", "gamma": 0.125},
        "scale": {},
        "product": {"kernel": product},
        "bias": {"kernel": "linear", "fit_intercept": True, "bias_step": "radius"},
        "errors": {**poly, "record_errors": True, "order": "random"},
        "rows": {**poly, "order": [3, 1, 4, 1, 5]},
    }.items():
        yield Case(f"kernel, {name}", "KernelPerceptron", settings, "two", kind="blas", stored=name != "product")


def tree_cases():
    for keep in ("last", "average"):
        for form in ("dense float64", "sparse float32"):
            yield Case(
                f"tree, {keep}, {form}",
                "HierarchicalPerceptron",
                {"tree": TREE, "keep": keep},
                "four",
                form,
                kind="blas",
                stored=True,
            )
        yield Case(
            f"tree, {keep}, clean",
            "HierarchicalPerceptron",
            {"tree": TREE, "keep": keep, "max_epochs": 40},
            "clean four",
            kind="blas",
        )
        yield Case(
            f"tree, {keep}, names",
            "HierarchicalPerceptron",
            {"keep": keep, "record_errors": True},
            "words",
            kind="blas",
            stored=True,
        )
    yield Case(
        "tree, parents",
        "HierarchicalPerceptron",
        {"tree": {0: "a", 1: "a", 2: "b", 3: "b", "a": None, "b": None}, "fit_intercept": False, "order": "cyclic"},
        "four",
        kind="blas",
        stored=True,
    )
    yield Case("tree, pieces", "HierarchicalPerceptron", {"tree": TREE}, "four", act="pieces", kind="blas")


def network_cases():
    for name, settings in {
        "relu": {},
        "logistic": {"activation": "logistic", "solver": "sgd", "learning_rate_init": 0.125},
        "tanh": {"activation": "tanh", "alpha": 0.125, "order": "cyclic"},
        "identity": {"activation": "identity", "loss": "squared", "order": "random"},
        "log-square": {"activation": "log-square", "record_errors": True, "order": "blocks"},
        "layers": {"hidden_layer_sizes": (Layer(4, activation="tanh", bias=False), Layer(3, nonnegative=True))},
        "gain": {"hidden_layer_sizes": (Layer(4, gain_control=True),), "solver": "sgd"},
        "deep": {"hidden_layer_sizes": (4, 3), "batch_size": 7},
        "still": {"tol": 1.0, "n_iter_no_change": 2, "max_epochs": 20},
    }.items():
        settings = {**PATIENT, "hidden_layer_sizes": (4,), "batch_size": 16, **settings}
        yield Case(f"network, {name}, two", "MultilayerPerceptron", settings, "two", kind="blas", stored=True)
        yield Case(f"network, {name}, four", "MultilayerPerceptron", settings, "four", "sparse float32", kind="blas")
    for name, settings in {"drawn": {}, "fixed": {"threshold": 1.0, "inhibitory": 0.25}}.items():
        wiring = {"n_units": 12, "n_connections": 3, **settings}
        for form in ("dense float64", "sparse float32"):
            yield Case(
                f"wiring, {name}, {form}", "RandomWiring", wiring, "two", form, kind="exact", stored=form[0] == "d"
            )
        for keep in ("last", "average", "vote", "pocket"):
            kind = {"last": "exact", "pocket": "exact", "average": "rounded", "vote": "exact"}[keep]
            yield Case(f"Mark I, {name}, {keep}", "MarkI", {**wiring, "keep": keep}, "four", kind=kind, stored=True)
    yield Case("Mark I, multinomial", "MarkI", {"n_units": 12, "multiclass": "multinomial"}, "four", kind="exact")


# -- from files, in shards, traced -----------------------------------------------------------------------------------

STREAMED = {
    "last": ("Perceptron", {}, "exact"),
    "radius": ("Perceptron", {"bias_step": "radius", "margin": 0.5}, "rounded"),
    "halved": ("Perceptron", {"learning_rate": halved, "record_errors": True}, "exact"),
    "balanced": ("Perceptron", {"class_weight": "balanced", "learning_rate": "1/sqrt(t)"}, "rounded"),
    "average": ("AveragedPerceptron", {"class_weight": {0: 2.5, 1: 0.5}}, "rounded"),
    "PAUM": ("PAUM", {}, "rounded"),
    "PA": ("PassiveAggressive", {"keep": "average"}, "rounded"),
    "AROW": ("AROW", {}, "rounded"),
    "AROW full": ("AROW", {"covariance": "full"}, "blas"),
    "second order": ("SecondOrderPerceptron", {"covariance": "full"}, "blas"),
    "second order diagonal": ("SecondOrderPerceptron", {}, "rounded"),
    "log": ("LinearClassifier", {"alpha": 0.01}, "rounded"),
    "l1": ("LinearClassifier", {"loss": "hinge", "penalty": "l1", "alpha": 0.01}, "rounded"),
    "no penalty": ("LinearClassifier", {"penalty": None, "class_weight": "balanced"}, "rounded"),
    "elastic net": ("LinearClassifier", {"penalty": "elasticnet", "alpha": 0.01, "multiclass": "ovr"}, "rounded"),
    "still": ("LinearClassifier", {"alpha": 0.01, "tol": 0.2, "max_epochs": 30, "n_iter_no_change": 2}, "rounded"),
    "Pegasos": ("Pegasos", {"alpha": 0.01}, "rounded"),
    "Pegasos projected": ("Pegasos", {"project": True, "class_weight": {0: 2.5, 1: 0.5}, "alpha": 0.01}, "rounded"),
    "Pegasos batches": ("Pegasos", {"batch_size": 7, "alpha": 0.01}, "rounded"),
    "tree": ("HierarchicalPerceptron", {}, "blas"),
    "tree average": ("HierarchicalPerceptron", {"keep": "average", "record_errors": True}, "blas"),
    "network": ("MultilayerPerceptron", {**PATIENT, "hidden_layer_sizes": (4,), "batch_size": 33}, "blas"),
    "network sgd": (
        "MultilayerPerceptron",
        {
            **PATIENT,
            "hidden_layer_sizes": (4,),
            "batch_size": 33,
            "solver": "sgd",
            "alpha": 0.1,
            "record_errors": True,
        },
        "blas",
    ),
}
NUMBERS = {
    "regression": ("PassiveAggressiveRegressor", {"C": 0.1}, "rounded"),
    "squared": ("LinearRegressor", {"solver": "stochastic", "alpha": 0.01}, "rounded"),
    "tube": ("LinearRegressor", {"solver": "stochastic", "loss": "epsilon_insensitive", "alpha": 0.01}, "rounded"),
}


def file_cases():
    for name, (learner, settings, kind) in STREAMED.items():
        for data, order in (("long two", "shuffle"), ("long four", "cyclic")):
            yield Case(f"file, {name}, {data}", learner, {"order": order, **settings}, data, act="file", kind=kind)
        yield Case(
            f"file, {name}, one pass",
            learner,
            {"order": "cyclic", "max_epochs": 1, **settings},
            "long two",
            act="file",
            kind=kind,
        )
        if name not in ("halved", "Pegasos batches"):
            yield Case(f"resumed, {name}", learner, settings, "long four", act="resumed", kind=kind, stored=True)
    for name, (learner, settings, kind) in NUMBERS.items():
        yield Case(f"file, {name}", learner, settings, "long numbers", act="file", kind=kind)
        yield Case(
            f"file, {name}, one pass",
            learner,
            {**settings, "order": "cyclic", "max_epochs": 1},
            "long numbers",
            act="file",
            kind=kind,
        )
        yield Case(f"resumed, {name}", learner, settings, "long numbers", act="resumed", kind=kind, stored=True)
    for multiclass in ("ovr", "ovo"):
        for learner in ("Perceptron", "AveragedPerceptron", "AROW"):
            for order in ("shuffle", "cyclic"):
                yield Case(
                    f"file, {multiclass}, {learner}, {order}",
                    learner,
                    {"multiclass": multiclass, "order": order},
                    "long four",
                    act="file",
                )
            yield Case(
                f"resumed, {multiclass}, {learner}",
                learner,
                {"multiclass": multiclass},
                "long four",
                act="resumed",
                stored=True,
            )
    for learner in ("Perceptron", "AveragedPerceptron"):
        yield Case(f"file, labels, {learner}", learner, {}, "long labels", act="file")
        yield Case(f"resumed, labels, {learner}", learner, {}, "long labels", act="resumed", stored=True)
        yield Case(f"file, table, {learner}", learner, {}, "long four", act="file", how={"table": True})
        yield Case(f"file, several, {learner}", learner, {}, "long four", act="file", how={"files": 3})
        yield Case(
            f"file, classes named, {learner}",
            learner,
            {"order": "cyclic", "max_epochs": 1},
            "long two",
            act="file",
            how={"fit": {"classes": [0, 1, 7], "n_features": 6, "zero_based": False}},
        )
    for learner in ("Perceptron", "AveragedPerceptron", "PassiveAggressive", "AROW"):
        yield Case(
            f"file, clean, {learner}",
            learner,
            {"max_epochs": 60},
            "clean two",
            act="file",
        )
        yield Case(f"file, drawn seed, {learner}", learner, {"random_state": "drawn"}, "long two", act="resumed")
    for keep in ("last", "average"):
        yield Case(
            f"file, clean, tree {keep}",
            "HierarchicalPerceptron",
            {"tree": TREE, "keep": keep, "max_epochs": 40},
            "clean four",
            act="file",
            kind="blas",
        )
    for name, rate in (("interrupted", interrupts_third), ("failed", fails_third)):
        yield Case(
            f"file, {name} by its rate",
            "AveragedPerceptron",
            {"learning_rate": rate, "max_epochs": 5},
            "long four",
            act="file",
        )
    for learner in ("VotedPerceptron", "KernelPerceptron", "LinearSVM"):
        yield Case(f"file, refused, {learner}", learner, {}, "long two", act="file")


SHARDED = {
    name: STREAMED[name]
    for name in (
        "last",
        "radius",
        "balanced",
        "average",
        "PAUM",
        "PA",
        "AROW",
        "AROW full",
        "second order",
        "log",
        "l1",
        "no penalty",
        "elastic net",
    )
}


def shard_cases():
    for name, (learner, settings, kind) in SHARDED.items():
        kind = "rounded" if kind == "exact" else kind  # a third is rounded
        for data, how in (("long two", {"shards": 2, "n_jobs": 2}), ("long four", {"shards": 3, "mixing": "mistakes"})):
            yield Case(f"shards, {name}, {data}", learner, settings, data, act="shards", how=how, kind=kind)
        yield Case(
            f"shards of files, {name}",
            learner,
            {"order": "cyclic", **settings},
            "long four",
            act="file",
            how={"files": 2, "fit": {"shards": 4, "n_jobs": 2}},
            kind=kind,
        )
        yield Case(
            f"resumed shards, {name}",
            learner,
            settings,
            "long two",
            act="resumed",
            kind=kind,
            stored=True,
            how={"fit": {"shards": 2, "n_jobs": 2}},
        )
    for name, (learner, settings, kind) in NUMBERS.items():
        yield Case(f"shards, {name}", learner, settings, "long numbers", act="shards", how={"shards": 2}, kind=kind)
    for multiclass in ("ovr", "ovo"):
        for learner in ("Perceptron", "AROW"):
            yield Case(
                f"shards, {multiclass}, {learner}",
                learner,
                {"multiclass": multiclass},
                "long four",
                "sparse float64",
                act="shards",
                how={"shards": 2, "n_jobs": 2},
            )
    for project in (False, True):
        yield Case(
            f"shards, Pegasos, project {project}",
            "Pegasos",
            {"alpha": 0.01, "project": project},
            "long two",
            act="shards",
            how={"shards": 2},
        )
    aim = {"alpha": 0.01, "tol": 0.2, "max_epochs": 30, "n_iter_no_change": 2}
    yield Case(
        "shards, no longer falls",
        "LinearClassifier",
        aim,
        "long two",
        act="shards",
        how={"shards": 2},
    )
    for learner in ("Perceptron", "AveragedPerceptron", "PassiveAggressive"):
        yield Case(
            f"shards, clean, {learner}",
            learner,
            {"max_epochs": 60, "record_errors": True},
            "clean two",
            act="shards",
            how={"shards": 2},
        )
    yield Case("shards, one", "Perceptron", {}, "long two", act="shards", how={}, kind="exact")
    yield Case(
        "shards, float32",
        "AveragedPerceptron",
        {},
        "long four",
        "sparse float32",
        act="shards",
        how={"shards": 3, "n_jobs": 3},
    )
    for learner in ("VotedPerceptron", "HierarchicalPerceptron", "MultilayerPerceptron"):
        yield Case(f"shards, refused, {learner}", learner, {}, "long two", act="shards", how={"shards": 2})


def trace_cases():
    for name, (learner, settings) in {
        "last": ("Perceptron", {}),
        "average": ("AveragedPerceptron", {}),
        "vote": ("VotedPerceptron", {}),
        "pocket": ("Perceptron", {"keep": "pocket"}),
        "batch": ("Perceptron", {"update": "batch"}),
        "worst": ("Perceptron", {"order": "worst"}),
        "PAUM": ("PAUM", {}),
        "PA": ("PassiveAggressive", {}),
        "AROW": ("AROW", {}),
        "second order": ("SecondOrderPerceptron", {}),
        "regression": ("PassiveAggressiveRegressor", {}),
    }.items():
        data = "few numbers" if name == "regression" else "few two"
        yield Case(f"trace, {name}", learner, settings, data, act="trace")
        if name not in ("regression", "PAUM"):
            yield Case(f"trace, {name}, three", learner, settings, "few three", act="trace")
    yield Case("trace, ovo", "Perceptron", {"multiclass": "ovo"}, "few three", act="trace")
    yield Case("trace, exact", "Perceptron", {}, "few two", act="trace", how={"exact": True})
    yield Case("trace, exact average", "AveragedPerceptron", {}, "few two", act="trace", how={"exact": True})


CASES = [
    case
    for make in (
        online_cases,
        separable_cases,
        shared_cases,
        objective_cases,
        dual_cases,
        kernel_cases,
        tree_cases,
        network_cases,
        file_cases,
        shard_cases,
        trace_cases,
    )
    for case in make()
]
