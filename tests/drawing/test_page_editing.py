"""Editing a model on its page: what changes, what is refused, and the file that is downloaded."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    load_model,
)
from bneuralt.files import ModelFileError
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
from tests.helpers.tables import DIABETES


def houses(estimator=BNeuralTRegressor, n=200, **options):
    """Return a model of a number, with a column that has gaps, and its table."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=n).round(2) for name in ("size", "age", "noise")})
    X["kind"] = rng.choice(["flat", "house"], n)
    y = 3 * X["size"] - np.abs(X["age"]) + (X["kind"] == "house") + 0.1 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return estimator(**{**SMALL, **options}).fit(X, y), X, y.rename("price")


def click(browser, name):
    browser.run(f"document.getElementById({name!r}).click()")


def enter(browser, name, value, event="change"):
    browser.run(
        f"""const field = document.getElementById({name!r});
        field.value = {json.dumps(value)};
        field.dispatchEvent(new Event({event!r}))"""
    )


def choose_column(browser, name):
    browser.run(
        f"""const list = document.getElementById('edit-column');
        list.value = [...list.options].find((o) => o.text === {json.dumps(name)}).value;
        list.dispatchEvent(new Event('change'))"""
    )


def select_node(browser, *keys):
    browser.run("document.getElementById('drawing').focus()")
    browser.press("Home", *keys)


def downloaded(browser, path):
    """Return the model of the file that the page offers."""
    text = browser.run_async(
        """const done = arguments[0], before = URL.createObjectURL;
        URL.createObjectURL = (blob) => {
            URL.createObjectURL = before;
            blob.text().then(done);
            return before.call(URL, blob);
        };
        document.getElementById('download').click();"""
    )
    path.write_text(text, encoding="utf-8")
    return load_model(path)


def log(browser):
    return browser.run("return [...document.querySelectorAll('#log li')].map((l) => l.textContent)")


def check_equal(browser, model, X, rtol=1e-9):
    """Check that the page and a model in Python predict the same."""
    expected = getattr(model, "predict_proba", model.predict)(X).reshape(len(X), -1)
    np.testing.assert_allclose(np.array(predictions(browser, as_rows(X))), expected, rtol, 1e-9)


# -- edits --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_changed_weight_is_in_the_file_and_in_its_log(browser, dtype, tmp_path):
    model, X, _ = houses(dtype=dtype)
    open_page(browser, model, tmp_path)
    select_node(browser, "ArrowRight")
    enter(browser, "edit-weight", "0.1234567")
    enter(browser, "edit-bias", "-0.7")
    edited = downloaded(browser, tmp_path / "edited.json")
    assert [entry["edit"] for entry in edited.edits_] == ["weight", "weight"]
    ((tree, name, i, before, after),) = edited.edits_[0]["changes"]
    assert (tree, name) == (0, "edge") and after == np.dtype(dtype).type(0.1234567)
    assert before == model.tree_.edge[i] and edited.tree_.edge[i] == after
    assert "weight above node" in log(browser)[1]
    assert not np.allclose(edited.predict(X), model.predict(X))
    check_equal(browser, edited, X[:20], rtol=1e-9 if dtype == "float64" else 1e-4)


def test_a_branch_is_cut_without_a_change_of_the_typical_rows_mean(browser, tmp_path):
    model, X, _ = houses()
    open_page(browser, model, tmp_path)
    before = shown(browser), picture(browser)
    select_node(browser, "ArrowRight")
    click(browser, "cut")
    assert shown(browser) < before[0]
    assert picture(browser) != before[1]
    edited = downloaded(browser, tmp_path / "edited.json")
    (entry,) = edited.edits_
    assert entry["edit"] == "cut" and {change[1] for change in entry["changes"]} == {"edge", "bias"}
    check_equal(browser, edited, X[:20])
    means = [m.model_.outputs(model.model_.reference).mean() for m in (model, edited)]
    assert means[0] == pytest.approx(means[1], abs=1e-9)  # the output node is linear


