"""Install packages of extras of pyproject.toml without the project itself, or print lower bounds.

python .ci/extras.py install EXTRA ... [-- OPTIONS OF PIP]
python .ci/extras.py bounds EXTRA ...
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
#: Without these, no test runs.
NEEDED = ("pytest", "hypothesis", "pandas")


def packages(extras: list[str]) -> list[str]:
    """Return the requirements of some extras, each once."""
    listed = [package for extra in extras for package in PROJECT["optional-dependencies"][extra]]
    return list(dict.fromkeys(listed))


def install(requirements: list[str], options: list[str]) -> int:
    """Install requirements at once; if that fails, one by one, and name what cannot be had."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *options,
    ]
    if subprocess.run([*pip, *requirements], capture_output=len(requirements) > 1).returncode == 0:
        return 0
    missing = [
        requirement
        for requirement in requirements
        if subprocess.run([*pip, requirement], capture_output=True).returncode
    ]
    for requirement in missing:
        print(f"{requirement} could not be installed: tests that need it are skipped")
    return int(any(requirement.startswith(NEEDED) for requirement in missing))


def bounds(extras: list[str]) -> list[str]:
    """Return the oldest versions of what is always installed, and of extras that users install."""
    listed = [*PROJECT["dependencies"], *packages(extras)]
    listed += [package for package in packages(["test"]) if package.startswith("pandas")]
    return sorted({re.sub(r"\[.*\]", "", bound).replace(">=", "==") for bound in listed})


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "bounds":
        print(*bounds(arguments), sep="\n")
    else:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        sys.exit(install(packages(arguments[:at]), arguments[at + 1 :]))
