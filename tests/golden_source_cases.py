"""Golden cases from files, in shards, and traced."""

from golden_case import PATIENT, Case, fails_third, halved, interrupts_third
from golden_online_cases import TREE

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
        yield Case(f"file, table, {learner}", learner, {}, "long four", act="file", how={"table": True}, stored=True)
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