def test_a_limited_column_is_constant_beyond_the_limits(browser, tmp_path):
    model, X, _ = houses(ramps=4)
    open_page(browser, model, tmp_path)
    choose_column(browser, "age")
    enter(browser, "limit-low", "-0.33")
    enter(browser, "limit-high", "0.71")
    click(browser, "limit")
    edited = downloaded(browser, tmp_path / "edited.json")
    assert edited.edits_[0]["after"] == [-0.33, 0.71]
    assert edited.encoder_.features[1].bounds == (-0.33, 0.71)
    rows = X[:12].assign(age=[-9, -1, -0.34, -0.33, 0, 0.5, 0.7, 0.71, 0.72, 2, 50, np.nan])
    limited = model.predict(rows.assign(age=rows["age"].clip(-0.33, 0.71)))
    np.testing.assert_allclose(edited.predict(rows), limited, rtol=1e-12)
    check_equal(browser, edited, rows)
    click(browser, "unlimit")
    again = downloaded(browser, tmp_path / "again.json")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert len(again.edits_) == 2


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("estimator", [BNeuralTRegressor, BNeuralForestRegressor])
def test_a_forced_sign_is_proved_by_the_file(browser, estimator, sign, tmp_path):
    model, X, _ = houses(estimator, **({"n_estimators": 3} if "Forest" in str(estimator) else {}))
    open_page(browser, model, tmp_path)
    choose_column(browser, "age")
    enter(browser, "force-sign", str(sign))
    click(browser, "force")
    edited = downloaded(browser, tmp_path / "edited.json")
    proof = edited.check_monotonic()
    assert proof.holds and proof["age"].constraint == sign
    assert not model.check_monotonic()["age"].direction
    check_equal(browser, edited, X[:10])
    rows = X[:1].iloc[np.zeros(50, int)].assign(age=np.linspace(-3, 3, 50))
    assert (sign * np.diff(edited.predict(rows)) >= -1e-12).all()


def test_the_sign_of_one_of_two_classes_can_be_forced(browser, tmp_path):
    _, X, y = houses(n=300)
    clf = BNeuralTClassifier(**SMALL).fit(X, np.where(y > 0, "dear", "cheap"))
    open_page(browser, clf, tmp_path)
    choose_column(browser, "size")
    enter(browser, "force-sign", "-1")
    click(browser, "force")
    assert "probability of “dear” never rises" in log(browser)[0]
    edited = downloaded(browser, tmp_path / "edited.json")
    assert edited.check_monotonic()["size"].direction in (0, -1)
    check_equal(browser, edited, X[:10])


def test_edits_of_a_forest_are_of_the_tree_that_is_shown(browser, tmp_path):
    model, X = iris(BNeuralForestClassifier, n_estimators=3)
    open_page(browser, model, tmp_path)
    click(browser, "next-tree")
    select_node(browser, "ArrowRight")
    click(browser, "cut")
    edited = downloaded(browser, tmp_path / "edited.json")
    assert {change[0] for change in edited.edits_[0]["changes"]} == {1}
    assert "tree 2" in edited.edits_[0]["text"]
    check_equal(browser, edited, X[::15])


def test_a_leaf_that_several_leaves_are_drawn_as_is_edited_as_one(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 1))
    small = BNeuralTRegressor(**SMALL, ramps=0).fit(X, X[:, 0])
    tree = NeuralTree(1, 1, [-1, 0], [0, 2], [0, 1, 1], [0, 0, 0], [0.5, 0.1, 2.0, 1.0, 0.75, -0.5])
    model = small._with_model(small.model_.in_raw_units().with_trees([tree]))
    open_page(browser, model, tmp_path)
    select_node(browser, "ArrowRight", "ArrowRight")
    assert "2 leaves with this input are added" in said(browser, "#node")
    assert float(browser.run("return document.getElementById('edit-weight').value")) == 0.25
    enter(browser, "edit-weight", "1.5")
    edited = downloaded(browser, tmp_path / "edited.json")
    assert edited.tree_.leaf_weight.tolist() == [1.0, 1.5, 0.0]
    assert len(edited.edits_[0]["changes"]) == 2
    check_equal(browser, edited, X[:10])


# -- undo, log, scores --------------------------------------------------------------------


