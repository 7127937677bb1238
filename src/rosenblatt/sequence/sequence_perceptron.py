"""`SequencePerceptron`: tags for the tokens of sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.compiled.row_arrays import Dense, Sparse, read_only
from rosenblatt.formats.declared_fields import verify
from rosenblatt.formats.reading import in_bytes
from rosenblatt.learn.epochs import EpochRecord, InMemory, PartOfEpoch, Training
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.plan import checked_order
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.sequence.constraints import check_paths, forbidden_moves
from rosenblatt.sequence.sentences import Sentences, TokenRows, distinct_tags, flat_tags, tag_codes, token_rows
from rosenblatt.sequence.solver import (
    PathModel,
    SequencePlan,
    SequenceSolver,
    SequenceState,
    WrongPaths,
    grown_state,
    new_sequence_state,
)
from rosenblatt.sequence.templates import Template, TemplateFeatures
from rosenblatt.sequence.token_features import ItemFeatures
from rosenblatt.sequence.vector_rows import padded
from rosenblatt.sequence.visits import PathRule
from rosenblatt.shell.fitted_attributes import check_attributes, check_model, class_count
from rosenblatt.shell.fitting import all_or_nothing, one_epoch, state_to_continue, train
from rosenblatt.shell.online_learner import SPLIT, OnlineLearner, watched
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]
NO_MARGINALS = (
    "{} has no {}: its scores are not probabilities, and marginals do not exist. A conditional random field has them."
)


class SequencePerceptron(OnlineLearner):
    r"""The structured perceptron: a tag for each token of a sentence, all of them chosen together.

    With Φ(x, y) counting every pair of a feature and a tag, and every pair of neighbouring tags, Viterbi's algorithm
    finds the best path of tags, and a wrong path updates the weights (Collins 2002):

        ŷ = argmax_y w·Φ(x, y)          w += Φ(x, y) − Φ(x, ŷ)

    If some w of length 1 gives every correct path a lead of δ over all others, there are at most R²/δ² updates,
    R = max‖Φ(x, y) − Φ(x, ŷ)‖. The average of all weights, which is the model by default, generalises better than the
    last ones.

    Features are given as for python-crfsuite: a token is a list of strings, or a dict of names with numbers, strings,
    booleans, lists, sets or dicts (names are joined by ":"). Or a token is a row of an array or CSR matrix.

    Parameters
    ----------
    rule : {"perceptron", "pa"}, default="perceptron"
        The update rule. "pa" is passive-aggressive (PA-I): it decodes with a cost of 1 for each wrong tag and takes the
        step min(C, ℓ/‖ΔΦ‖²), ℓ = cost − w·ΔΦ.
    C : float, default=0.03
        The largest step of "pa".
    keep : {"average", "last"}, default="average"
        Which weights are the model: their average over all visits, or the last ones.
    constraints : {"iob1", "iob2", "iobes"} or None, default=None
        Forbids transitions between tags that are impossible in this notation for chunks. A sentence for which the known
        tags allow no path, such as a single word when training had no tag for one, is tagged without constraints.
    transitions : bool, default=True
        Whether pairs of neighbouring tags have weights; without them tags are chosen one by one.
    template : str or None, default=None
        Feature templates in CRF++'s notation, such as "U00:%x[-1,0]/%x[0,0]\nB": tokens are then sequences of columns,
        as `read_conll` reads them. Without a line B there are no transitions.
    min_count : int, default=1
        Features that occur less often are left out.
    memory : str or int, default="4GB"
        The most memory that the weights of all features and tags may take.
    order : {"shuffle", "cyclic", "random"} or sequence of sentences, default="shuffle"
        The order of visits: a fresh permutation each epoch, as given, with replacement, or these sentences.
    max_epochs : int, default=10
        The maximum number of passes over the sentences.
    early_stopping : bool, default=False
        Hold out sentences, stop when their token accuracy has not improved for `n_iter_no_change` epochs, and return
        the best epoch.
    validation_fraction : float, default=0.1
        The share of sentences held out for early stopping.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    random_state : int, RandomState or None, default=None
        Seeds the order of sentences and the choice of held-out ones.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The tags, sorted.
    transitions_ : ndarray of shape (K, K)
        The weight of the tag of a column after the tag of a row.
    start_ : ndarray of shape (K,)
        The weight of each tag at the start of a sentence.
    coef_ : ndarray of shape (K, d)
        The weight of each feature for each tag, computed on access.
    features_ : list of str or None
        The names of features; None for rows of an array.
    n_features_in_ : int
        The number of features.
    n_iter_ : int
        Epochs that were run.
    report_ : Report
        How the fit ended: `errors` of `rows` sentences and `token_errors` of `tokens` are wrong; where the paths were
        separated, `margin` is δ, `radius` is R, over the updates that were made, and `bound` is R²/δ².

    References
    ----------
    M. Collins, "Discriminative training methods for hidden Markov models: theory and experiments with perceptron
    algorithms", EMNLP 2002. K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online passive-aggressive
    algorithms", JMLR 7, 2006.

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron
    >>> sentences = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]]
    >>> tags = [["D", "N", "V"], ["D", "N", "V"]]
    >>> tagger = SequencePerceptron(random_state=0).fit(sentences, tags)
    >>> tagger.predict([[["the"], ["cat"], ["barks"]]])
    [['D', 'N', 'V']]
    >>> tagger.report_.outcome, tagger.report_.updates <= tagger.report_.bound
    ('separated', True)
    >>> weights = tagger.weights("cat")
    >>> max(weights, key=weights.get)
    'N'
    """

    rule: str
    C: float
    keep: str
    constraints: str | None
    transitions: bool
    template: str | None
    min_count: int
    memory: str | int
    order: Any
    max_epochs: int
    classes_: Array
    _features: Any
    _contents: str
    STORED = (OnlineLearner.STORED | {"_features"}) - {"coef_", "intercept_"}
    ENCODED = ("n_features_in_", "_features")
    _parameter_constraints: dict[str, Any] = {
        "rule": [StrOptions({"perceptron", "pa"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "keep": [StrOptions({"average", "last"})],
        "constraints": [StrOptions({"iob1", "iob2", "iobes"}), None],
        "transitions": ["boolean"],
        "template": [str, None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "memory": [str, Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"shuffle", "cyclic", "random"}), "array-like"],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        rule: str = "perceptron",
        C: float = 0.03,
        keep: str = "average",
        constraints: str | None = None,
        transitions: bool = True,
        template: str | None = None,
        min_count: int = 1,
        memory: str | int = "4GB",
        order: str | Sequence[int] = "shuffle",
        max_epochs: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    # -- learning ----------------------------------------------------------------------------------------------------

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, lengths: Any = None) -> Any:
        """Learn until every path is right or the epochs are spent.

        Parameters
        ----------
        X : sequence of sentences, or array or CSR matrix of shape (tokens, d)
            A sentence is a sequence of tokens, each a list of strings or a dict of features.
        y : sequence of tag sequences, or tags of all tokens if X has rows
            The tags of each sentence.
        lengths : array-like of shape (sentences,), optional
            If X has rows: the number of tokens of each sentence, in order. By default all rows are one sentence.

        Returns
        -------
        self
        """
        for _ in training_steps(self, X, y, lengths):
            pass
        return self

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, lengths: Any = None, classes: Any = None) -> Any:
        """Make one epoch over these sentences.

        E calls on all sentences are one fit of E epochs. New features and tags may appear in any call.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        classes : sequence of tags, optional
            Tags to expect, whether or not they are in y.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.early_stopping:
            raise ValueError("early_stopping needs all sentences at once: use fit, not partial_fit.")
        if self.min_count > 1:
            raise ValueError("min_count counts features in all sentences: use fit, not partial_fit.")
        first = "_state" not in vars(self)
        if not first and self._state.keep != self.keep:
            raise ValueError(f"keep was {self._state.keep!r} in the first call and is now {self.keep!r}.")
        sentences = self._sentences(X, y, lengths, first=first, classes=classes)
        solver = self._solver(sentences)
        if not first:
            places = np.searchsorted(sentences.classes, self.classes_)
            solver.state = grown_state(self._state, sentences.n_features, places, int(sentences.classes.size))
        one_epoch(self, solver, InMemory(sentences))  # type: ignore[arg-type]
        return self

    def _sentences(self, X: Any, y: Any, lengths: Any, *, first: bool, classes: Any = None) -> Sentences:
        """X and y, encoded."""
        known = None if first else self.classes_
        if classes is not None:
            known = distinct_tags(classes, known)
        features, rows, tags = self._training_rows(X, y, lengths, first)
        if not tags:
            raise ValueError("Found no tokens: there is nothing to learn from.")
        found = distinct_tags(tags, known)
        target = read_only(tag_codes(tags, found, len(tags)))
        self._features = features
        self.n_features_in_ = rows_wide = rows[1]
        return Sentences(rows[0].features, rows[0].bounds, rows_wide, target, found)

    def _training_rows(self, X: Any, y: Any, lengths: Any, first: bool) -> tuple[Any, tuple[TokenRows, int], list[Any]]:
        """The features, the tokens as rows of them with the number of features, and the tags of all tokens."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if _has_rows(X):
            if self.min_count > 1:
                raise ValueError("min_count is for features by name; select the columns of X instead.")
            if not first and self._features is not None:
                raise ValueError("X has rows; the model was fitted to features by name.")
            rows = self._token_rows(X, lengths, reset=first)
            tags = np.asarray(y).ravel().tolist() if not isinstance(y, list) else y
            if len(tags) != rows.tokens:
                raise ValueError(f"X has {rows.tokens} rows, y has {len(tags)} tags.")
            return None, (rows, int(self.n_features_in_)), tags
        if not first and self._features is None:
            raise ValueError("X has features by name; the model was fitted to rows.")
        if not first and self._template() != self.template:
            raise ValueError("template must be the same as in the first call of partial_fit.")
        _refuse_lengths(lengths)
        known = None if first else self._features
        features: Any
        if self.template is None:
            features, rows = ItemFeatures.collected(X, known, int(self.min_count))
        else:
            features, rows = TemplateFeatures.collected(X, self.template, known, int(self.min_count))
        if not features.size:
            raise ValueError(f"Found no feature at least {self.min_count} times: there is nothing to learn from.")
        return features, (rows, features.size), flat_tags(y, np.diff(rows.bounds.astype(np.int64)))

    def _solver(self, sentences: Sentences) -> SequenceSolver:
        """The solver for these sentences, with all weights at zero."""
        tags = sentences.classes.tolist()
        forbidden = forbidden_moves(tags, self.constraints)
        check_paths(sentences.target, sentences.bounds, tags, forbidden, self.constraints)
        per_weight = 12 if self.keep == "average" else 4
        needed, memory = sentences.n_features * padded(len(tags)) * per_weight, in_bytes(self.memory)
        if needed > memory:
            raise ValueError(
                f"The weights of {sentences.n_features:,} features and {len(tags)} tags may take "
                f"{needed / 1e6:,.0f} MB, more than memory={self.memory!r}: leave out rare features (min_count), or "
                "allow more memory."
            )
        order = checked_order(self.order)
        if not isinstance(order, str) and order.max() >= sentences.bounds.size - 1:
            raise ValueError(f"order names sentence {int(order.max())}, X has {sentences.bounds.size - 1} sentences.")
        chained = self.transitions and (self.template is None or Template.parse(self.template).pairs)
        plan = SequencePlan(PathRule(self.rule == "pa", float(self.C), bool(chained)), order, forbidden)
        seed = new_seed(self.random_state)
        return SequenceSolver(plan, new_sequence_state(sentences.n_features, len(tags), self.keep, seed))

    def _held_out(self, sentences: Sentences, seed: int) -> tuple[Sentences, Any]:
        """Sentences to learn from, and the score on the others."""
        if not self.early_stopping:
            return sentences, None
        n = sentences.size
        count = math.ceil(self.validation_fraction * n)
        if not 0 < count < n:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} holds out {count} of {n} sentences: some must be "
                "held out, and some left to learn from."
            )
        held = np.zeros(n, dtype=bool)
        held[Shuffled(n, seed).piece(SPLIT, 0, count).astype(np.int64)] = True
        score = partial(_token_accuracy, sentences=sentences.only(np.flatnonzero(held).astype(np.uint64)))
        return sentences.only(np.flatnonzero(~held).astype(np.uint64)), score

    def _template(self) -> str | None:
        """The template of the features that the model knows."""
        return self._features.template if isinstance(self._features, TemplateFeatures) else None

    # -- rows --------------------------------------------------------------------------------------------------------

    def _token_rows(self, X: Any, lengths: Any, reset: bool) -> TokenRows:
        """Rows of an array or a sparse matrix as tokens."""
        rows, _ = self._reader.rows(self, X, reset)
        if isinstance(rows, Dense):
            rows, _ = encode_rows(sp.csr_array(rows.values))
        assert isinstance(rows, Sparse)
        with np.errstate(over="ignore"):
            values = rows.values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            raise ValueError("Input X contains a value that is too large for float32, in which weights are learned.")
        per_token = np.diff(rows.starts.astype(np.int64))
        per_sentence = _checked_lengths(lengths, per_token.size)
        values = values[:0] if (values == 1.0).all() else values
        return token_rows(rows.columns.astype(np.uint32, copy=False), values, per_token, per_sentence)

    def _known(self, X: Any, lengths: Any) -> TokenRows:
        """Tokens to tag, by the features that the model knows."""
        check_is_fitted(self, "_kept")
        self._check_now()
        if _has_rows(X):
            if self._features is not None:
                raise ValueError("X has rows; the model was fitted to features by name.")
            return self._token_rows(X, lengths, reset=False)
        if self._features is None:
            raise ValueError("X has features by name; the model was fitted to rows.")
        _refuse_lengths(lengths)
        rows: TokenRows = self._features.rows(X)
        return rows

    def _check_now(self) -> None:
        kept: PathModel = self._kept
        if self.n_features_in_ != kept.n_features or np.shape(self.classes_) != (kept.tags,):
            raise ValueError(
                f"{type(self).__name__} learned {kept.n_features} features and {kept.tags} tags: n_features_in_ and "
                "classes_ are set by fit."
            )

    # -- use ---------------------------------------------------------------------------------------------------------

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The best tags of sentences.

        Parameters
        ----------
        X, lengths
            As in `fit`. Features that did not occur in training are ignored.

        Returns
        -------
        list of lists of tags, or an array of the tags of all rows
        """
        rows = self._known(X, lengths)
        codes = self._kept.paths(rows)
        if _has_rows(X):
            return self.classes_[codes]
        names = self.classes_.tolist()
        tags = [names[code] for code in codes.tolist()]
        bounds = rows.bounds.tolist()
        return [tags[begin:end] for begin, end in pairwise(bounds)]

    def score(self, X: Any, y: Any, lengths: Any = None) -> float:
        """The share of tokens that get the right tag; a tag that did not occur in training always counts as wrong.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.

        Returns
        -------
        float
        """
        rows = self._known(X, lengths)
        tags = np.asarray(y).ravel().tolist() if _has_rows(X) else flat_tags(y, np.diff(rows.bounds.astype(np.int64)))
        if len(tags) != rows.tokens:
            raise ValueError(f"X has {rows.tokens} rows, y has {len(tags)} tags.")
        if not tags:
            raise ValueError("Found no tokens: there is nothing to score.")
        return float(np.mean(self._kept.paths(rows) == tag_codes(tags, self.classes_, len(tags))))

    @property
    def transitions_(self) -> Array:
        """The weight of each tag after each other one."""
        check_is_fitted(self, "_kept")
        K = self._kept.tags
        return read_only(self._kept.transitions[:K, :K])

    @property
    def start_(self) -> Array:
        """The weight of each tag at the start of a sentence."""
        check_is_fitted(self, "_kept")
        K = self._kept.tags
        return read_only(self._kept.transitions[K, :K])

    @property
    def coef_(self) -> Array:  # type: ignore[override]
        """The weight of each feature for each tag, (K, d)."""
        check_is_fitted(self, "_kept")
        kept = self._kept
        return read_only(kept.rows[kept.slots[:-1], : kept.tags].T)

    @property
    def features_(self) -> list[str] | None:
        """The names of features."""
        check_is_fitted(self, "_kept")
        return None if self._features is None else list(self._features.names)

    def weights(self, feature: str) -> dict[Any, float]:
        """The weight of a feature for each tag.

        Parameters
        ----------
        feature : str
            Its name, such as "word:dog"; a column number if the model was fitted to rows.

        Returns
        -------
        dict
            From each tag to its weight.
        """
        check_is_fitted(self, "_kept")
        number = feature if self._features is None else self._features.number(feature)
        if not isinstance(number, int | np.integer) or not 0 <= number < self._kept.n_features:
            raise KeyError(f"{feature!r} is not a feature of this model.")
        row = self._kept.rows[self._kept.slots[number], : self._kept.tags]
        return dict(zip(self.classes_.tolist(), row.tolist(), strict=True))

    @property
    def predict_proba(self) -> Any:
        """Not available: scores are not probabilities."""
        raise AttributeError(NO_MARGINALS.format(type(self).__name__, "predict_proba"))

    @property
    def predict_marginals(self) -> Any:
        """Not available: scores are not probabilities."""
        raise AttributeError(NO_MARGINALS.format(type(self).__name__, "predict_marginals"))

    # -- model files -------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Nothing to restore: no array is a view."""

    def _check_whole(self) -> None:
        check_attributes(self)
        if "_kept" in vars(self) or "_state" in vars(self):
            check_model(self, PathModel, SequenceState, d=self.n_features_in_, tags=class_count(self))
            if self._features is not None:
                verify(self._features, ItemFeatures | TemplateFeatures, d=self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        """X is sentences, not a two-dimensional array."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def training_steps(
    learner: SequencePerceptron,
    X: Any,
    y: Any,
    lengths: Any = None,
    save: Callable[[Any], None] | None = None,
    resume: Callable[[Any], Any] | None = None,
) -> Iterator[PartOfEpoch | EpochRecord]:
    """`fit`, step by step; `save` gets the estimator after each epoch, `resume` returns one to continue from."""
    learner._validate_params()
    sentences = learner._sentences(X, y, lengths, first=True)
    solver, records = learner._solver(sentences), list[EpochRecord]()
    if save is not None or resume is not None:
        learner._contents = sentences.digest()
    earlier = None if resume is None else resume(learner)
    if earlier is not None:
        solver.state, records = state_to_continue(earlier, sentences.facts())
    training, validation = learner._held_out(sentences, solver.state.seed)
    source: Any = InMemory(training)  # type: ignore[arg-type]
    run = Training(solver, source, learner.max_epochs, records, validation, learner.n_iter_no_change)
    with watched(learner, learner.max_epochs, X, y, sentences) as watch:  # type: ignore[arg-type]
        yield from train(learner, run, watch, save)


def begun(learner: SequencePerceptron, X: Any, y: Any) -> tuple[SequenceSolver, Sentences, list[str]]:
    """The solver of a fit that is about to begin, the sentences, and the names of their features."""
    sentences = learner._sentences(X, y, None, first=True)
    if learner._features is None:
        raise ValueError("trace shows features by name: pass sentences, not rows.")
    return learner._solver(sentences), sentences, list(learner._features.names)


def known_tokens(model: SequencePerceptron, X: Any) -> TokenRows:
    """The tokens of sentences, by the features that a fitted model knows."""
    return model._known(X, None)


def _has_rows(X: Any) -> bool:
    """Whether tokens are rows of an array or a matrix, rather than lists of features by name."""
    if sp.issparse(X) or hasattr(X, "columns"):  # a frame; a pandas Series may hold sentences
        return True
    return isinstance(X, np.ndarray) and X.dtype.kind in "biufc"


def _refuse_lengths(lengths: Any) -> None:
    if lengths is not None:
        raise ValueError("lengths is for rows of an array; a list of sentences has its own lengths.")


def _checked_lengths(lengths: Any, tokens: int) -> Array:
    """The number of tokens of each sentence; by default one sentence holds all."""
    if lengths is None:
        return np.array([tokens])
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError("lengths must be whole numbers, one per sentence, not below 0.")
    if int(found.sum()) != tokens:
        raise ValueError(f"lengths add up to {int(found.sum())} tokens, X has {tokens} rows.")
    return found.astype(np.int64)


def _token_accuracy(kept: PathModel, sentences: Sentences) -> float:
    wrong = WrongPaths(kept)(sentences, 0)[1]
    lengths = np.diff(sentences.bounds.astype(np.int64))[sentences.index.astype(np.int64)]
    return 1.0 - wrong / max(int(lengths.sum()), 1)
