"""The course of a training."""

from sklearn.datasets import load_digits

from bneuralt import BNeuralTClassifier, plot_history

X, y = load_digits(return_X_y=True)
clf = BNeuralTClassifier(early_stopping=True, random_state=0).fit(X, y)

drawing = plot_history(clf, what="score")