def test_undo_goes_back_step_by_step_also_in_a_file_that_was_edited_before(browser, tmp_path):
    model, X, _ = houses()
    open_page(browser, model, tmp_path)
    choose_column(browser, "age")
    enter(browser, "limit-high", "0.5")
    click(browser, "limit")
    enter(browser, "force-sign", "1")
    click(browser, "force")
    edited = downloaded(browser, tmp_path / "edited.json")
    edited.save(tmp_path / "again.json")
    loaded = load_model(tmp_path / "again.json")
    assert loaded.edits_ == edited.edits_
    open_page(browser, loaded, tmp_path)
    assert len(log(browser)) == 2
    check_equal(browser, loaded, X[:5])
    click(browser, "undo")
    click(browser, "undo")
    assert log(browser) == []
    check_equal(browser, model, X[:5])
    assert browser.run("return document.getElementById('undo').disabled")
    original = downloaded(browser, tmp_path / "original.json")
    assert not hasattr(original, "edits_")
    np.testing.assert_array_equal(original.predict(X), model.predict(X))


def rows_with_target(browser, X, y, how):
    text = json.dumps(X.assign(**{y.name: y}).to_csv(index=False))
    if how == "pasted":
        browser.run(
            f"""document.getElementById('rows-text').value = {text};
            document.getElementById('rows-read').click()"""
        )
    else:
        browser.run(
            f"""const transfer = new DataTransfer();
            transfer.items.add(new File([{text}], 'rows.csv'));
            document.querySelector('#fields').dispatchEvent(
                new DragEvent('drop', {{ dataTransfer: transfer, bubbles: true }}))"""
        )
    wait_for(browser, "document.querySelector('#scores table')")


def scores(browser):
    return browser.run(
        "return [...document.querySelectorAll('#scores data')].map((d) => Number(d.value))"
    )


@pytest.mark.parametrize("how", ["pasted", "dropped"])
def test_scores_before_and_after_on_loaded_rows(browser, how, tmp_path):
    model, X, y = houses()
    open_page(browser, model, tmp_path)
    rows_with_target(browser, X, y, how)
    before = [r2_score(y, model.predict(X)), mean_absolute_error(y, model.predict(X))]
    assert said(browser, "#target option") == "price"
    assert scores(browser) == pytest.approx([before[0], before[0], before[1], before[1]])
    select_node(browser, "ArrowRight")
    click(browser, "cut")
    wait_for(
        browser,
        "new Set([...document.querySelectorAll('#scores data')].map((d) => d.value)).size === 4",
    )
    edited = downloaded(browser, tmp_path / "edited.json")
    after = [r2_score(y, edited.predict(X)), mean_absolute_error(y, edited.predict(X))]
    assert scores(browser) == pytest.approx([before[0], after[0], before[1], after[1]])


def test_scores_of_classes(browser, tmp_path):
    model, X = table()
    y = pd.Series(model.predict(X[::-1]), name="target", index=X.index)
    open_page(browser, model, tmp_path)
    text = X.assign(stay=X["stay"].dt.total_seconds(), when=X["when"].dt.strftime("%Y-%m-%d"))
    rows_with_target(browser, text, y, "pasted")
    accuracy = accuracy_score(y, model.predict(X))
    loss = log_loss(y, model.predict_proba(X), labels=model.classes_)
    assert scores(browser) == pytest.approx([accuracy, accuracy, loss, loss], rel=1e-6)


# -- what is refused, and what no longer holds --------------------------------------------


