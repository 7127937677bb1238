"""Golden cases of kernels, trees of classes and networks."""

from golden_case import PATIENT, Case, product
from golden_online_cases import TREE
from rosenblatt import Layer

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
                {**poly, "max_support": 6, "when_full": rule, "multiclass": "ovr"},
                data,
                kind="blas",
                stored=True,
            )
        yield Case(
            f"kernel, {rule}, pieces",
            "KernelPerceptron",
            {**poly, "max_support": 6, "when_full": rule, "multiclass": "ovr"},
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
