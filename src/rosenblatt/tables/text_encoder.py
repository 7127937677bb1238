"""`TextEncoder`: texts as rows of TF-IDF of their words and of pairs of neighbouring words."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, Options, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.formats.declared_fields import verify
from rosenblatt.formats.term_counts import TermCounts, count_terms
from rosenblatt.tables.columns.text import LEAST_ROWS, TextEncoding
from rosenblatt.tables.frames_out import dense_if_asked

Array = np.ndarray[Any, Any]


class TextEncoder(TransformerMixin, BaseEstimator):
    """Encodes texts as rows of TF-IDF of their words and of pairs of neighbouring words, in compiled passes.

    The vocabulary is exact: each column is a word or a pair, and has its name. A row has tf·idf of the terms of a
    text, scaled to length 1, where idf = 1 + ln((1 + n)/(1 + texts with the term)), learned from n texts. Case is
    lowered as `str.lower` does. `TableClassifier` encodes columns of text in the same way.

    Parameters
    ----------
    tokens : {"unicode", "sklearn"}, default="unicode"
        What a word is. "unicode": two or more letters, digits, marks and underscores, because vowels and accents of
        many scripts, such as those of Hindi and Thai, are marks; each character of Chinese and Japanese, which are
        written without spaces, is a word. "sklearn": as scikit-learn's vectorizers, two or more letters, digits and
        underscores; the matrix is then that of `TfidfVectorizer`, with the same columns.
    ngram_range : {(1, 1), (1, 2)}, default=(1, 2)
        Words alone, or words and pairs of neighbouring words.
    min_df : int or float in [0, 1], default=2
        The number of texts in which a term must occur to be a column, or the part of the texts.
    sublinear_tf : bool, default=True
        Whether tf is 1 + ln count instead of the count.

    Attributes
    ----------
    encoding_ : TextEncoding
        The terms and the idf of each.

    Examples
    --------
    >>> from rosenblatt import TextEncoder
    >>> encoder = TextEncoder(min_df=1).fit(["A good film", "not a good film"])
    >>> encoder.get_feature_names_out().tolist()
    ['film', 'good', 'good film', 'not', 'not good']
    >>> encoder.transform(["Good, but too long a film!"]).toarray().round(2)
    array([[0.71, 0.71, 0.  , 0.  , 0.  ]])
    """

    STORED = {"encoding_"}
    _parameter_constraints: dict[str, Any] = {
        "tokens": [StrOptions({"unicode", "sklearn"})],
        "ngram_range": [Options(tuple, {(1, 1), (1, 2)})],
        "min_df": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="both")],
        "sublinear_tf": ["boolean"],
    }
    encoding_: TextEncoding

    def __init__(
        self,
        *,
        tokens: str = "unicode",
        ngram_range: tuple[int, int] = (1, 2),
        min_df: float = LEAST_ROWS,
        sublinear_tf: bool = True,
    ) -> None:
        self.tokens, self.ngram_range, self.min_df, self.sublinear_tf = tokens, ngram_range, min_df, sublinear_tf

    def fit(self, X: Any, y: Any = None) -> TextEncoder:
        """Learn the vocabulary and the idf of each term.

        Parameters
        ----------
        X : sequence of str, or a table of one column
            The texts.
        y : ignored
            Not used; present as scikit-learn's transformers have it.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """`fit`, then `transform` of the same texts, whose words are found only once."""
        found = self._learn(X)
        return dense_if_asked(self, self.encoding_.encode(found))

    def transform(self, X: Any) -> Any:
        """The texts as rows of TF-IDF; words and pairs that were not learned are left out.

        Parameters
        ----------
        X : sequence of str, or a table of one column
            The texts.

        Returns
        -------
        csr_matrix of shape (n, terms), or a frame after `set_output`
        """
        check_is_fitted(self, "encoding_")
        return dense_if_asked(self, self.encoding_.encode(self._counts(X)))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The term of each column: a word, or two with a space between them.

        Parameters
        ----------
        input_features : ignored
            Not used; present as scikit-learn's transformers have it.
        """
        check_is_fitted(self, "encoding_")
        return np.array(self.encoding_.terms.names(), dtype=object)

    def _learn(self, X: Any) -> TermCounts:
        self._validate_params()
        found = self._counts(X)
        least = self.min_df if isinstance(self.min_df, Integral) else self.min_df * found.counts.shape[0]
        encoding = TextEncoding.of(found, least, sublinear=bool(self.sublinear_tf), by_name=True)
        if not encoding.width:
            n, m = found.counts.shape
            where = (
                f"the {n} texts have no words" if not m else f"no word is in {self.min_df} of {n} texts: lower min_df"
            )
            raise ValueError(f"The vocabulary is empty: {where}.")
        self.encoding_ = encoding
        return found

    def _counts(self, X: Any) -> TermCounts:
        return count_terms(as_texts(X), tokens=self.tokens, pairs=self.ngram_range == (1, 2))

    # -- scikit-learn and model files ---------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        """X is a sequence of texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def _renew(self) -> None:
        """Nothing to restore: no array is a view."""

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together."""
        self._validate_params()
        if "encoding_" in vars(self):
            verify(self.encoding_, TextEncoding)


def as_texts(X: Any) -> list[str]:
    """Texts as a list; of a table with one column, those in it."""
    if isinstance(X, str | bytes):
        raise ValueError("X is one text: expected a sequence of texts, such as [text].")
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2:
        if shape[1] != 1:
            raise ValueError(f"X has {shape[1]} columns: expected texts, or one column of them.")
        X = np.asarray(X, dtype=object)[:, 0]
    texts = X.to_pylist() if hasattr(X, "to_pylist") else list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"X, row {row}: expected text, found {text!r} (a missing text can be '').")
    return texts