def test_an_edit_that_makes_the_model_invalid_is_refused_in_one_sentence(browser, tmp_path):
    model, X, _ = houses(monotonic_cst={"size": 1})
    open_page(browser, model, tmp_path)
    before = model.predict(X[:5])
    for act, message in (
        (lambda: enter(browser, "edit-weight", "1e999"), "A weight must be a finite number."),
        (lambda: enter(browser, "edit-weight", ""), "A weight must be a finite number."),
        (lambda: (enter(browser, "limit-low", "3"), enter(browser, "limit-high", "2"),
                  click(browser, "limit")), "must be two numbers, the smaller one first."),
        (lambda: (enter(browser, "force-sign", "0"), click(browser, "force")), "changes nothing."),
    ):  # fmt: skip
        select_node(browser, "ArrowRight")
        choose_column(browser, "age")
        act()
        assert said(browser, "#edit-message").startswith("Not done. ")
        assert said(browser, "#edit-message").endswith(message)
        assert said(browser, "#edit-message").count(".") == 2
        assert log(browser) == []
    assert np.allclose(predictions(browser, as_rows(X[:5])), before.reshape(-1, 1))
    select_node(browser, "ArrowRight")
    weight = float(browser.run("return document.getElementById('edit-weight').value"))
    enter(browser, "edit-weight", str(-weight))
    assert "would break the constraint that the prediction never falls as “size” rises" in said(
        browser, "#edit-message"
    )
    assert log(browser) == []


def test_columns_without_numbers_have_no_limits_and_signs(browser, tmp_path):
    model, _, _ = houses()
    open_page(browser, model, tmp_path)
    choose_column(browser, "kind")
    for name in ("limit", "force", "limit-low", "force-sign"):
        assert browser.run(f"return document.getElementById('{name}').disabled")


def test_an_edited_model_promises_nothing_that_was_measured_before(browser, tmp_path):
    model, X, _ = houses(conformal=0.2, n=300)
    assert model.predict_interval(X[:3]).shape[0] == 3
    open_page(browser, model, tmp_path)
    select_node(browser, "ArrowRight")
    click(browser, "cut")
    edited = downloaded(browser, tmp_path / "edited.json")
    with pytest.raises(ValueError, match="conformal"):
        edited.predict_interval(X[:3])
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = edited.feature_importances_
    assert edited.effect("size").x.size  # typical rows are of the table, not of the model
    assert edited.fit(X, X["size"]).__dict__.get("edits_") is None


def test_a_tree_without_a_file_and_notebooks_have_no_editing(browser, tmp_path):
    open_page(browser, iris()[0].tree_, tmp_path)
    assert browser.run("return document.getElementById('edit-panel').hidden")
    model, _ = iris()
    open_page(browser, model.model_, tmp_path)
    assert browser.run("return document.getElementById('edit-panel').hidden")


def test_a_model_that_cannot_be_saved_has_a_page_without_editing(browser, tmp_path):
    model, X = iris()
    model.model_ = replace(model.model_, extra={"a set": {1, 2}})
    with pytest.raises(TypeError):
        model.save(tmp_path / "m.json", extra=model.extra_)
    open_page(browser, model, tmp_path)
    assert browser.run("return document.getElementById('edit-panel').hidden")
    check_equal(browser, model, X[:3])


def test_the_page_of_a_model_with_several_targets_can_be_edited(browser, tmp_path):
    X, y = DIABETES
    model = BNeuralTRegressor(**SMALL).fit(X, np.column_stack([y, -y]))
    open_page(browser, model, tmp_path)
    select_node(browser, "ArrowRight")
    click(browser, "cut")
    check_equal(browser, downloaded(browser, tmp_path / "edited.json"), X[:5])
    assert browser.run("return document.getElementById('force').disabled")


# -- the log in a file --------------------------------------------------------------------


@pytest.fixture(scope="module")
def edited_file(tmp_path_factory):
    """The content of a file with one edit of each kind."""
    folder = tmp_path_factory.mktemp("edited")
    model, _, _ = houses()
    tree = model.tree_
    model.save(folder / "model.json")
    content = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    weights = content["trees"][0]["tree"]
    weights["bias"][1] = 0.5
    content["encoder"][1]["bounds"] = [-1.0, 1.0]
    blank = {"time": "2026-01-01T00:00:00.000Z", "text": "", "column": None, "before": None}
    content["edits"] = [
        {**blank, "edit": "weight", "changes": [[0, "bias", 1, float(tree.bias[1]), 0.5]],
         "after": None},
        {**blank, "edit": "limit", "changes": [], "column": 1, "after": [-1.0, 1.0]},
    ]  # fmt: skip
    content["training"] = None
    return content


def load(content, path):
    path.write_text(json.dumps(content), encoding="utf-8")
    return load_model(path)


