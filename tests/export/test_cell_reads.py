"""Every target reads the texts of a CSV file as the model does, or refuses them by name."""

import csv
import io
import re
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTRegressor
from tests.helpers.runners import RUNNERS, available

#: Languages that read texts with units and times; databases take numbers only, and refuse texts.
WITH_UNITS = ("python", "javascript", "chromium", "rust", "go", "java")


@pytest.fixture(scope="module", params=list(RUNNERS))
def runner(request):
    with available(request.param) as runner:
        yield runner


def date_texts(rng, n, order):
    """Texts of dates: ISO, or local ones with the month or the day first."""
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000 * 24, n), unit="h")
    forms = {
        "iso": ["%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S"],
        "month first": ["%m/%d/%Y", "%m/%d/%Y %H:%M"],
        "day first": ["%d.%m.%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S"],
    }[order]
    return [day.strftime(forms[i % len(forms)]) for i, day in enumerate(days)]


def texts_of_kind(rng, n, kind):
    numbers = rng.lognormal(6, 1.5, n).round(2)
    if kind == "plain":
        return [f"{x:.2f}" for x in numbers]
    if kind == "euro":
        return [f"{x:,.2f} EUR" for x in numbers]
    if kind == "comma":
        return [f"{x:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") for x in numbers]
    if kind == "dollar":
        return [f"-${x:,.0f}" if x < 200 else f"${x:,.0f}" for x in numbers]
    if kind == "clock":
        return [f"{int(x) % 24}:{int(x * 7) % 60:02}" for x in numbers]
    if kind == "truth":
        return [str(x > 400) for x in numbers]
    if kind == "codes":
        return [str(int(x) % 4) for x in numbers]
    return date_texts(rng, n, kind)


def spaced(rng, texts, gaps=("", "NA", " ? ", "n/a", "None")):
    """The texts with blanks around some of them, and with gaps."""
    return [
        str(rng.choice(gaps)) if rng.random() < 0.1 else f"  {t}\t" if rng.random() < 0.3 else t
        for t in texts
    ]


def fitted(kind, n=200, seed=0):
    """A model of a column of texts and one of numbers, and later rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"what": texts_of_kind(rng, n, kind), "x": rng.normal(size=n)}, dtype=object)
    X["x"] = X["x"].astype(float)
    X["what"] = spaced(rng, X["what"])
    y = np.arange(n) % 7 + X["x"].to_numpy()
    options = {"categorical_features": ["what"]} if kind == "codes" else {}
    model = BNeuralTRegressor(max_epochs=3, dtype="float64", random_state=seed, **options)
    later = pd.DataFrame({"what": spaced(rng, texts_of_kind(rng, 60, kind)),
                          "x": rng.normal(size=60)})  # fmt: skip
    later["what"] = later["what"].astype(object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        return model, later, model.predict(later)


KINDS = ["iso", "month first", "day first", "plain", "euro", "comma", "dollar", "clock", "truth",
         "codes"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_read_as_in_training(runner, kind):
    model, later, expected = fitted(kind)
    if kind in ("euro", "comma", "dollar", "clock") and runner.name not in WITH_UNITS:
        with pytest.raises(Exception, match="is not a number"):
            runner.predict(model.model_, later)
        return
    np.testing.assert_allclose(runner.predict(model.model_, later)[1][:, 0], expected, rtol=1e-9)


#: Texts that the model refuses.
IMPOSSIBLE = {
    "iso": ["2024-13-45", "2024-02-30", "2024-01-01 25:00", "2024-01-01 10:61", "2024-1",
            "24-01-01", "0000-01-01", "2024-01-01 10", "2024.01.01"],
    "month first": ["13/13/2019", "02/30/2019", "1/2/19", "05/01/2019 24:00", "05/01/2019 10:00 x",
                    "05/01/2019 10:00:75"],
    "day first": ["45.01.2024", "31.04.2024", "1.1.2024 7:5"],
    "plain": ["12x", "0x10", "1e999", "1_000", "1,5", "--5"],
    "euro": ["1,20 EUR", "12 USD", "1.5.2 EUR", "EUR", "1e3 EUR"],
    "clock": ["12:60", "12", "1:2:3", "123:00"],
}  # fmt: skip
#: Texts that it reads, though they are unusual.
POSSIBLE = {
    "iso": ["2024-1-2", "2024/01/02 3:04", "2020-02-29T23:59:59.999999", "2024-01-01 10:00 x"],
    "month first": ["2/29/2020", "2019-05-01", "12-31-2019 7:05", "5.1.2019"],
    "day first": ["29.2.2020", "2019-05-01", "31/12/2019", "1-5-2019 7:05:59"],
    "plain": ["+5", ".5", "5.", "1e3", "-0.25E-2"],
    "euro": ["5", "EUR 5", "EUR -5", "-EUR 5", "12,345.5EUR", "+7 EUR", "1e3"],
    "comma": ["1,5", "1.234,5", "7"],
    "clock": ["1:05", "23:59:59", "07:30:15.5"],
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_what_the_model_refuses_is_refused_by_name(runner, kind):
    model, *_ = fitted(kind)
    texts = IMPOSSIBLE[kind]
    rows = pd.DataFrame({"what": texts, "x": np.zeros(len(texts))}).astype({"what": object})
    for i in range(len(texts)):
        with pytest.raises(ValueError, match="what"):
            model.predict(rows[i : i + 1])
    for text, message in zip(texts, runner.refusals(model.model_, rows), strict=True):
        assert re.search(r"what.*is not a |out of range", message or ""), (text, message)


@pytest.mark.parametrize("kind", POSSIBLE)
def test_unusual_texts_are_read(runner, kind):
    if kind in ("euro", "comma", "clock") and runner.name not in WITH_UNITS:
        pytest.skip("databases refuse texts with units")
    model, *_ = fitted(kind)
    texts = POSSIBLE[kind]
    rows = pd.DataFrame({"what": texts, "x": np.zeros(len(texts))}).astype({"what": object})
    expected = [model.predict(rows[i : i + 1])[0] for i in range(len(rows))]
    np.testing.assert_allclose(runner.predict(model.model_, rows)[1][:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["iso", "month first", "day first", "plain", "truth", "codes"])
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_program_in_c_reads_them_too(tmp_path, kind):
    model, later, expected = fitted(kind)
    model.to_c(tmp_path / "m.h", main=True)
    command = [
        "gcc",
        "-Wall",
        "-Werror",
        "-fsanitize=address,undefined",
        "m_main.c",
        "-lm",
        "-o",
        "m",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)

    def run(rows):
        text = rows.to_csv(index=False).encode()
        return subprocess.run(["./m"], cwd=tmp_path, input=text, capture_output=True)

    done = run(later)
    assert done.returncode == 0, done.stderr
    header, *numbers = csv.reader(io.StringIO(done.stdout.decode()))
    assert header == ["y"]
    np.testing.assert_allclose(np.array(numbers, dtype=float)[:, 0], expected, rtol=1e-9)
    for text in IMPOSSIBLE.get(kind, []):
        done = run(later[:1].assign(what=[text]))
        assert done.returncode == 1 and b'column "what"' in done.stderr, text
    for text in POSSIBLE.get(kind, []):
        row = later[:1].assign(what=[text])
        number = float(run(row).stdout.split()[-1])
        assert np.isclose(number, model.predict(row)[0]), text
