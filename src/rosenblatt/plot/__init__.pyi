"""The pictures, each with its home."""

from .convex_hulls import hulls as hulls
from .decision_regions import regions as regions
from .epoch_curves import epochs as epochs
from .grid_search_scores import search as search
from .logistic_curve import logistic as logistic
from .loss_curves import losses as losses
from .loss_surface import surface as surface
from .margin_distribution import margins as margins
from .mistake_curve import mistakes as mistakes
from .normalised_rows import normalised as normalised
from .sentence_lattice import lattice as lattice
from .training_run import animate as animate
from .training_run import run as run
from .word_weights import words as words
