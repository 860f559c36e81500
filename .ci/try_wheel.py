"""Look into a wheel, import what was installed from it, and fit a model.

python .ci/try_wheel.py WHEEL
"""

import importlib.util
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

ALLOWED = ("bneuralt/", "bneuralt-", "bneuralt.libs/")


def look_into(wheel: Path) -> None:
    """Print the size of a wheel; it has one package, and that is not the reproduction."""
    with zipfile.ZipFile(wheel) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
    sizes = {entry.filename: entry.file_size for entry in files}
    foreign = [name for name in sizes if not name.startswith(ALLOWED)]
    assert not foreign, f"{wheel.name} has {foreign}"
    core = sum(size for name, size in sizes.items() if name.endswith((".so", ".pyd")))
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {len(sizes)} files of "
        f"{sum(sizes.values()) / 1e6:.2f} MB, {core / 1e6:.2f} MB of them compiled"
    )


def use_core() -> None:
    """Print how long the import takes and the error of a tree that was trained."""
    start = time.process_time()
    import bneuralt
    from bneuralt import NeuralTree, TrainingSettings, train

    seconds = time.process_time() - start
    print(f"{sysconfig.get_config_var('SOABI')}: {Path(bneuralt.__file__).parent}")
    print(f"trees imported in {seconds:.2f} s of processor time")

    import numpy as np

    X = np.random.default_rng(0).normal(size=(500, 3))
    y = X[:, 0] - X[:, 1]
    tree = NeuralTree.random(3, 1, max_depth=3, output_activation="linear", random_state=0)
    settings = TrainingSettings(loss="squared_error", max_epochs=50)
    trained = train(tree, X, y, settings=settings).tree
    error = float(((trained.forward(X).ravel() - y) ** 2).mean())
    print(f"squared error of a tree: {error:.4f}")
    assert error < 0.1


def use_estimator() -> None:
    """Print how long the import takes and the accuracy of an estimator, where scikit-learn is."""
    if importlib.util.find_spec("sklearn") is None:
        print("scikit-learn is not installed: no estimator was tried")
        return
    start = time.process_time()
    from bneuralt import BNeuralTClassifier

    print(f"estimators imported in {time.process_time() - start:.2f} s more")

    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    score = BNeuralTClassifier(random_state=0).fit(X, y).score(X, y)
    print("accuracy on the rows of iris:", score)
    assert score > 0.9


if __name__ == "__main__":
    look_into(Path(sys.argv[1]))
    use_core()
    use_estimator()
