"""Look into a wheel, import what was installed from it, and fit a model.

python .ci/try_wheel.py WHEEL
"""

import sys
import sysconfig
import time
import zipfile
from pathlib import Path

ALLOWED = ("bneuralt/", "bneuralt-", "bneuralt.libs/")


def look_into(wheel: Path) -> None:
    """Print the size of a wheel; it has one package, and that is not the reproduction."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    foreign = [name for name in sizes if not name.startswith(ALLOWED)]
    assert not foreign, f"{wheel.name} has {foreign}"
    core = sum(size for name, size in sizes.items() if name.endswith((".so", ".pyd")))
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {len(sizes)} files of "
        f"{sum(sizes.values()) / 1e6:.2f} MB, {core / 1e6:.2f} MB of them compiled"
    )


def use() -> None:
    """Print how long the imports take and the accuracy of a tree."""
    start = time.process_time()
    import bneuralt

    alone = time.process_time() - start
    from bneuralt import BNeuralTClassifier

    both = time.process_time() - start
    print(f"{sysconfig.get_config_var('SOABI')}: {Path(bneuralt.__file__).parent}")
    print(f"imported in {alone:.2f} s, with an estimator in {both:.2f} s of processor time")

    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    score = BNeuralTClassifier(random_state=0).fit(X, y).score(X, y)
    print("accuracy on the rows of iris:", score)
    assert score > 0.9


if __name__ == "__main__":
    look_into(Path(sys.argv[1]))
    use()
