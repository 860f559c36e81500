"""Numbers of the reproduction on other pages are those of the published results."""

import numpy as np
import pytest

from bneuralt_paper.images.paper_runs import PRINTED
from bneuralt_paper.ledger import Evidence
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import format_number
from tests.helpers.paths import DOCS, ROOT

BEST, MLP = "B-S-ESy-p4-R", "M-S-ESu-Rn-L-N"


@pytest.fixture(scope="module")
def evidence():
    return Evidence.load(DOCS / "reproduction")


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def accuracies(evidence):
    keys = [("paper", BEST), ("honest", BEST), ("paper", MLP)]
    return [format_number(evidence.score(*key, "classification_mean")) for key in keys]


def test_accuracies(evidence):
    readme, ours = words(ROOT / "README.md"), accuracies(evidence)
    printed = format_number(published.table2().loc[BEST, "classification_mean"])
    for label, value in zip(
        ["BNeuralT, as printed in the paper | test rows", "BNeuralT, reproduced | test rows",
         "the same trees | validation rows", "an MLP, selected in the same way | test rows"],
        [printed, *ours], strict=True,
    ):  # fmt: skip
        assert f"| {label} | {value} |" in readme
    quality = words(DOCS / "quality.md")
    assert f"a mean accuracy of {ours[0]}; the same trees, selected on validation rows, have " in (
        quality
    )
    assert f"have {ours[1]}, and an MLP that is selected on test rows has {ours[2]}" in quality


def test_errors_on_digits(evidence):
    def error(weights):
        names = [f"modern-mnist-{weights}-s{seed}" for seed in range(3)]
        errors = [run.test_error for run in evidence.image_results.runs if run.name in names]
        assert len(errors) == 3
        return f"{100 * np.mean(errors):.2f} %"

    readme = words(ROOT / "README.md")
    assert (
        f"a tree of 24,000 weights has an error of {error(24000)} and one of 6,000 weights "
        f"{error(6000)} (means of three seeds)" in readme
    )
    assert (
        f"the paper prints {PRINTED['20K'][2]} % for a tree of 20,000 weights and "
        f"{PRINTED['200K'][2]} % for one of 242,000" in readme
    )
