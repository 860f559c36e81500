"""Compare evolved trees with the results of the HFNT paper, by ten-fold cross-validation.

    python -m benchmarks.evolved_trees

`benchmarks.size_curve` has the scores on held-out rows, of trees of all sizes and of other models.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

import bneuralt
from benchmarks.timing import SHARED
from bneuralt import Growth
from bneuralt_paper import load_dataset

#: Accuracy and nodes of HFNT by ten-fold cross-validation, from its paper (2017).
HFNT_TENFOLD = {
    "australian": (0.857, 5.1),
    "heart": (0.803, 7.5),
    "ionosphere": (0.861, 6.7),
    "pima": (0.703, 6.3),
    "wdbc": (0.937, 8.0),
}


def main() -> None:
    """Print accuracy and nodes of evolved trees that have no more nodes than those of HFNT."""
    print("| data set | HFNT, nodes | HFNT, accuracy | evolved, nodes | evolved, accuracy |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (printed, nodes) in HFNT_TENFOLD.items():
        data = load_dataset(name, SHARED / "data")
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
        scores, sizes = [], []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
            # there are few trees of these sizes: ten generations are enough
            model = bneuralt.EvolvedTreeClassifier(
                n_generations=10, random_state=0, growth=Growth(max_size=int(nodes))
            )
            model.fit(X[train], y[train])
            scores.append(model.score(X[test], y[test]))
            sizes.append(model.tree_.size)
        print(
            f"| {name} | {nodes} | {printed:.3f} | {np.mean(sizes):.1f} | {np.mean(scores):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
