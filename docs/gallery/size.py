"""How accuracy depends on the size of a tree."""

from sklearn.datasets import load_wine

from bneuralt import BNeuralTClassifier, plot_score_against_size

X, y = load_wine(return_X_y=True)
model = BNeuralTClassifier(random_state=0)

drawing = plot_score_against_size(model, X, y, sizes=(15, 30, 60, 120, 240), cv=5)
