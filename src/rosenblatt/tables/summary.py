"""The summary of a fitted table model: the table, the out-of-fold score, and the most important features."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 6  # features, and classes, shown in one line
FEW = 5  # names of columns shown in one line
EVIDENT, REASONS = ("numbers", "splines", "text"), 8  # kinds without a reason in the summary, and reasons in one line
CLOSEST = 1  # runners-up of a search shown in one line


@dataclass(frozen=True)
class TableSummary:
    """The result of a fit.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    rows : int
    classes : tuple of (str, int)
        Each class with its number of rows.
    kinds : tuple of (str, int)
        How many columns there are of each kind.
    missing : tuple of (str, int)
        Columns with missing values, and how many.
    left_out : tuple of (str, str)
        Columns that were not used, and why.
    columns : tuple of (str, str, str)
        Each column that is used, its kind, and why it has that kind.
    learner : str
    passes : int
    seconds : float
    measure : str
        "accuracy" or "R²".
    score, interval : float or None
        The score to expect on new rows, and half the width of its 95 % interval; None if there were too few rows for
        folds. It is the out-of-fold score, cross-fitted: the scored rows are cut into two random halves, five times
        (of more than 2,000 rows twice), and the calibration and the choice of the setting that each half is scored by
        are found by the other half alone; the score is the mean. Every other measure of unseen rows is estimated in the
        same way. The interval of an accuracy is the binomial one, that of R² comes from the spread of the squared
        errors and takes rows as independent; near an R² of 0 that is too narrow, because folds learn from each other's
        rows: on noise it covered the R² of new rows for 84 of 100 tables, and after a search for 26 of 40.
    folds : int
    held_out : int
        For a large table: the rows that were held out once, in place of folds, and that the model did not learn from.
    baseline : float
        The score of always predicting the most frequent class.
    training_score : float
        The score on the training rows, which is too optimistic.
    log_loss, area : float or None
        Out of fold and cross-fitted, as `score`: the log loss, and the area under the ROC curve (several classes: the
        mean over each against the others), the mean over the halves.
    mean_error : float or None
        Regression: the mean absolute error, out of fold and cross-fitted.
    other_scores : tuple of (str, float)
        The measure that `scoring` names, out of fold and cross-fitted; of classes, the mean over the halves.
    weights : tuple of (str, float)
        The features of largest influence: what they add to the log odds of the last class, or of the named class,
        or to the prediction; for numbers, per standard deviation.
    warnings : tuple of str
    separated : str
        If the training rows are separated by planes, the proof in one line.
    tried : int
        How many settings the search of `learner="auto"` tried on all folds; 0 if the table exceeds its budget or
        another learner was chosen.
    raced : int
        How many settings were tried on at least one fold.
    near, best_score : int, float or None
        Of the settings that were tried, the number within one standard error of the best score, and that score. The
        best of many scores on the same rows is higher than the score to expect on new ones, which is `score`.
    runners_up : tuple of (str, float, float)
        The settings after the chosen one, the lowest loss first, each with its score and its log loss (R² and mean
        squared error), by which
        they were compared: as `best_score`, not cross-fitted.
    searched_rows : int
        The rows of the sample that was searched; 0 if it was all rows.
    source, label : str
        The name of the file and of the label column, if known.
    unlabelled : int
        Rows of the file without a label, which were left out.
    """

    task: str
    rows: int
    classes: tuple[tuple[str, int], ...]
    kinds: tuple[tuple[str, int], ...]
    missing: tuple[tuple[str, int], ...]
    left_out: tuple[tuple[str, str], ...]
    learner: str
    passes: int
    seconds: float
    measure: str
    score: float | None
    interval: float | None
    folds: int
    baseline: float
    training_score: float
    log_loss: float | None = None
    area: float | None = None
    mean_error: float | None = None
    other_scores: tuple[tuple[str, float], ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    separated: str = ""
    source: str = ""
    label: str = ""
    unlabelled: int = 0
    held_out: int = 0
    tried: int = 0
    near: int = 0
    best_score: float | None = None
    runners_up: tuple[tuple[str, float, float], ...] = ()
    searched_rows: int = 0
    raced: int = 0
    columns: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        lines = [self._table(), f"  {self._columns()}"]
        why = [f"{name}: {kind}, {reason}" for name, kind, reason in self.columns if kind not in EVIDENT]
        lines += [f"  {'; '.join(why[:REASONS])}{'; …' if len(why) > REASONS else ''}"] if why else []
        lines += [f"  left out {name}: {reason}" for name, reason in self.left_out]
        lines += [f"{self.learner}, {self.passes:,} {'pass' if self.passes == 1 else 'passes'}, {self.seconds:.1f} s"]
        lines += [f"  {self._scores()}"]
        lines += [f"  {self._search()}"] if self.tried else []
        if self.weights:
            shown = ", ".join(f"{name} {_signed(value)}" for name, value in self.weights[:SHOWN])
            lines += [f"  counts   {shown}{', …' if len(self.weights) > SHOWN else ''}"]
        if self.separated:
            lines += [f"  {self.separated}"]
        return "\n".join([*lines, *(f"  warning: {one}" for one in self.warnings)])

    def _table(self) -> str:
        what = f"{self.source}: " if self.source else ""
        what += f"{self.rows:,} rows, {self.task}{f' of {self.label}' if self.label else ''}"
        if self.unlabelled:
            what += f" ({self.unlabelled:,} rows without a label are left out)"
        if not self.classes:
            return what
        shares = [f"{name} {100 * count / self.rows:.0f} %" for name, count in self.classes[:SHOWN]]
        more = f", … ({len(self.classes)} classes)" if len(self.classes) > SHOWN else ""
        return f"{what}: {', '.join(shares)}{more}"

    def _columns(self) -> str:
        if not self.kinds:
            return "no column can be used"
        first, *others = [f"{count} of {kind}" for kind, count in self.kinds]
        number, _, kind = first.partition(" of ")
        text = ", ".join([f"{number} {'column' if number == '1' else 'columns'} of {kind}", *others])
        if not self.missing:
            return text
        shown = ", ".join(f"{name}: {count:,} missing" for name, count in self.missing[:FEW])
        return f"{text} ({shown}{', …' if len(self.missing) > FEW else ''})"

    def _search(self) -> str:
        """What was tried, and how close the next settings were."""
        sample = f" on a sample of {self.searched_rows:,} rows" if self.searched_rows else ""
        loss = "log loss" if self.task == "classification" else "mean squared error"
        whole = f", {self.tried} on all folds" if self.raced > self.tried else ""
        text = (
            f"chosen   of {self.raced or self.tried} settings{sample}{whole}: the simplest with about the lowest {loss}"
        )
        after = [f"{name} ({loss} {lost:.3g}, {self.measure} {score:.3f})" for name, score, lost in self.runners_up]
        return f"{text}; then {'; '.join(after[:CLOSEST])}" if after else text

    def _scores(self) -> str:
        always = f'always "{max(self.classes, key=lambda one: one[1])[0]}"' if self.classes else "always the mean"
        if self.score is None:
            return f"{self.measure} on training rows {self.training_score:.3f}: too few rows for folds"
        text = f"{self.measure} {self.score:.3f}"
        if self.interval is not None:
            text += f" ± {self.interval:.3f}"
        where = f"{self.held_out:,} held-out rows" if self.held_out else f"{self.folds} folds"
        text += f", {where} ({always}: {self.baseline:.3f})"
        for name, value in (("log loss", self.log_loss), ("area under the curve", self.area), *self.other_scores):
            text += "" if value is None else f"; {name} {value:.3f}"
        return text if self.mean_error is None else f"{text}; mean absolute error {self.mean_error:.4g}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}"
