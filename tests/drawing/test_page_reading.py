"""Reading a model on its page: summaries, effect curves, interactions; the component."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
)
from bneuralt.drawing import pages
from bneuralt.drawing.page_data import page_data
from bneuralt.expressions import distinct_knots
from bneuralt.plotting import PALETTES
from tests.helpers.pages import (
    SMALL,
    as_rows,
    iris,
    open_page,
    picture,
    predictions,
    said,
    shown,
    table,
    wait_for,
)

MODULES = (
    "../../model/cells",
    "cells",
    "expressions",
    "model",
    "tree",
    "prediction",
    "format",
    "elements",
)
#: Run a generator of the page to its end.
FINISH = "const finish = (g) => { for (;;) { const s = g.next(); if (s.done) return s.value; } };"


def compute(browser, model, modules, script):
    """Run a script with modules of the page, `model` and `trees`."""
    data = json.dumps(page_data(model))
    return browser.run(
        f"""{pages._joined(*MODULES, *modules)} {FINISH}
        const model = modelOf({data}), trees = model.trees.map((data) => new Tree(data, model));
        {script}"""
    )


def product(n=300, noise=0.0, estimator=BNeuralTRegressor, **options):
    """Return a model of a product of two of three columns."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (n, 3)), columns=["a", "b", "c"])
    y = 4 * X["a"] * X["b"] + X["c"] + noise
    return estimator(**{**SMALL, "max_epochs": 60, **options}).fit(X, y), X


# -- effects ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [BNeuralTClassifier, BNeuralForestClassifier], ids=["tree", "forest"]
)
def test_mean_curves_are_the_effects_of_python(browser, estimator):
    options = {"n_estimators": 3} if estimator is BNeuralForestClassifier else {}
    model, _ = table(estimator, **options)
    curves = compute(
        browser,
        model,
        ["effects"],
        """return model.columns.map((column, j) => {
            const cells = cellsOf(column, null);
            if (!cells) return [column.name, null, null, null];
            const mean = finish(meanCurve(model, trees, j, cells, model.reference));
            const gap = finish(meanCurve(model, trees, j, [null], model.reference));
            return [column.name, cells, mean, column.has_gaps ? gap[0] : null];
        })""",
    )
    checked = {name for name, cells, *_ in curves if cells}
    assert {"height", "colour", "when", "city"} <= checked
    for name, cells, mean, gap in curves:
        if cells is None:
            continue
        effect = model.effect(name, at=cells)
        np.testing.assert_allclose(np.array(mean)[:, -effect.y.shape[1] :], effect.y, atol=1e-9)
        assert (gap is None) == (effect.missing is None)
        if gap is not None:
            np.testing.assert_allclose(gap[-effect.y.shape[1] :], effect.missing, atol=1e-9)


def test_curves_have_all_bends_of_a_column_in_its_range(browser):
    model, X = product(ramps=5)
    points = compute(browser, model, ["effects"], "return cellsOf(model.columns[0], null)")
    used = [model.model_.inputs[i] for i in model.model_.used_inputs if i in range(6)]
    bends = distinct_knots(entry.expression for entry in used)
    inside = {x for x in bends if X["a"].min() <= x <= X["a"].max()}
    assert len(inside) >= 5 and inside <= set(points)
    assert [points[0], points[-1]] == [X["a"].min(), X["a"].max()]


def test_curves_of_many_categories_have_the_smallest_and_the_largest(browser, tmp_path):
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 90, 900)
    X = pd.DataFrame({"shop": [f"s{i:02}" for i in shop], "size": rng.normal(size=900)})
    options = {**SMALL, "max_epochs": 20, "categorical_features": {"shop": "means"}}
    model = BNeuralTRegressor(**options).fit(X, shop / 30)
    curve = model.effect("shop").shortened()
    cells = compute(
        browser,
        model,
        ["effects"],
        """const column = model.columns[0], all = cellsOf(column, null);
        const own = finish(meanCurve(model, trees, 0, all, model.reference)).map((of) => of[0]);
        const cells = (value) => shownCells(column, all, value, own).map((i) => all[i]);
        return [cells(null), cells("s45"), cells("s00")]""",
    )
    assert set(cells[0]) == set(curve.x.tolist())
    assert len(cells[1]) - ("s45" not in cells[0]) == len(cells[2]) == len(cells[0]) == 40
    open_page(browser, model, tmp_path)
    wait_for(browser, "document.querySelector('.effect rect')")
    assert (
        browser.run("return document.querySelector('.effect').querySelectorAll('rect').length")
        <= 41
    )


