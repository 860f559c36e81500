"""The playground in a real browser: tables come in, models go out, and nothing is requested."""

import importlib.util
import json
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from bneuralt import load_model
from tests.helpers.chromium import browser as new_browser
from tests.helpers.pages import wait_for
from tests.helpers.paths import ROOT
from tests.helpers.playground import frame_of
from tests.playground.test_tables import as_csv, messy

PAGE = ROOT / "build/playground.html"


@pytest.fixture(scope="module")
def page():
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs PyPI's ziglang, a compiler for WebAssembly (the extra 'cross')")
    from playground.build import build

    return build(PAGE)


@pytest.fixture(scope="module")
def chromium(page):
    with new_browser() as opened:
        yield opened


@pytest.fixture
def browser(chromium, tmp_path):
    """The playground with its first example trained; complaints on the console are errors."""
    chromium.viewport(1400, 1000)
    chromium.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    chromium.console()
    chromium.open(PAGE)
    finished(chromium, 0)
    yield chromium
    assert [m for m in chromium.console() if m["level"] == "SEVERE"] == []


def models(browser):
    return int(browser.run("return document.body.dataset.models ?? 0"))


def finished(browser, before):
    """Wait until another model is shown."""
    wait_for(browser, f"Number(document.body.dataset.models ?? 0) > {before}")
    assert problem(browser) == ""
    return float(browser.run("return document.body.dataset.score"))


def problem(browser):
    return browser.run("return document.getElementById('problem').textContent")


def message(browser):
    return browser.run("return document.getElementById('message').textContent")


def choose(browser, field, value, event="change"):
    browser.run(
        f"""const field = document.getElementById('{field}');
        field.value = {json.dumps(value)};
        field.dispatchEvent(new Event('{event}', {{bubbles: true}}))"""
    )


def click(browser, button):
    browser.run(f"document.getElementById('{button}').click()")


def paste(browser, text):
    browser.run(f"document.getElementById('text').value = {json.dumps(text)}")
    click(browser, "read")


def example(browser, start):
    choose(browser, "example", browser.run(
        f"return [...document.getElementById('example').options].map((o) => o.value)"
        f".find((name) => name.startsWith({json.dumps(start)}))"))  # fmt: skip


def saved(browser, button, path):
    click(browser, button)
    for _ in range(200):
        # Firefox makes an empty file first, and writes to another one
        if path.exists() and path.stat().st_size and not list(path.parent.glob("*.part")):
            return path
        time.sleep(0.05)
    raise AssertionError(f"{path.name} was not saved")


def kinds(browser):
    return dict(browser.run(
        """return [...document.querySelectorAll('#columns tbody tr')].map((row) => [
            row.cells[0].textContent,
            row.cells[1].querySelector('select')?.selectedOptions[0].textContent
                ?? row.cells[1].textContent])"""
    ))  # fmt: skip


def test_the_first_example_is_trained_at_once_and_drawn_on_the_way(browser):
    assert float(browser.run("return document.body.dataset.score")) > 0.9
    wait_for(browser, "Number(document.getElementById('picture').dataset.frames) > 20")
    data = browser.run("return {...document.getElementById('picture').dataset}")
    assert int(data["moves"]) > 0  # leaves have moved
    assert int(data["ramps"]) > 0  # and some are on ramps
    assert "held out (accuracy)" in browser.run(
        "return document.getElementById('scores-title').textContent"
    )
    names = browser.run(
        "return [...document.querySelectorAll('#bars > span')].map((s) => s.textContent)"
    )
    assert names[::2] == ["tree", "linear model", "constant"]


def test_no_request_is_made_and_none_could_be(browser):
    browser.requests()
    example(browser, "Rings")
    finished(browser, models(browser))
    wait_for(browser, "document.getElementById('page').srcdoc")
    assert [
        url for url in browser.requests() if not url.startswith(("blob:", "about:", "data:"))
    ] == []
    refused = browser.run_async(
        "const done = arguments[0];"
        "fetch('https://example.org').then(() => done(false), () => done(true))"
    )
    assert refused
    browser.console()  # the policy has said so


def test_a_table_with_gaps_text_and_dates(browser, tmp_path):
    before = models(browser)
    example(browser, "Customers")
    assert finished(browser, before) > 0.65  # 0.61 of a linear model
    seen = kinds(browser)
    numbers = dict.fromkeys(["age", "monthly fee", "calls to support"], "number")
    others = {"customer id": "not used", "plan": "category", "customer since": "date"}
    assert seen == {**numbers, **others, "leaves": "target"}
    assert "“customer id” is not used" in browser.run(
        "return document.getElementById('notes').textContent"
    )
    model = load_model(saved(browser, "save-model", tmp_path / "model.json"))
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.feature_names_in_) == [
        name for name, kind in seen.items() if kind not in ("not used", "target")
    ]


