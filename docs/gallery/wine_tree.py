"""A tree with the default settings, drawn around its root."""

from sklearn.datasets import load_wine

from bneuralt import BNeuralTClassifier
from bneuralt.drawing import tree_svg

wine = load_wine(as_frame=True)
clf = BNeuralTClassifier(random_state=0).fit(wine.data, wine.target)

names = ["Barolo", "Grignolino", "Barbera"]
drawing = tree_svg(clf, layout="radial", theme="auto", output_names=names)
