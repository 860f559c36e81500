"""Write a model of 30 weights as C, compile it, and compare it with Python."""

import shutil
import subprocess

import numpy as np
from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier

iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
model = BNeuralTClassifier(max_weights=30, random_state=0).fit(iris.data, names)
header = model.to_c("iris.h", dtype="float", main=True)  # and iris_main.c
print(f"iris.h: {model.n_parameters_} weights, {len(header):,} characters")

compiler = shutil.which("cc")
if compiler is None:
    print("there is no C compiler here")
else:
    subprocess.run([compiler, "-O2", "-o", "iris", "iris_main.c", "-lm"], check=True)
    table = iris.data.to_csv(index=False)
    done = subprocess.run(["./iris"], input=table, capture_output=True, text=True, check=True)
    labels = np.array([line.split(",")[0] for line in done.stdout.splitlines()[1:]])
    print(f"{np.mean(labels == model.predict(iris.data)):.0%} of the predictions are the same")
