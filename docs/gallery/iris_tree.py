"""A tree of 30 weights that tells three kinds of iris apart."""

from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier
from bneuralt.drawing import tree_svg

iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(iris.data, names)

drawing = tree_svg(clf, theme="auto")
