"""Model files of HFNT and MONT, which the product reads by entry points."""

import json
import subprocess
import sys

import pytest

from bneuralt_paper import estimators
from tests.helpers.kept_models import check_model
from tests.helpers.paths import PAPER_MODELS

KEPT = sorted(PAPER_MODELS.glob("version_*/*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_kept_models_load(path):
    check_model(path)


def test_a_model_of_each_kind_is_kept():
    kinds = {json.loads(path.read_text())["kind"] for path in KEPT}
    assert kinds == set(estimators.__all__)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_product_loads_them_without_an_import_of_this_package(path):
    code = (
        "import sys, bneuralt; model = bneuralt.load_model(sys.argv[1]); "
        "print(type(model).__module__, 'pymoo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("bneuralt_paper.") and done.stdout.endswith("False\n")
