"""The interactive page in a real browser: what changes when something is done."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import NotFittedError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
)
from bneuralt.cli.program import main
from bneuralt.drawing import pages
from tests.helpers.pages import (
    SMALL,
    as_rows,
    decision,
    iris,
    open_page,
    picture,
    predictions,
    said,
    shown,
    table,
    wait_for,
)
from tests.helpers.tables import DIABETES, people

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "\"quotes' & &amp; \\ `${1}` -->",
    "emoji 🌳🇩🇪 and \u202eright to left שלום",
    "x" * 500,
]


def move_slider(browser, column, value):
    browser.run(
        f"""const slider = document.querySelector('[aria-label="{column}, slider"]');
        slider.value = {value};
        slider.dispatchEvent(new Event('input'))"""
    )


def example_in_form(browser, names):
    fields = browser.run(
        "return [...document.querySelectorAll('#fields .field')].map((f) => "
        "[f.querySelector('label').textContent, f.querySelector('[id]').value])"
    )
    assert [name for name, _ in fields] == names
    return pd.DataFrame([{name: float(value) for name, value in fields}])


def test_a_slider_changes_prediction_and_drawing(browser, tmp_path):
    model, X = iris()
    open_page(browser, model, tmp_path)
    before = picture(browser)
    limits = browser.run(
        """const slider = document.querySelector('[aria-label="petal length (cm), slider"]');
        return [slider.min, slider.max].map(Number)"""
    )
    assert limits == [X["petal length (cm)"].min(), X["petal length (cm)"].max()]
    seen = set()
    for length in (1.2, 4.0, 6.8):
        move_slider(browser, "petal length (cm)", length)
        row = example_in_form(browser, list(X.columns))
        assert row["petal length (cm)"][0] == length
        shares = model.predict_proba(row)[0]
        name, share, text = decision(browser)
        assert name == model.predict(row)[0]
        assert share == pytest.approx(shares.max(), abs=1e-9)
        assert text == f"{100 * share:.1f} %"
        seen.add(picture(browser))
    assert len(seen | {before}) == 4
    assert "rather than" in said(browser, "#reasons")


def test_an_example_can_be_entered_in_the_form(browser, tmp_path):
    model, X = table()
    open_page(browser, model, tmp_path)
    before = picture(browser)
    browser.run(
        """const field = (name) => [...document.querySelectorAll('#fields .field')]
            .find((f) => f.textContent.startsWith(name)).querySelector('[id]');
        const enter = (name, value, event) => {
            field(name).value = value;
            field(name).dispatchEvent(new Event(event));
        };
        enter('height', '', 'input');
        enter('colour', '=green', 'change');
        enter('when', '2024-07-04', 'change');
        enter('member', '1', 'input');
        enter('visits', '7', 'input');
        enter('stay', '600', 'input');
        enter('city', '=Rome', 'change');"""
    )
    row = pd.DataFrame(
        [[None, "green", "2024-07-04", 1.0, 7.0, 600.0, "Rome"]], columns=X.columns
    ).astype({"height": float})
    name, share, _ = decision(browser)
    assert name == model.predict(row)[0]
    assert share == pytest.approx(model.predict_proba(row).max(), abs=1e-9)
    assert picture(browser) != before
    options = browser.run(
        "return [...document.querySelectorAll('#fields .lookup')]"
        ".map((f) => [...f.querySelectorAll('option')].map((o) => o.textContent))"
    )
    assert options[0] == ["blue", "green", "red", "(another value)", "(missing)"]


def test_examples_given_in_python_can_be_stepped_through(browser, tmp_path):
    model, X = table()
    open_page(browser, model, tmp_path, examples=X[:3])
    for i in (0, 1, 2, 0):
        assert said(browser, "#row") == f"row {i + 1} of 3"
        name, share, _ = decision(browser)
        assert name == model.predict(X[i : i + 1])[0]
        assert share == pytest.approx(model.predict_proba(X[i : i + 1]).max(), abs=1e-9)
        browser.run("document.getElementById('next').click()")


def test_text_that_is_not_a_table_is_answered_with_a_message(browser, tmp_path):
    open_page(browser, iris()[0], tmp_path)
    for text, message in (
        ("", "no row"),
        ("a,b\n1,2", "needs a header with the columns “"),
        ("petal width (cm)\nwide", "wide is not a number"),
        ("{", "cannot be read"),
    ):
        browser.run(
            f"""document.getElementById('rows-text').value = {json.dumps(text)};
            document.getElementById('rows-read').click()"""
        )
        assert message in said(browser, "#rows-message")


def test_csv_with_quotes_and_semicolons_is_read(browser, tmp_path):
    frame = pd.DataFrame({'a;"b"': [1.0, 2.0, 3.0] * 9, "text, long": ["u;1", 'v"', "w\nx"] * 9})
    y = np.arange(27) % 3
    model = BNeuralTClassifier(**SMALL).fit(frame, y)
    open_page(browser, model, tmp_path)
    csv = frame[:3].to_csv(index=False, sep=";")
    browser.run(
        f"""document.getElementById('rows-text').value = {json.dumps(csv)};
        document.getElementById('rows-read').click();
        document.getElementById('previous').click()"""
    )
    assert said(browser, "#row") == "row 3 of 3"
    assert decision(browser)[1] == pytest.approx(model.predict_proba(frame[2:3]).max())


def test_contributions_add_up_to_the_change_of_the_output(browser, tmp_path):
    X, y = DIABETES[0][:, :6], DIABETES[1]
    model = BNeuralTRegressor(**SMALL, n_weights=40).fit(X, y)
    open_page(browser, model, tmp_path)
    browser.run(
        f"""document.getElementById('rows-text').value = {json.dumps(as_rows(X[7:8]))};
        document.getElementById('rows-read').click()"""
    )
    contributions = browser.run(
        "return [...document.querySelectorAll('#reasons data')].map((d) => Number(d.value))"
    )
    average = model.model_.outputs(model.model_.mean_inputs[np.newaxis])
    change = float(model.predict(X[7:8])[0] - average.item())
    # Reasons below a five-hundredth of the largest are not listed.
    assert sum(contributions) == pytest.approx(change, abs=0.02 * max(map(abs, contributions)))


def test_nodes_are_collapsed_and_expanded(browser, tmp_path):
    model, _ = iris()
    open_page(browser, model, tmp_path)
    summary, before = shown(browser), picture(browser)
    browser.run("document.getElementById('expand').click()")
    assert shown(browser) > summary
    browser.run("document.getElementById('collapse').click()")
    assert shown(browser) < summary
    assert picture(browser) != before
    browser.run("document.getElementById('summary').click()")
    assert shown(browser) == summary
    assert picture(browser) == before


def test_a_search_lights_up_all_leaves_of_a_feature(browser, tmp_path):
    model, _ = iris()
    open_page(browser, model, tmp_path)
    before = picture(browser)
    browser.run(
        """const box = document.getElementById('search');
        box.value = 'PETAL WIDTH';
        box.dispatchEvent(new Event('input'))"""
    )
    tree = model.tree_
    leaves = set(zip(tree.leaf_parent.tolist(), tree.leaf_input.tolist(), strict=True))
    n = sum(model.encoder_.groups[position] == 3 for _, position in leaves)
    assert said(browser, "#hits") == f"{n} leaves"
    assert picture(browser) != before


def test_the_keyboard_walks_through_the_tree(browser, tmp_path):
    model, _ = iris()
    open_page(browser, model, tmp_path)
    everything = shown(browser)
    browser.run("document.getElementById('drawing').focus()")
    browser.press("ArrowRight")  # nothing is selected yet: the first output
    assert said(browser, "#node h3") == "setosa"
    browser.press("ArrowDown")
    assert said(browser, "#node h3") == "versicolor"
    browser.press("ArrowRight")
    assert said(browser, "#status").startswith(said(browser, "#node h3"))
    browser.press("ArrowLeft", "Enter")
    assert shown(browser) < everything
    browser.press("Enter", "Home")
    assert shown(browser) == everything
    assert said(browser, "#node h3") == "setosa"
    before = picture(browser)
    browser.press("+")
    assert picture(browser) != before


def test_sliders_move_with_the_arrow_keys(browser, tmp_path):
    model, _ = iris()
    open_page(browser, model, tmp_path)
    before = decision(browser)
    browser.run("document.querySelector('#fields [type=range]').focus()")
    browser.press(*["ArrowRight"] * 3)
    assert decision(browser)[1] != before[1]


def test_two_fingers_zoom(browser, tmp_path):
    model, _ = iris()
    open_page(browser, model, tmp_path)
    before = picture(browser)
    browser.touch("touchStart", (400, 400), (500, 400))
    for step in range(1, 6):
        browser.touch("touchMove", (400 - 10 * step, 400), (500 + 10 * step, 400))
    browser.touch("touchEnd")
    assert picture(browser) != before
    browser.run("document.getElementById('fit').click()")
    assert picture(browser) == before


def test_hovering_and_clicking_show_a_node(browser, tmp_path):
    tree = NeuralTree(2, 1, [-1], [2], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    open_page(browser, tree, tmp_path, feature_names=["age", "size"], output_names=["risk"])
    x, y = browser.run(
        """const box = document.getElementById('drawing').getBoundingClientRect();
        for (let y = 2; y < box.height; y += 6) for (let x = 2; x < box.width; x += 6) {
            const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
            document.getElementById('drawing').dispatchEvent(new PointerEvent('pointermove', at));
            if (document.getElementById('tip').textContent.startsWith('risk'))
                return [at.clientX, at.clientY];
        }"""
    )
    browser.mouse("mouseMoved", x, y)
    assert said(browser, "#tip") == "risk: tanh, bias +0.5, value 0.462, 2 terms"
    browser.mouse("mousePressed", x, y)
    browser.mouse("mouseReleased", x, y)
    assert said(browser, "#node h3") == "risk"
    assert "+2 × 0 = +0" in said(browser, "#node .terms")


def test_a_forest_has_a_list_of_trees_with_their_votes(browser, tmp_path):
    model, X = iris(BNeuralForestClassifier, n_estimators=3)
    open_page(browser, model, tmp_path)
    predictions(browser, as_rows(X[:1]))
    votes = browser.run(
        "return [...document.querySelectorAll('#trees button')].map((b) => b.textContent)"
    )
    shares = [member.predict_proba(X[:1])[0] for member in model.estimators_]
    for i, share in enumerate(shares):
        best = model.classes_[share.argmax()]
        assert votes[i] == f"Tree {i + 1}{best} {100 * share.max():.1f} %"
    before = picture(browser)
    browser.run("document.querySelectorAll('#trees button')[2].click()")
    assert picture(browser) != before
    size = len({*zip(*(getattr(model.estimators_[2].tree_, a).tolist()
                       for a in ("leaf_parent", "leaf_input")), strict=True)})  # fmt: skip
    label = browser.run("return document.getElementById('drawing').ariaLabel")
    assert f"{size} leaves" in label


# -- large trees --------------------------------------------------------------------------


def test_a_tree_of_20_000_nodes_is_drawn_and_moved(browser, tmp_path):
    tree = NeuralTree.random(30, 3, n_weights=20_000, max_children=6, random_state=0)
    assert tree.size > 15_000
    open_page(browser, tree, tmp_path)
    assert shown(browser) < 100
    browser.run("document.getElementById('expand').click()")
    assert shown(browser) > 10_000
    before = picture(browser)
    browser.run("document.getElementById('zoom-in').click()")
    zoomed = picture(browser)
    assert zoomed != before
    browser.mouse("mousePressed", 400, 400)
    for step in range(1, 6):
        browser.mouse("mouseMoved", 400 + 20 * step, 400)
    browser.mouse("mouseReleased", 500, 400)
    assert picture(browser) != zoomed
    browser.run("document.getElementById('collapse').click()")
    assert shown(browser) < 100
    assert browser.console() == []


def test_wide_tables_have_fields_for_what_is_used(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 500))
    model = BNeuralTRegressor(**SMALL).fit(X, X[:, 3])
    open_page(browser, model, tmp_path)
    used = len(np.unique(model.tree_.leaf_input))
    n_fields = browser.run("return document.querySelectorAll('#fields .field').length")
    assert n_fields == min(used, 100)
    browser.run(
        """const box = document.getElementById('find-column');
        box.value = 'no such column';
        box.dispatchEvent(new Event('input'))"""
    )
    assert "No column has this name" in said(browser, "#fields")


# -- safety and accessibility -------------------------------------------------------------


def hostile_model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=HOSTILE[:4])
    frame[HOSTILE[4]] = rng.choice([text[:400] for text in HOSTILE], 80)
    return BNeuralTClassifier(**SMALL).fit(frame, np.array(HOSTILE)[np.arange(80) % 5])


def test_hostile_names_are_shown_as_text(browser, tmp_path):
    model = hostile_model()
    elements = "return document.querySelectorAll('script, img, iframe, object').length"
    open_page(browser, iris()[0], tmp_path)
    usual = browser.run(elements)
    open_page(browser, model, tmp_path, title=HOSTILE[1])
    assert browser.run(elements) == usual
    assert browser.run("return window.hacked") is None
    clean = [re.sub("[\u202e]", " ", name) for name in HOSTILE]  # as names in drawings are
    labels = "return [...document.querySelectorAll('#fields label')].map((l) => l.textContent)"
    assert browser.run(labels) == clean
    names = (
        "return [...document.querySelectorAll('#prediction li .name')].map((l) => l.textContent)"
    )
    assert sorted(browser.run(names)) == sorted(clean)
    options = "return [...document.querySelectorAll('#fields option')].map((l) => l.textContent)"
    assert {text[:400] for text in HOSTILE} <= set(browser.run(options))
    assert said(browser, "h1") == HOSTILE[1]
    browser.viewport(390, 844)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.viewport(1300, 900)


def test_the_page_requests_nothing_but_itself(browser, tmp_path):
    browser.requests()
    open_page(browser, table()[0], tmp_path)
    move_slider(browser, "height", 160)
    picture(browser)
    # Chromium draws its own icons, such as that of date fields, from data: addresses.
    requests = {address for address in browser.requests() if not address.startswith("data:")}
    assert requests == {(tmp_path / "page.html").as_uri()}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)


AXE = Path("axe_core_python/axe.min.js")


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_serious_fault(browser, width, dark, tmp_path):
    package = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
    script = (Path(package.__file__).parent / AXE.name).read_text(encoding="utf-8")
    browser.viewport(width, 844)
    browser.dark(dark)
    try:
        open_page(browser, table(BNeuralForestClassifier, n_estimators=2)[0], tmp_path)
        move_slider(browser, "height", 160)
        browser.run("document.getElementById('drawing').focus()")
        browser.press("ArrowRight")
        browser.run(script)
        faults = browser.run_async(
            "axe.run().then((r) => arguments[0](r.violations.map((v) => "
            "[v.impact, v.id, v.nodes.map((n) => n.html)])))"
        )
    finally:
        browser.viewport(1300, 900)
        browser.dark(False)
    assert [fault for fault in faults if fault[0] in ("serious", "critical")] == []


def test_a_phone_needs_no_sideways_scrolling(browser, tmp_path):
    browser.viewport(390, 844)
    try:
        open_page(browser, table()[0], tmp_path)
        assert browser.run("return document.documentElement.scrollWidth") == 390
        assert browser.run("return document.getElementById('drawing').clientHeight") > 300
    finally:
        browser.viewport(1300, 900)


# -- where pages come from ----------------------------------------------------------------


def test_notebooks_show_a_small_page_beside_the_diagram(browser, tmp_path):
    model, _ = iris()
    html = model._repr_mimebundle_()["text/html"]
    assert model._repr_html_().count("<iframe") == html.count("<iframe") == 1
    assert "sk-top-container" in html
    (tmp_path / "notebook.html").write_text(f"<!doctype html>{html}", encoding="utf-8")
    browser.open(tmp_path / "notebook.html")
    browser.enter_frame(0)
    try:
        wait_for(browser, "document.getElementById('decision')")
        assert decision(browser)[0] in model.classes_
    finally:
        browser.enter_frame(None)


def test_without_a_fit_there_is_only_the_diagram():
    model = BNeuralTClassifier()
    assert "<iframe" not in model._repr_mimebundle_()["text/html"]
    with pytest.raises(NotFittedError):
        model.to_html()
    with sklearn.config_context(display="text"):
        assert "text/html" not in iris()[0]._repr_mimebundle_()


def test_large_models_are_not_put_into_notebooks():
    tree = NeuralTree.random(30, 3, n_weights=30_000, random_state=0)
    html = pages.notebook_html(tree)
    assert "<iframe" not in html and "to_html" in html


def test_scripts_import_what_others_export_and_share_no_names():
    """They are joined to one script, in which imports and exports are left out."""
    exported, declared = {}, []
    for name in pages._SCRIPTS:
        text = pages._file(f"{name}.js")
        imports = r"(?m)^import \{ (.+) \} from \"(?:./)?([^\"]+).js\";$"
        for names, module in re.findall(imports, text):
            assert set(names.split(", ")) <= exported[module], name
        top = r"(?m)^(export )?(?:async )?(?:const|let|function\*?|class) (\w+)"
        definitions = re.findall(top, text)
        exported[name] = {declaration for export, declaration in definitions if export}
        declared += [declaration for _, declaration in definitions]
    assert len(declared) == len(set(declared))
    folder = Path(pages.__file__).parent / "page"
    own = {name for name in pages._SCRIPTS if "/" not in name}
    assert {path.stem for path in folder.glob("*.js")} == own


def test_the_program_writes_a_page(tmp_path, capsys):
    model, _ = iris()
    model.save(tmp_path / "flowers.json")
    assert main(["draw", str(tmp_path / "flowers.json"), "--out", str(tmp_path / "f.html")]) == 0
    assert "Page written to" in capsys.readouterr().out
    assert "<title>flowers</title>" in (tmp_path / "f.html").read_text(encoding="utf-8")


def test_the_program_adds_the_rows_of_a_table(browser, tmp_path, capsys):
    X, y = people(100)
    data, model, page = (tmp_path / name for name in ("data.csv", "model.json", "page.html"))
    X.drop(columns="stay").assign(target=y).to_csv(data, index=False)
    assert main(["train", str(data), "--target", "target", "--out", str(model)]) == 0
    assert main(["draw", str(model), "--out", str(page), "--example", str(data)]) == 0
    capsys.readouterr()
    browser.open(page)
    wait_for(browser, "document.getElementById('decision')")
    assert said(browser, "#row") == "row 1 of 100"
    assert main(["predict", str(model), str(data), "--probabilities"]) == 0
    first = capsys.readouterr().out.splitlines()[1].split(",")
    assert decision(browser)[1] == pytest.approx(max(map(float, first[-2:])), abs=1e-5)


def test_examples_that_do_not_fit_are_refused():
    model, X = iris()
    with pytest.raises(ValueError, match="examples has 3 columns, the model has 4 features"):
        model.to_html(examples=X.to_numpy()[:, :3])


def test_many_classes_are_counted_in_plain_english(browser, tmp_path):
    model = NeuralTree.random(3, 50, max_depth=1, random_state=0)
    open_page(browser, model, tmp_path)
    assert said(browser, "#prediction .bars .note") == "and 40 more"


@pytest.mark.parametrize("dark", [False, True])
def test_the_canvas_has_its_ground_before_the_first_drawing(browser, dark, tmp_path):
    model, _ = iris()
    model.to_html(tmp_path / "page.html")
    browser.dark(dark)
    never = browser.devtools(
        "Page.addScriptToEvaluateOnNewDocument", source="window.requestAnimationFrame = () => 1"
    )
    try:
        browser.open(tmp_path / "page.html")
        pixel = browser.run(
            """const canvas = document.getElementById('drawing');
            return [...canvas.getContext('2d').getImageData(9, 9, 1, 1).data].slice(0, 3)"""
        )
    finally:
        browser.devtools("Page.removeScriptToEvaluateOnNewDocument", **never)
        browser.dark(False)
    assert pixel == ([0x12, 0x17, 0x1C] if dark else [255, 255, 255])