def test_a_log_that_leads_to_the_model_is_read(edited_file, tmp_path):
    model = load(edited_file, tmp_path / "m.json")
    assert model.edits_ == edited_file["edits"]
    without = {key: value for key, value in edited_file.items() if key != "edits"}
    assert not hasattr(load(without, tmp_path / "m.json"), "edits_")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), {}, '"edits" must be a list, not dict'),
        ((0,), 3, r'"edits"\[0\] must be an object, not int'),
        ((0, "edit"), "paint", r"is 'paint', it must be one of weight, cut, limit, sign"),
        ((0, "edit"), ["x"], r"is \['x'\], it must be one of"),
        ((0, "time"), 5, '"time" and "text"'),
        ((0, "changes"), None, '"changes" of "edits".0. must be a list'),
        ((0, "changes", 0), [0, "bias", 1, 0.5], "which is not a list of a tree"),
        ((0, "changes", 0, 0), 7, "which is not a list of a tree"),
        ((0, "changes", 0, 1), "leaf_input", "which is not a list of a tree"),
        ((0, "changes", 0, 1), [], "which is not a list of a tree"),
        ((0, "changes", 0, 2), 10**6, "which is not a list of a tree"),
        ((0, "changes", 0, 2), True, "which is not a list of a tree"),
        ((0, "changes", 0, 3), "a", "which is not a list of a tree"),
        ((0, "changes", 0, 4), 0.75, r"to 0.75, the file has 0.5: the log does not lead to this"),
        ((1, "column"), 99, '"column" of "edits".1. must be 0 to 3'),
        ((1, "after"), [-2.0, 1.0], "the log does not lead to this model"),
    ],
)
def test_a_damaged_log_is_refused_in_one_sentence(edited_file, path, value, message, tmp_path):
    content = json.loads(json.dumps(edited_file))
    if path:
        *parents, last = path
        place = content["edits"]
        for key in parents:
            place = place[key]
        place[last] = value
    else:
        content["edits"] = value
    with pytest.raises(ModelFileError, match=message) as error:
        load(content, tmp_path / "m.json")
    assert "\n" not in str(error.value)


def test_a_log_that_breaks_a_constraint_is_refused(tmp_path):
    model, _, _ = houses(monotonic_cst={"size": 1})
    model.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    leaf = int(np.flatnonzero((model.tree_.leaf_input == 0) & (model.tree_.leaf_weight != 0))[0])
    weights = content["trees"][0]["tree"]["leaf_weight"]
    change = [0, "leaf_weight", leaf, weights[leaf], -weights[leaf]]
    weights[leaf] *= -1
    content["training"] = None
    content["edits"] = [
        {"edit": "weight", "time": "", "text": "", "changes": [change], "column": None,
         "before": None, "after": None}
    ]  # fmt: skip
    with pytest.raises(ModelFileError, match=r"the constraint of 'size' in .* does not hold"):
        load(content, tmp_path / "m.json")


def test_a_card_lists_the_edits(edited_file, tmp_path):
    content = json.loads(json.dumps(edited_file))
    content["edits"][0]["text"] = "bias of <node> 1"
    _, X, y = houses()
    card = load(content, tmp_path / "m.json").card(X, y)
    assert "was edited by hand after training" in card
    assert "bias of &lt;node&gt; 1" in card and "2026-01-01 00:00" in card


def test_a_model_that_is_changed_after_its_edits_is_stored_without_them(edited_file, tmp_path):
    model = load(edited_file, tmp_path / "m.json")
    _, X, y = houses()
    smaller = model.compact(X, y, max_weights=20)
    smaller.save(tmp_path / "smaller.json")
    assert not hasattr(load_model(tmp_path / "smaller.json"), "edits_")


def test_the_decision_follows_an_edit(browser, tmp_path):
    model, X = iris()
    open_page(browser, model, tmp_path, examples=X[:1])
    assert decision(browser)[0] == "setosa"
    select_node(browser)
    enter(browser, "edit-bias", "-50")
    assert decision(browser)[0] != "setosa"
    click(browser, "undo")
    assert decision(browser)[0] == "setosa"
