"""Golden cases of learners that minimise an objective, directly or by its dual."""

from golden_case import Case, halved

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
            svm = {"loss": loss, "C": 0.125, "tol": 0.01, "intercept_scaling": 1.0}
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
            {"C": 0.125, "tol": 0.01, "intercept_scaling": 1.0, **settings},
            "four",
            kind="blas",
            stored=True,
        )
    yield Case(
        "LinearSVM, weights",
        "LinearSVM",
        {"C": 0.125, "tol": 0.01, "intercept_scaling": 1.0},
        "two",
        kind="blas",
        how={"weights": "fractions"},
    )
    for learner, more in (("LinearSVM", {"C": 0.125}), ("KernelSVM", {"gamma": 0.125})):
        for data in ("two", "four"):
            yield Case(f"{learner}, free intercept, {data}", learner, {"tol": 1e-3, **more}, data, kind="blas")
    for data in ("two", "four"):
        for multiclass in ("ovr", "ovo"):
            svm = {"kernel": "rbf", "gamma": 0.125, "tol": 0.01, "multiclass": multiclass, "intercept_scaling": 1.0}
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
        {"kernel": "poly", "degree": 2, "gamma": 0.125, "coef0": 1.0, "tol": 0.01, "intercept_scaling": 1.0},
        "two",
        "sparse float32",
        kind="blas",
    )
    for settings in ({"fit_intercept": False}, {"class_weight": "balanced"}, {"max_epochs": 2, "tol": 1e-9}):
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        yield Case(
            f"KernelSVM, {words}",
            "KernelSVM",
            {"gamma": 0.125, "tol": 0.01, "intercept_scaling": 1.0, **settings},
            "two",
            kind="blas",
        )
    for act in ("watched", "stopped", "interrupted"):
        for learner in ("LinearSVM", "KernelSVM"):
            how = {"tol": 1e-9, "max_epochs": 6, "intercept_scaling": 1.0}
            yield Case(f"{act}, {learner}", learner, how, "two", kind="blas", act=act)
    for data in ("clean two", "clean four", "two"):
        for form in ("dense float64", "sparse float64"):
            yield Case(f"MaxMargin, {data}, {form}", "MaxMargin", {}, data, form, kind="blas", stored=form[0] == "d")
    yield Case("MaxMargin, no bias", "MaxMargin", {"fit_intercept": False}, "clean two", kind="blas", stored=True)