def test_a_column_left_out_and_a_constraint_train_again(browser, tmp_path):
    before = models(browser)
    example(browser, "Flats")
    usual = finished(browser, before)
    assert usual > 0.8
    before = models(browser)
    set_in_row(browser, "area", 1, "unused")
    assert finished(browser, before) < usual - 0.1
    before = models(browser)
    set_in_row(browser, "area", 1, "number")
    finished(browser, before)
    before = models(browser)
    set_in_row(browser, "built", 2, "1")
    finished(browser, before)
    model = load_model(saved(browser, "save-model", tmp_path / "model.json"))
    at = list(model.feature_names_in_).index("built")
    assert model.monotonic_cst[at] == 1


def set_in_row(browser, name, cell, value):
    browser.run(
        f"""const row = [...document.querySelectorAll('#columns tbody tr')]
            .find((r) => r.cells[0].textContent === {json.dumps(name)});
        const field = row.cells[{cell}].querySelector('select');
        field.value = {json.dumps(value)};
        field.dispatchEvent(new Event('change'))"""
    )


def test_the_size_follows_the_slider(browser):
    sizes = []
    for value in (1, 50, 101):
        before = models(browser)
        choose(browser, "size", value, "input")
        finished(browser, before)
        sizes.append(int(browser.run("return document.body.dataset.weights")))
        shown = int(browser.run("return document.getElementById('size-text').textContent"))
        assert 0.9 * shown <= sizes[-1] <= shown
    assert sizes[0] <= 10 and sizes[2] > 900


def test_a_forest_of_ten(browser, tmp_path):
    before = models(browser)
    choose(browser, "kind", "forest")
    assert finished(browser, before) > 0.9
    model = load_model(saved(browser, "save-model", tmp_path / "model.json"))
    assert len(model.estimators_) == 10
    # trees that are trained no more are not drawn again, and stay where they are
    browser.run(
        """const canvas = document.getElementById('picture'), context = canvas.getContext('2d');
        const across = canvas.clientWidth > 700 ? 5 : 4, down = Math.ceil(10 / across);
        window.isDrawn = (t) => context.getImageData(
            Math.floor((t % across) * canvas.width / across),
            Math.floor(Math.floor(t / across) * canvas.height / down),
            Math.floor(canvas.width / across), Math.floor(canvas.height / down),
        ).data.some((byte) => byte > 0)"""
    )
    wait_for(browser, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].every(isDrawn)")


def test_what_is_saved_predicts_the_same_everywhere(browser, tmp_path):
    before = models(browser)
    text = as_csv(messy())
    paste(browser, text)
    finished(browser, before)
    model = load_model(saved(browser, "save-model", tmp_path / "model.json"))
    X, y = frame_of(text, "value")
    expected = model.predict(X)
    assert model.score(X, y) > 0.5

    script = saved(browser, "save-script", tmp_path / "model.mjs").read_text()
    assert "import " not in re.sub(r"(?m)^//.*$", "", script)
    html = saved(browser, "save-page", tmp_path / "model.html")
    assert "Content-Security-Policy" in html.read_text()

    # The program takes values as the columns have them: numbers, texts and dates.
    rows = [
        dict(zip(X.names, row, strict=True)) for row in zip(*map(values, X.columns), strict=True)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "run.mjs").write_text(
        """import fs from "fs"; import { predict } from "./model.mjs";
        console.log(JSON.stringify(JSON.parse(fs.readFileSync("rows.json")).map(predict)))"""
    )
    done = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    usable = [i for i, row in enumerate(rows) if row["day"] is not None]
    np.testing.assert_allclose(
        np.array(json.loads(done.stdout))[usable], expected[usable], atol=1e-5
    )


def values(column):
    """Return the values of a column as a form has them."""
    if column.kind == "number":
        return [None if np.isnan(x) else float(x) for x in column.values]
    if column.decision is not None and column.decision.notation is not None:
        read = column.decision.notation.read(column.texts)[0]
        numbers = np.append(read, np.nan)[column.values]
        return [None if np.isnan(x) else float(x) for x in numbers]
    return [None if code < 0 else column.texts[code] for code in column.values.tolist()]


def test_the_page_of_the_model_is_shown(browser):
    wait_for(browser, "document.getElementById('page').srcdoc")
    browser.run("document.getElementById('page').scrollIntoView()")  # it is drawn when it is seen
    browser.enter_frame(0)
    try:
        wait_for(browser, "document.getElementById('drawing')?.dataset.drawn")
        text = browser.run("return document.body.textContent")
    finally:
        browser.enter_frame(None)
    assert "petal length cm" in text


