"""Write a model of flowers as a module for MicroPython: copy model.py and main.py to the board."""

from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier

iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
model = BNeuralTClassifier(max_weights=40, random_state=0).fit(iris.data, names)
source = model.to_python("model.py", name="flower")
print(f"model.py: {model.n_parameters_} weights, {len(source):,} characters")
