"""Fit a tree, score it on rows that it has not seen, look at it, save it and load it."""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from bneuralt import BNeuralTClassifier, load_model

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

model = BNeuralTClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f} with {model.n_parameters_} weights")
print("the first row:", model.explain(X_test).sentence(0))

model.to_html("wine.html", examples=X_test)
model.save("wine.json")
assert (load_model("wine.json").predict(X_test) == model.predict(X_test)).all()
print("wine.html is a page to try it out, wine.json the model")