def place_of_row(browser, name):
    """Return the place of the row on the curve of a column, and the width of the chart."""
    wait_for(browser, "document.querySelector('.effect .row-place')")
    return browser.run(
        f"""const field = [...document.querySelectorAll('#fields .field')]
            .find((f) => f.querySelector('label').textContent === {json.dumps(name)});
        const dot = field.querySelector('.row-place');
        const chart = field.querySelector('.effect');
        return dot && [Number(dot.getAttribute('cx')), chart.clientWidth]"""
    )


def set_number(browser, name, value):
    """Enter a number and wait for the curves."""
    browser.run_async(
        f"""const done = arguments[0];
        const box = [...document.querySelectorAll('#fields .field')]
            .find((f) => f.querySelector('label').textContent === {json.dumps(name)})
            .querySelector('[type=number]');
        box.value = {value};
        box.dispatchEvent(new Event('input'));
        setTimeout(done, 120)"""
    )


def test_the_row_has_its_place_on_the_curve(browser, tmp_path):
    model, X = product()
    open_page(browser, model, tmp_path)
    low, high = X["a"].min(), X["a"].max()
    for share in (0.0, 0.25, 1.0):
        set_number(browser, "a", low + share * (high - low))
        x, width = place_of_row(browser, "a")
        assert x == pytest.approx(8 + share * (width - 16), abs=0.5)
    assert "Curves: the prediction" in said(browser, "#curves")
    label = "return document.querySelector('.effect').getAttribute('aria-label')"
    assert re.match(r"a: \S+ at \S+, \S+ at \S+; this row", browser.run(label))


def test_a_row_outside_of_the_training_range_is_drawn_and_said_as_such(browser, tmp_path):
    model, _ = product()
    open_page(browser, model, tmp_path)
    wait_for(browser, "document.querySelector('.effect .own')")
    assert browser.run("return document.querySelectorAll('.effect .untrained').length") == 0
    set_number(browser, "a", 7)
    x, width = place_of_row(browser, "a")
    assert x == pytest.approx(width - 8, abs=0.5)
    assert browser.run("return document.querySelectorAll('.effect .untrained').length") == 1
    assert browser.run("return document.querySelectorAll('.effect .beyond').length") == 1
    note = "return document.querySelector('#fields .field .note').textContent"
    assert browser.run(note).startswith("outside of the training range, -0.9")


def test_gaps_and_categories_have_places_of_their_own(browser, tmp_path):
    model, X = table()
    open_page(browser, model, tmp_path)
    set_number(browser, "height", 170)
    inside, width = place_of_row(browser, "height")
    set_number(browser, "height", "''")
    missing, _ = place_of_row(browser, "height")
    assert inside < missing == width - 10
    bars = browser.run(
        """return [...document.querySelectorAll('#fields .field')]
            .find((f) => f.querySelector('label').textContent === 'colour')
            .querySelectorAll('rect.area').length"""
    )
    assert bars == X["colour"].nunique()


# -- interactions -------------------------------------------------------------------------


def test_the_strongest_interaction_is_listed_first(browser, tmp_path):
    model, _ = product()
    open_page(browser, model, tmp_path)
    wait_for(browser, "document.querySelector('#interactions data')")
    assert set(said(browser, "#interactions .name").split(" × ")) == {"a", "b"}
    values = browser.run(
        "return [...document.querySelectorAll('#interactions data')].map((d) => Number(d.value))"
    )
    assert values == sorted(values, reverse=True) and values[0] > 3 * values[1]


