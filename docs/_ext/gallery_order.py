"""The order of the gallery: the first plane, how it is learned, whether there is one, then margins and losses."""

ORDER = (
    "first_plane",
    "perceptron_run",
    "epochs",
    "last_average_vote",
    "separable_or_not",
    "margin_distribution",
    "soft_margin",
    "unbalanced",
    "losses_and_surface",
    "logistic",
    "kernels_and_networks",
    "grid_search",
    "stream",
    "words",
    "lattice",
)


class InOrder:
    """The sort key of an example: its place in the list; a script that is not listed is an error."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> int:
        return ORDER.index(name.removeprefix("plot_").removesuffix(".py"))
