"""Which digits are taken for which."""

from sklearn.datasets import load_digits

from bneuralt import BNeuralTClassifier, plot_confusion

X, y = load_digits(return_X_y=True)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

drawing = plot_confusion(clf, X[1::2], y[1::2])
