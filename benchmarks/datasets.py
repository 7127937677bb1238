"""Data for the benchmarks: generated, or read from the folder that ROSENBLATT_DATA names."""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def folder(name: str) -> Path | None:
    """The folder of a data set, or None if it does not exist."""
    root = os.environ.get("ROSENBLATT_DATA")
    path = Path(root) / name if root else None
    return path if path is not None and path.is_dir() else None


def text_like(n: int = 200_000, d: int = 47_236, length: int = 63, seed: int = 0) -> tuple[Any, Any]:
    """Documents of about `length` distinct words drawn by Zipf's law, TF-IDF-like weights, two noisy classes."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (np.arange(d) + 2.7)
    edges = np.cumsum(share / share.sum())
    name = rng.permutation(d).astype(np.int32)  # the rank of a word is unrelated to its column
    lengths = np.maximum(rng.poisson(1.13 * length, n), 1)  # repeated words count once
    ranks = np.minimum(np.searchsorted(edges, rng.random(lengths.sum())), d - 1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    X = sp.csr_matrix((np.ones(ranks.size, np.float32), name[ranks], starts), shape=(n, d))
    X.sum_duplicates()
    X.data = (1 + np.log(X.data)).astype(np.float32)
    idf = np.log(1 / (share / share.sum()))[np.argsort(name)].astype(np.float32)
    X.data *= idf[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    f = X @ rng.standard_normal(d)
    y = (f + 0.3 * f.std() * rng.standard_normal(n) > 0).astype(np.int64)
    return X, y


def dense(n: int = 1_000_000, d: int = 64, seed: int = 0) -> tuple[Any, Any]:
    """Gaussian rows, two noisy classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    f = X @ rng.standard_normal(d).astype(np.float32)
    return X, (f + 0.3 * f.std() * rng.standard_normal(n) > 0).astype(np.int64)


def mnist() -> tuple[Any, Any, Any, Any] | None:
    """60,000 and 10,000 handwritten digits, pixels/255 as float32."""
    at = folder("mnist")
    if at is None:
        return None

    def read(name: str, head: int) -> Any:
        return np.frombuffer(gzip.decompress((at / name).read_bytes()), np.uint8, offset=head)

    X = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / np.float32(255)
    T = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / np.float32(255)
    y, u = read("train-labels-idx1-ubyte.gz", 8), read("t10k-labels-idx1-ubyte.gz", 8)
    return X, y.astype(np.int64), T, u.astype(np.int64)


def a9a() -> tuple[Any, Any, Any, Any] | None:
    """Adult, one-hot, float32."""
    return _svmlight("a9a", 123)


def acq() -> tuple[Any, Any, Any, Any] | None:
    """Reuters-21578, "acq" against the rest as TF-IDF, float32."""
    return _svmlight("acq", 9947)


def _svmlight(name: str, width: int) -> tuple[Any, Any, Any, Any] | None:
    from sklearn.datasets import load_svmlight_file

    at = folder(name)
    if at is None:
        return None
    X, y = load_svmlight_file(str(at / "train.svm.gz"), n_features=width, dtype=np.float32)
    T, u = load_svmlight_file(str(at / "test.svm.gz"), n_features=width, dtype=np.float32)
    for Z in (X, T):  # peers need 32-bit indices
        Z.indices, Z.indptr = Z.indices.astype(np.int32), Z.indptr.astype(np.int32)
    return X, y, T, u


def news() -> tuple[Any, Any, Any, Any] | None:
    """20 Newsgroups by date as TF-IDF (sublinear, English stop words, max_df 0.5), float32."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = news_texts()
    if texts is None:
        return None
    vectorizer = TfidfVectorizer(sublinear_tf=True, max_df=0.5, stop_words="english", dtype=np.float32)
    X = vectorizer.fit_transform(texts["train"][0])
    return X, np.asarray(texts["train"][1]), vectorizer.transform(texts["test"][0]), np.asarray(texts["test"][1])


def news_texts() -> dict[str, tuple[Any, Any]] | None:
    """The posts and groups of 20 Newsgroups, "train" and "test"."""
    at = folder("20news")
    if at is not None:
        return _news_from(at / "20news-bydate.tar.gz")
    from sklearn.datasets import fetch_20newsgroups

    try:
        parts = {part: fetch_20newsgroups(subset=part) for part in ("train", "test")}
    except OSError:
        return None
    return {part: (found.data, found.target) for part, found in parts.items()}


def _news_from(archive: Path) -> dict[str, tuple[list[str], list[str]]]:
    found: dict[str, tuple[list[str], list[str]]] = {"train": ([], []), "test": ([], [])}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile():
                top, group, _ = Path(member.name).parts[-3:]
                texts, labels = found["train" if "train" in top else "test"]
                texts.append(tar.extractfile(member).read().decode("latin-1"))  # type: ignore[union-attr]
                labels.append(group)
    return found
