"""Search for size and weight decay, and compare the result with the defaults on other rows."""

import time

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import RandomizedSearchCV, train_test_split

from bneuralt import BNeuralTClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

begin = time.perf_counter()
search = RandomizedSearchCV(
    BNeuralTClassifier(random_state=0),
    {"weight_decay": ["auto", 0.02, 0.05, 0.1, 0.2, 0.4], "n_weights": [50, 100, 200, 400]},
    n_iter=10,
    scoring="neg_log_loss",
    random_state=0,
).fit(X_train, y_train)
print(f"50 fits in {time.perf_counter() - begin:.1f} s: {search.best_params_}")

default = BNeuralTClassifier(random_state=0).fit(X_train, y_train)
for name, model in {"defaults": default, "found": search.best_estimator_}.items():
    print(f"{name:10} log-loss on new rows {log_loss(y_test, model.predict_proba(X_test)):.3f}")