@pytest.mark.parametrize("estimator", [BNeuralTRegressor, BNeuralForestRegressor])
def test_interactions_are_second_differences_of_typical_rows(browser, estimator):
    options = {"n_estimators": 2} if estimator is BNeuralForestRegressor else {}
    model, _ = product(estimator=estimator, **options)
    pairs = compute(
        browser,
        model,
        ["effects", "interactions"],
        """const pairs = finish(interactionsOf(model, trees, [[0, 1], [0, 2], [1, 2]]));
        return pairs.map(({ a, b, strength }) => [a, b, strength])""",
    )
    rows, columns = model.model_.reference, model.model_.columns

    def outputs(inputs):
        return model.model_.outputs(inputs).mean(axis=0)

    for a, b, strength in pairs:
        differences = []
        for shift in (1, 3, 5):
            other = np.roll(rows, -shift, axis=0)
            swapped = []
            for part in ([a], [b], [a, b]):
                inputs = rows.copy()
                for j in part:
                    inputs[:, list(columns[j].inputs)] = other[:, list(columns[j].inputs)]
                swapped.append(outputs(inputs))
            differences.append(np.abs(outputs(rows) - swapped[0] - swapped[1] + swapped[2]))
        assert strength == pytest.approx(np.mean(differences), abs=1e-12)


def test_columns_that_never_meet_cannot_interact(browser, tmp_path):
    model, _ = product(interaction_cst="no_interactions")
    open_page(browser, model, tmp_path)
    wait_for(browser, "document.getElementById('interactions-note').textContent")
    note = said(browser, "#interactions-note")
    assert note.startswith("No two columns interact.")
    assert "3 pairs of 3 cannot interact" in note


# -- summaries ----------------------------------------------------------------------------


def large_tree(n_weights=400, **options):
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = BNeuralTRegressor(**{**SMALL, "n_weights": n_weights, **options})
    return model.fit(X, X[:, 0] ** 2 + X[:, 1]), X


def test_large_trees_open_summarised(browser, tmp_path):
    model, _ = large_tree()
    open_page(browser, model, tmp_path)
    summary = shown(browser)
    assert summary < 70 < model.tree_.size / 3
    browser.run("document.getElementById('expand').click()")
    assert shown(browser) > 3 * summary
    browser.run("document.getElementById('summary').click()")
    assert shown(browser) == summary


def test_small_trees_open_as_a_whole(browser, tmp_path):
    tree = NeuralTree.random(4, 1, n_weights=20, random_state=0)
    open_page(browser, tree, tmp_path)
    before = shown(browser)
    browser.run("document.getElementById('expand').click()")
    assert shown(browser) == before


def test_a_fold_is_reached_by_keys_and_shows_what_it_stands_for(browser, tmp_path):
    model, _ = large_tree(random_state=1)
    open_page(browser, model, tmp_path)
    summary = shown(browser)
    browser.run("document.getElementById('drawing').focus()")
    browser.press("Home", "ArrowRight", "ArrowRight")
    for _ in range(20):
        if said(browser, "#node h3").endswith("more leaves"):
            break
        browser.press("ArrowDown")
    assert re.match(r"[\d,]+ more leaves: [\d.]+ % of the output of y", said(browser, "#status"))
    browser.press("Enter")
    assert shown(browser) > summary


def test_shares_of_what_is_shown_and_of_folds_add_up(browser):
    model, _ = large_tree()
    total = compute(
        browser,
        model,
        ["summary", "scene"],
        """const [tree] = trees, strength = contributionsOf(model, tree);
        const idle = idleItems(tree, strength);
        const hidden = leftOut(tree, strength, idle, () => 20);
        tree.display = { strength, idle, hidden, folded: countFolded(tree, hidden, idle) };
        let share = 0, folds = 0, leaves = 0;
        for (let i = 0; i < tree.nNodes; i++) {
            if (!tree.display.folded[i] || (i >= tree.nOutputs && hidden[i])) continue;
            share += foldOf(tree, i).share;
            folds++;
        }
        for (let i = tree.nNodes; i < tree.size; i++) {
            if (idle[i] || !hidden[i]) share += strength[i] / strength[0];
            if (!idle[i] && !hidden[i]) leaves++;
        }
        return [share, leaves + folds]""",
    )
    assert total[0] == pytest.approx(1)
    assert 10 < total[1] <= 20


def test_strengths_are_mean_contributions_to_the_outputs_of_typical_rows(browser):
    model, _ = large_tree(n_weights=60)
    total, least = compute(
        browser,
        model,
        ["summary"],
        """const [tree] = trees;
        const runs = [model.reference[3], model.means].map((row) => tree.forward(row));
        const share = tree.contributions(...runs).subarray(tree.nNodes);
        return [share.reduce((a, b) => a + b), Math.min(...contributionsOf(model, tree))]""",
    )
    change = model.model_.outputs(model.model_.reference[3:4]) - model.model_.outputs(
        model.model_.mean_inputs[np.newaxis]
    )
    assert total == pytest.approx(change.item(), abs=1e-9)
    assert least >= 0


