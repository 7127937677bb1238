"""`Tagger`: parts of speech, or any tag of a word, from raw words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.formats.declared_fields import is_count, must, verify
from rosenblatt.formats.reading import in_bytes
from rosenblatt.learn.epochs import EpochRecord, InMemory, PartOfEpoch, Training
from rosenblatt.sequence.greedy import (
    GreedyModel,
    GreedySolver,
    GreedyTask,
    WordSentences,
    dynamic_features,
    most_rows,
    new_greedy_state,
)
from rosenblatt.sequence.sentences import distinct_tags, flat_tags, tag_codes
from rosenblatt.sequence.templates import TemplateFeatures
from rosenblatt.sequence.vector_rows import padded
from rosenblatt.sequence.words import WORD, sure_tags, word_sentences
from rosenblatt.shell.fitted_attributes import check_attributes, class_count
from rosenblatt.shell.fitting import all_or_nothing, train
from rosenblatt.shell.online_learner import OnlineLearner, watched
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]
TEMPLATE = """
U00:
U01:%x[0,0]
U02:%x[-1,0]
U03:%x[-2,0]
U04:%x[1,0]
U05:%x[2,0]
U06:%x[0,1]
U07:%x[-1,1]
U08:%x[1,1]
U09:%x[0,2]
U10:%x[0,3]
U11:%x[0,4]
U12:%x[0,5]
U13:%x[0,6]
U14:%x[-1,0]/%x[0,0]
U15:%x[0,0]/%x[1,0]
"""


class Tagger(OnlineLearner):
    """The greedy averaged perceptron for parts of speech: raw words in, tags out.

    From left to right each word gets the tag with the largest score at once. Its features are the words around it,
    their prefixes, suffixes and shapes, and the two predicted tags before it:

        ŷ_t = argmax_k Σ_f W[f, k]          W[f, y_t] += 1,  W[f, ŷ_t] −= 1   where ŷ_t ≠ y_t

    The model is the average of W over all tokens. Words that nearly always had the same tag in training get it without
    scoring. To choose all tags of a sentence together, use `SequencePerceptron`.

    Parameters
    ----------
    max_epochs : int, default=5
        The maximum number of passes over the sentences.
    sure_count : int, default=20
        A word gets its usual tag without scoring if it occurred at least this often in training …
    sure_share : float, default=0.97
        … and at least this share of its occurrences had that tag.
    memory : str or int, default="4GB"
        The most memory that the weights of all features and tags may take.
    random_state : int, RandomState or None, default=None
        Seeds the order of sentences.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The tags, sorted.
    sure_ : dict
        Words with one sure tag, and that tag.
    n_features_in_ : int
        Distinct features of words in the training sentences.
    n_iter_ : int
        Epochs that were run.
    report_ : Report
        How the fit ended; `token_errors` of `tokens` are wrong.

    References
    ----------
    M. Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002. M. Honnibal, "A good
    part-of-speech tagger in about 200 lines of Python", 2013.

    Examples
    --------
    >>> from rosenblatt import Tagger
    >>> sentences = [["The", "dog", "barks"], ["A", "cat", "sleeps"], ["The", "cat", "barks"]]
    >>> tagger = Tagger(random_state=0).fit(sentences, [["DT", "NN", "VBZ"]] * 3)
    >>> tagger.predict([["A", "dog", "sleeps"]])
    [['DT', 'NN', 'VBZ']]
    """

    sure_count: int
    sure_share: float
    memory: str | int
    max_epochs: int
    classes_: Array
    _features: TemplateFeatures
    _sure: dict[str, int]
    STORED = (OnlineLearner.STORED | {"_features", "_sure"}) - {"_contents", "_state", "coef_", "intercept_"}
    ENCODED = ("n_features_in_", "_features", "_sure")
    _parameter_constraints: dict[str, Any] = {
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "sure_count": [Interval(Integral, 1, None, closed="left")],
        "sure_share": [Interval(Real, 0.5, 1.0, closed="right")],
        "memory": [str, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        max_epochs: int = 5,
        sure_count: int = 20,
        sure_share: float = 0.97,
        memory: str | int = "4GB",
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Any:
        """Learn until every tag is right or the epochs are spent.

        Parameters
        ----------
        X : sequence of sentences
            Each a sequence of words.
        y : sequence of tag sequences
            The tags of each sentence.

        Returns
        -------
        self
        """
        for _ in self._train(X, y):
            pass
        return self

    def _train(self, X: Any, y: Any) -> Iterator[PartOfEpoch | EpochRecord]:
        self._validate_params()
        columns, words, number = word_sentences(X)
        tags = flat_tags(y, np.diff(columns.bounds.astype(np.int64)))
        if not tags:
            raise ValueError("Found no words: there is nothing to learn from.")
        classes = distinct_tags(tags)
        target = read_only(tag_codes(tags, classes, len(tags)))
        features, rows = TemplateFeatures.collected(columns, TEMPLATE)
        self._features, self.n_features_in_ = features, features.size
        self._sure = sure_tags(words, number, target, int(self.sure_count), float(self.sure_share))
        places, sure = self._per_token(columns, words, number)
        sentences = WordSentences(rows.features, rows.bounds, features.size, target, classes, words=places, sure=sure)
        rows_needed = self._rows_needed(features, int(classes.size), len(tags))
        state = new_greedy_state(features.size, int(classes.size), len(features.words), new_seed(self.random_state))
        source: Any = InMemory(sentences)  # type: ignore[arg-type]
        run = Training(GreedySolver(state, rows_needed), source, self.max_epochs)
        with watched(self, self.max_epochs, X, y, sentences) as watch:  # type: ignore[arg-type]
            yield from train(self, run, watch)

    def _rows_needed(self, features: TemplateFeatures, tags: int, tokens: int) -> int:
        """The most rows of weights that training can use; refuses more than memory allows."""
        words = len(features.words)
        rows = most_rows(features.size, tags, words, tokens * self.max_epochs)
        needed = 12 * rows * padded(tags) + 4 * (features.size + dynamic_features(tags, words))
        if needed > in_bytes(self.memory):
            raise ValueError(
                f"The weights of {features.size:,} features, {words:,} words and {tags} tags may take "
                f"{needed / 1e6:,.0f} MB, more than memory={self.memory!r}: allow more, or learn from fewer sentences."
            )
        return rows

    def _per_token(self, columns: Any, words: list[str], number: Array) -> tuple[Array, Array]:
        """The number of each token's word among the features, −1 if it is not known, and its sure tag, or −1."""
        known = self._features.words.index
        forms = np.array([known.get(name, -1) for name in columns.words.names], dtype=np.int32)
        sure = np.array([self._sure.get(word, -1) for word in words], dtype=np.int32)
        return forms[columns.cells[:, WORD]], sure[number]

    def _predicted_tags(self, X: Any) -> tuple[Array, Array]:
        """The codes of the tags of all tokens, and the bounds of sentences."""
        check_is_fitted(self, "_kept")
        if np.shape(self.classes_) != (self._kept.tags,):
            raise ValueError(f"Tagger learned {self._kept.tags} tags: classes_ is set by fit.")
        columns, words, number = word_sentences(X)
        rows = self._features.rows(columns)
        places, sure = self._per_token(columns, words, number)
        # Unknown features have the number `size`, whose row of weights is zero.
        empty = np.uint32(self._kept.slots.size - 1)
        known = np.where(rows.features.columns == self._features.size, empty, rows.features.columns)
        features = rows.features._replace(columns=read_only(known))
        return self._kept.predicted_tags(GreedyTask(features, rows.bounds, sure[:0], places, sure)), rows.bounds

    @property
    def sure_(self) -> dict[str, Any]:
        """Words with one sure tag, and that tag."""
        check_is_fitted(self, "_kept")
        names = self.classes_.tolist()
        return {word: names[code] for word, code in self._sure.items()}

    def predict(self, X: Any) -> list[list[Any]]:
        """The tags of sentences.

        Parameters
        ----------
        X : sequence of sentences
            Each a sequence of words.

        Returns
        -------
        list of lists of tags
        """
        codes, bounds = self._predicted_tags(X)
        names, ends = self.classes_.tolist(), bounds.tolist()
        tags = [names[code] for code in codes.tolist()]
        return [tags[begin:end] for begin, end in pairwise(ends)]

    def score(self, X: Any, y: Any) -> float:
        """The share of words that get the right tag.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        float
        """
        codes, bounds = self._predicted_tags(X)
        tags = flat_tags(y, np.diff(bounds.astype(np.int64)))
        if not tags:
            raise ValueError("Found no words: there is nothing to score.")
        return float(np.mean(codes == tag_codes(tags, self.classes_, len(tags))))

    def _check_whole(self) -> None:
        check_attributes(self)
        if "_kept" in vars(self):
            d, tags = self.n_features_in_, class_count(self)
            verify(self._kept, GreedyModel, d=d, tags=tags)
            verify(self._features, TemplateFeatures, d=d)
            size = d + dynamic_features(tags, len(self._features.words)) + 1
            must(self._kept.slots.size == size, f"a place for each of {size} features")
            must(isinstance(self._sure, dict), "words with a sure tag")
            for word, code in self._sure.items():
                must(isinstance(word, str) and is_count(code) and code < tags, "words with a sure tag")

    def __sklearn_tags__(self) -> Any:
        """X is sentences, not a two-dimensional array."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags
