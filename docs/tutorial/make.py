"""Run the code of the tutorial and keep its pictures and pages: python docs/tutorial/make.py."""

import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "tutorial.md"


def main():
    text = PAGE.read_text(encoding="utf-8")
    code = doctest.DocTestParser().get_doctest(re.sub(r"(?m)^```.*$", "", text), {}, "", None, 0)
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # no date in the files
    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tutorial"})
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(FOLDER / "pumps.csv", folder)
        os.chdir(folder)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(code)
        for name in re.findall(r"[(<]tutorial/(\w+\.(?:svg|html))[)>]", text):
            shutil.copy(name, FOLDER)
            print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
