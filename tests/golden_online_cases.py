"""Golden cases of the online learners, and of choices that most learners share."""

from dataclasses import replace

from golden_case import PATIENT, Case, fails_third, halved, interrupts_third

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
