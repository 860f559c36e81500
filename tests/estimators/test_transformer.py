"""The table encoder as a transformer of scikit-learn."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bneuralt import BNeuralTClassifier, TableTransformer


@parametrize_with_checks([TableTransformer()])
def test_estimator_checks(estimator, check):
    check(estimator)


def shop(n=90):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": rng.normal(size=n), "kind": rng.choice(["a", "b", "c"], n)})
    frame.loc[::5, "price"] = np.nan
    return frame


def test_inputs_and_names_are_those_of_the_estimators():
    frame = shop()
    transformer = TableTransformer().fit(frame)
    expected = ["price", "price is missing", "kind=a", "kind=b", "kind=c"]
    assert transformer.get_feature_names_out().tolist() == expected
    assert transformer.feature_names_in_.tolist() == ["price", "kind"]
    clf = BNeuralTClassifier(max_epochs=1, scale="standard").fit(frame, frame["price"].isna())
    assert clf.encoder_ == transformer.encoder_
    assert transformer.transform(frame).shape == (90, 5)


def test_the_output_can_be_a_data_frame():
    pl = pytest.importorskip("polars")
    frame = shop()
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        transformer = TableTransformer().set_output(transform=library)
        table = transformer.fit_transform(pa.Table.from_pandas(frame).to_batches()[0])
        assert isinstance(table, kind) and table.shape == (90, 5)
        assert list(table.columns) == transformer.get_feature_names_out().tolist()
    kept = TableTransformer().set_output(transform="pandas").fit_transform(frame[::-1])
    assert kept.index.equals(frame.index[::-1])


def test_names_of_tables_without_names():
    X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 2.0]] * 3)
    transformer = TableTransformer(categorical_features=[1]).fit(X)
    assert transformer.get_feature_names_out()[:3].tolist() == ["x0", "x0 is missing", "x1=0"]
    assert transformer.get_feature_names_out(["u", "v"])[2] == "v=0"
    with pytest.raises(ValueError, match="input_features should have length"):
        transformer.get_feature_names_out(["u"])


def test_it_goes_in_front_of_other_models():
    frame = shop()
    y = frame["kind"] == "a"
    model = make_pipeline(TableTransformer(), LogisticRegression())
    assert clone(model).fit(frame, y).score(frame, y) > 0.95
    names = model.fit(frame, y)[:-1].get_feature_names_out()
    assert names.size == model[-1].n_features_in_


def test_sparse_matrices_become_dense_and_arrays_are_copied():
    X = np.eye(4)
    transformer = TableTransformer().fit(X)
    np.testing.assert_array_equal(transformer.transform(sparse.csr_array(X)), X)
    transformer.transform(X)[:] = 7
    np.testing.assert_array_equal(X, np.eye(4))