@pytest.mark.parametrize("width", [400, 600, 900])
def test_columns_are_as_wide_as_the_labels_beside_their_leaves_allow(browser, width):
    model, _ = product(n_weights=60)
    ends, labels, last = compute(
        browser,
        model,
        ["layout"],
        f"""const [tree] = trees, none = () => new Uint8Array(tree.nNodes);
        const parts = {{ collapsed: none(), folded: none(), isHidden: () => false }};
        const label = (i) => 40 + 7 * (i % 11);
        const available = {{ width: {width}, height: 1e4, label }};
        const places = layOut(tree, parts, "columns", available);
        const leaves = places.items.filter((i) => tree.isLeaf(i));
        return [leaves.map((i) => places.x[i] + label(i)), places.labels, bounds(places).right]""",
    )
    assert max(ends) == pytest.approx(last + labels, abs=0.01)  # what `fit` leaves free
    assert max(ends) <= width + 0.01
    if width < 900:  # columns of large drawings are no wider than lines can be followed
        assert max(ends) == pytest.approx(width, abs=0.01)


def test_weights_that_do_nothing_are_not_drawn(browser, tmp_path):
    weights = [0.5, 0.25, 0.0, 2.0, -1.0, 0.0, 1.0]
    tree = NeuralTree(3, 1, [-1, 0], [0, 2], [0, 0, 1, 1], [0, 1, 2, 0], [*weights])
    assert tree.edge.tolist() == [0.0]
    open_page(browser, tree, tmp_path)
    assert shown(browser) == 3  # the output, and two leaves
    assert said(browser, "#idle") == "2 leaves do nothing and are not drawn."
    browser.run("document.getElementById('expand').click()")
    assert shown(browser) == 3


# -- many classes, phones, colours --------------------------------------------------------

RECORD_TEXTS = """
window.texts = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const at = this.getTransform().transformPoint(new DOMPoint(x, y));
    const size = parseFloat(/([\\d.]+)px/.exec(this.font)[1]);
    window.texts.push([text, at.y / devicePixelRatio, size]);
    return fill.call(this, text, x, y);
};"""


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("n_classes", [26, 40])
def test_the_names_of_many_classes_are_legible(browser, width, n_classes, tmp_path):
    names = [f"class {chr(65 + k % 26)}{k}" for k in range(n_classes)]
    tree = NeuralTree.random(6, n_classes, n_weights=30 * n_classes, random_state=0)
    browser.viewport(width, 844)
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=RECORD_TEXTS)
    try:
        open_page(browser, tree, tmp_path, output_names=names)
        picture(browser)
        browser.run("window.texts = []; document.getElementById('fit').click()")
        picture(browser)
        texts = browser.run("return window.texts")
    finally:
        browser.devtools("Page.removeScriptToEvaluateOnNewDocument", **script)
        browser.viewport(1300, 900)
    lines = {
        name: (y, size) for text, y, size in texts for name in names if text.split("  ")[0] == name
    }
    assert set(lines) == set(names)
    assert min(size for _, size in lines.values()) >= 9
    heights = sorted(y for y, _ in lines.values())
    assert min(np.diff(heights)) >= 0.95 * min(size for _, size in lines.values())


def test_all_classes_can_be_listed(browser, tmp_path):
    tree = NeuralTree.random(3, 40, max_depth=1, random_state=0)
    open_page(browser, tree, tmp_path)
    n_bars = "return document.querySelectorAll('#prediction .bars li:not(.note)').length"
    assert browser.run(n_bars) == 10
    browser.run("document.querySelector('#prediction .bars button').click()")
    assert browser.run(n_bars) == 40


def test_a_phone_shows_prediction_and_fields_first(browser, tmp_path):
    browser.viewport(390, 844)
    try:
        open_page(browser, iris()[0], tmp_path)
        tops = browser.run(
            """return ['prediction', 'fields', 'drawing'].map(
                (id) => document.getElementById(id).getBoundingClientRect().top)"""
        )
        slider = browser.run(
            "return document.querySelector('#fields [type=range]').getBoundingClientRect().bottom"
        )
    finally:
        browser.viewport(1300, 900)
    assert tops == sorted(tops)
    assert slider < 844


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_the_colours_of_all_other_drawings(browser, theme, tmp_path):
    browser.dark(theme == "dark")
    try:
        open_page(browser, iris()[0], tmp_path)
        for role, color in PALETTES[theme].items():
            name = f"--{role.replace(' ', '-')}"
            shown_color = browser.run(
                "return getComputedStyle(document.getElementById('page'))"
                f".getPropertyValue('{name}').trim()"
            )
            assert shown_color == color
    finally:
        browser.dark(False)


