"""ROC curve on rows that were not trained on."""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay

from bneuralt import BNeuralTClassifier

X, y = load_breast_cancer(return_X_y=True)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

drawing = RocCurveDisplay.from_estimator(clf, X[1::2], y[1::2], plot_chance_level=True).ax_
