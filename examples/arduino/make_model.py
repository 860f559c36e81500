"""Write a model of flowers as a header beside the sketch flowers.ino of the Arduino IDE."""

from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier

iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
model = BNeuralTClassifier(max_weights=60, random_state=0).fit(iris.data, names)
header = model.to_c("flowers.h", dtype="int8")
print(header[: header.index("*/") + 2])
