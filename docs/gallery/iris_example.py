"""The same tree for one flower: values of all nodes, and the paths that carried the decision."""

from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier
from bneuralt.drawing import tree_svg

iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(iris.data, names)

drawing = tree_svg(clf, example=iris.data.iloc[[120]], theme="dark")