# -- large models -------------------------------------------------------------------------

#: Count evaluations of tanh in each task: what a browser does before it answers again.
COUNT_WORK = """
window.work = { now: 0, most: 0, total: 0 };
const tanh = Math.tanh;
Math.tanh = (x) => { window.work.now++; window.work.total++; return tanh(x); };
const ends = () => {
    window.work.most = Math.max(window.work.most, window.work.now);
    window.work.now = 0;
};
for (const name of ['setTimeout', 'requestAnimationFrame']) {
    const schedule = window[name];
    const counted = (act) => (...given) => { ends(); act(...given); ends(); };
    window[name] = (act, ...rest) => schedule(counted(act), ...rest);
}"""


def test_a_large_model_is_computed_in_slices(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 6))
    small = BNeuralTRegressor(**SMALL, ramps=0).fit(X, X[:, 0])
    tree = NeuralTree.random(
        6, 1, n_weights=20_000, max_children=6, activation="tanh", output_activation="linear",
        random_state=0,
    )  # fmt: skip
    model = small._with_model(small.model_.in_raw_units().with_trees([tree.astype(np.float64)]))
    n_nodes = tree.parent.size
    assert tree.size > 10_000 and n_nodes > 2000
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=COUNT_WORK)
    try:
        open_page(browser, model, tmp_path)
        browser.run(
            """const slider = document.querySelector('#fields [type=range]');
            slider.value = slider.max;
            slider.dispatchEvent(new Event('input'))"""
        )
        wait_for(browser, "document.querySelector('.effect .own')")
        work = browser.run("return work")
    finally:
        browser.devtools("Page.removeScriptToEvaluateOnNewDocument", **script)
    assert work["total"] > 100 * n_nodes  # the curves need this many
    assert work["most"] < work["total"] / 5
    assert browser.console() == []


# -- the component ------------------------------------------------------------------------


def test_another_page_can_contain_the_component(browser, tmp_path):
    """It fills an element, can be removed, and leaves nothing behind."""
    style, script = pages.page_component()
    data = [json.dumps(page_data(iris()[0])), json.dumps(page_data(product()[0]))]
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Another page</title>
    <link rel="icon" href="data:,"><style>{style}</style><p id="text">text</p>
    <div id="place" style="height: 700px"></div>
    <script>const before = new Set(Object.keys(window));</script><script>{script}</script>"""
    (tmp_path / "other.html").write_text(page, encoding="utf-8")
    browser.console()
    browser.open(tmp_path / "other.html")
    color = "return getComputedStyle(document.getElementById('text')).color"
    assert browser.run(color) == "rgb(0, 0, 0)"
    for text, name, title in zip(data, ("sepal length (cm)", "a"), ("Iris", "<b>"), strict=True):
        browser.run(
            f"""window.shown?.remove();
            const place = document.getElementById('place');
            window.shown = mountModel(place, {text}, {{ title: {title!r} }})"""
        )
        assert said(browser, "#fields label") == name
        assert said(browser, "#title") == title
        picture(browser)
    assert (
        browser.run("window.shown.remove(); return document.getElementById('place').innerHTML")
        == ""
    )
    browser.run("delete window.shown")
    new = browser.run("return Object.keys(window).filter((name) => !before.has(name))")
    assert [name for name in new if name != "ret_nodes"] == []  # which chromedriver makes
    assert browser.run(color) == "rgb(0, 0, 0)"
    assert browser.console() == []


def test_predictions_are_those_of_float32_weights(browser, tmp_path):
    """The page writes them with few digits, which stand for the same numbers."""
    model, X = product(dtype="float32", n=120)
    open_page(browser, model, tmp_path)
    exact = NeuralTree.from_dict(model.tree_.to_dict()).astype(np.float64)
    expected = exact.forward(model.model_.encode(X[:8]).astype(np.float64))
    np.testing.assert_allclose(predictions(browser, as_rows(X[:8])), expected, rtol=1e-12)
