"""State what is known about a table, prove that the model keeps to it, and draw its curves."""

from sklearn.datasets import load_diabetes

from bneuralt import BNeuralTRegressor, EffectDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)

model = BNeuralTRegressor(
    monotonic_cst={"bmi": 1, "bp": 1}, interaction_cst="no_interactions", random_state=0
).fit(X, y)
print(model.check_monotonic()["bmi"])
print(model.check_interactions())

display = EffectDisplay.from_estimator(model, X, ["bmi", "bp", "s5"])
display.figure_.savefig("curves.png")
print("curves.png has the three curves; predictions are the sum of ten such curves")
