"""Which digits are taken for which."""

from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay

from bneuralt import BNeuralTClassifier

X, y = load_digits(return_X_y=True)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

drawing = ConfusionMatrixDisplay.from_estimator(clf, X[1::2], y[1::2], cmap="Blues").ax_
