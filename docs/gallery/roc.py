"""ROC curves of ten classes, on rows that were not trained on."""

from sklearn.datasets import load_digits

from bneuralt import BNeuralTClassifier, plot_roc

X, y = load_digits(return_X_y=True)
clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])

drawing = plot_roc(clf, X[1::2], y[1::2])
drawing.set(xlim=(-0.005, 0.2), ylim=(0.8, 1.005))
