"""Whether probabilities are what they say."""

from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification

from bneuralt import BNeuralTClassifier

X, y = make_classification(6000, flip_y=0.2, class_sep=0.6, random_state=0)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

display = CalibrationDisplay.from_estimator(clf, X[1::2], y[1::2], n_bins=10, strategy="quantile")
drawing = display.ax_
