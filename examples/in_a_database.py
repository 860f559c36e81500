"""Predict inside of a database: the model becomes an SQL expression."""

import sqlite3

from sklearn.datasets import load_diabetes

from bneuralt import BNeuralTRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = BNeuralTRegressor(n_weights=30, random_state=0).fit(X, y)

database = sqlite3.connect(":memory:")
X.to_sql("patients", database, index=False)
expression = model.to_sql(dialect="sqlite")
predictions = database.execute(f"SELECT {expression} FROM patients").fetchall()
largest = max(
    abs(ours - theirs) for (theirs,), ours in zip(predictions, model.predict(X), strict=True)
)
print(f"{len(expression):,} characters of SQL; largest difference to Python {largest:.1g}")
