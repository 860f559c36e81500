"""Whether probabilities are what they say."""

from sklearn.datasets import make_classification

from bneuralt import BNeuralTClassifier, plot_calibration

X, y = make_classification(6000, flip_y=0.2, class_sep=0.6, random_state=0)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

drawing = plot_calibration(clf, X[1::2], y[1::2])
