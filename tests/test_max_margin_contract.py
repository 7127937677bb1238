"""scikit-learn's contract for `MaxMargin`."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import MaxMargin


@parametrize_with_checks([MaxMargin(), MaxMargin(fit_intercept=False)])
def test_contract(estimator, check):
    check(estimator)