def test_a_training_can_be_stopped_and_keeps_what_it_has_learnt(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8)).round(3)
    y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2]).round(3)
    lines = [",".join(map(str, row)) for row in np.column_stack([X, y])]
    before = models(browser)
    paste(browser, "a,b,c,d,e,f,g,h,y\n" + "\n".join(lines))
    wait_for(browser, "/^Round [1-9]/.test(document.getElementById('message').textContent)")
    click(browser, "stop")
    finished(browser, before)
    model = load_model(saved(browser, "save-model", tmp_path / "model.json"))
    assert model.n_features_in_ == 8
    assert 0 < model.n_iter_ < 60
    assert message(browser).startswith("Stopped")
    assert browser.run("return document.getElementById('stop').disabled")


BAD = {
    "one column": ("y\n" + "1\n2\n" * 20, "one column"),
    "text only": ("a,b\n" + "".join(f"a {i},b {i}\n" for i in range(60)), "no column can be"),
    "one class": ("a,b\n" + "1,x\n2,x\n" * 20, "No column varies"),
    "uneven": ("a,b\n1,2,3\n", "Line 2 has 3 cells"),
    "empty": ("", "empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_said_and_nothing_is_lost(browser, name, tmp_path):
    text, words = BAD[name]
    before = models(browser)
    paste(browser, text)
    wait_for(browser, "document.getElementById('problem').textContent")
    assert words in problem(browser)
    assert models(browser) == before
    load_model(
        saved(browser, "save-model", tmp_path / "model.json")
    )  # the last model is still there


def test_too_large_a_file_is_refused(browser):
    browser.run(
        """const file = new File(['a,b\\n1,2\\n'], 'large.csv');
        Object.defineProperty(file, 'size', {value: 200e6});
        const event = new Event('drop');
        event.dataTransfer = {files: [file]};
        document.dispatchEvent(event)"""
    )
    assert "large.csv has 200 MB, and this page takes at most 100 MB" in problem(browser)


def test_a_file_can_be_dropped_and_a_table_without_names_is_read(browser):
    before = models(browser)
    text = "\n".join(f"{i % 7},{i % 5},{(i % 7) * 2 + i % 5}.5" for i in range(140))
    browser.run(
        f"""const event = new Event('drop');
        event.dataTransfer = {{files: [new File([{json.dumps(text)}], 'plain.csv')]}};
        document.dispatchEvent(event)"""
    )
    finished(browser, before)
    assert list(kinds(browser)) == ["column1", "column2", "column3"]
    assert not browser.run("return document.getElementById('has-header').checked")


def test_a_worker_that_dies_loses_nothing(browser, tmp_path):
    browser.run(
        """window.Worker = class {
            constructor() {
                setTimeout(() => this.onerror({preventDefault() {}, message: 'gone'}));
            }
            postMessage() {}
            terminate() {}
        }"""
    )
    click(browser, "stop")  # replaces the worker
    browser.run(
        "document.getElementById('stop').disabled = false; document.getElementById('stop').click()"
    )
    wait_for(browser, "document.getElementById('problem').textContent")
    assert "ended unexpectedly (gone)" in problem(browser)
    assert "last model is still below" in problem(browser)
    load_model(saved(browser, "save-model", tmp_path / "model.json"))


def test_an_old_browser_is_told_so(chromium, page):
    before = chromium.devtools(
        "Page.addScriptToEvaluateOnNewDocument", source="WebAssembly.validate = () => false"
    )
    try:
        chromium.open(PAGE)
        wait_for(chromium, "document.getElementById('problem').textContent")
        assert "vector instructions" in problem(chromium)
    finally:
        chromium.devtools("Page.removeScriptToEvaluateOnNewDocument", **before)


def test_the_lesson_has_five_steps_with_moving_pictures(browser):
    click(browser, "lesson-open")
    titles = []
    for step in range(1, 6):
        place = "document.getElementById('lesson-picture').dataset"
        wait_for(browser, f"{place}.step === '{step}' && {place}.ready === 'yes'")
        titles.append(browser.run("return document.querySelector('#lesson-text h3').textContent"))
        first = lesson_picture(browser)
        assert any(lesson_picture(browser) != first for _ in range(20))
        click(browser, "lesson-next")
    assert len(set(titles)) == 5
    assert not browser.run("return document.getElementById('lesson').open")


def lesson_picture(browser):
    return browser.run_async(
        "setTimeout(() => arguments[0](document.getElementById('lesson-picture').toDataURL()), 60)"
    )


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_serious_fault(browser, width, dark):
    package = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
    browser.viewport(width, 900)
    browser.dark(dark)
    try:
        assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.run((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        for is_open in (False, True):
            if is_open:
                click(browser, "lesson-open")
            faults = browser.run_async(
                "axe.run(document, {iframes: false}).then((r) => "
                "arguments[0](r.violations.map((v) => [v.id, v.impact, v.nodes[0].html])))"
            )
            assert [fault for fault in faults if fault[1] in ("serious", "critical")] == []
    finally:
        browser.dark(False)
        browser.viewport(1400, 1000)


def test_the_file_is_small(page):
    import gzip

    assert len(page.encode()) <= 600_000
    assert len(gzip.compress(page.encode(), 9)) <= 200_000
