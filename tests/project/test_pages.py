"""Pages of the documentation are found, linked, and state the defaults of the code."""

import ast
import dataclasses
import inspect
import re
import runpy

import pytest

import bneuralt
from bneuralt import warnings
from bneuralt.declaring import GROUPS
from bneuralt.fitting import capacity
from bneuralt.fitting.recipe import LEAF_MOVES, PATIENCE
from bneuralt.training import losses, optimizers
from bneuralt.tree import activations
from bneuralt.tree.growing import EVOLVED_GROWTH, TREE_GROWTH
from tests.helpers.paths import DOCS, ROOT, page_paths
from tests.project.test_project import resolve

PAGES = page_paths()
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md")]
ESTIMATORS = [
    getattr(bneuralt, name)
    for name in bneuralt.__all__
    if re.fullmatch(r"(BNeural|Evolved)\w+(Classifier|Regressor)", name)
]


def text_of(path):
    return path.read_text(encoding="utf-8")


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```", "", text)


def section(page, heading):
    """Return the section of a page whose heading begins in this way."""
    return re.split(rf"(?m)^## {heading}.*$", text_of(DOCS / f"{page}.md"))[1].split("\n## ")[0]


def how_to_pages():
    return [DOCS / f"{name}.md" for name in kinds_of_pages()["How-to"]]


def anchors(path):
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    for heading in re.findall(r"(?m)^#+ (.+)$", without_code(text_of(path))):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def kinds_of_pages():
    """Return the pages of each kind, from the trees of contents of the front page."""
    trees = re.findall(
        r"(?ms)^```\{toctree\}\n:caption: (.+?)\n(.*?)^```", text_of(DOCS / "index.md")
    )
    return {caption: re.findall(r"(?m)^(?:.* <)?([\w/]+)>?$", body) for caption, body in trees}


@pytest.mark.parametrize("page", [*TOP, *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(page))):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name) if name else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), target


def test_every_page_is_of_one_kind():
    kinds = kinds_of_pages()
    assert list(kinds) == ["Tutorial", "How-to", "Reference", "Explanation", "Lab"]
    listed = [name for names in kinds.values() for name in names]
    assert sorted([*listed, "index"]) == sorted(
        str(page.relative_to(DOCS).with_suffix("")) for page in PAGES
    )


@pytest.mark.parametrize("page", how_to_pages(), ids=lambda page: page.stem)
def test_how_to_pages_begin_with_code_and_fit_on_two_screens(page):
    before, fence, _ = text_of(page).partition("```")
    assert fence and len(before.split()) < 60
    prose = re.sub(r"(?m)^\|.*$", "", without_code(text_of(page)))
    assert len(prose.split()) <= 600


def test_pages_have_one_title():
    titles = [re.findall(r"(?m)^# (.+)$", without_code(text_of(page))) for page in PAGES]
    assert all(
        len(found) == 1 or page.stem == "changelog"
        for found, page in zip(titles, PAGES, strict=True)
    )
    names = [found[0] for found in titles if found]
    assert len(set(names)) == len(names)


def test_the_picture_of_the_choice_is_that_of_its_script():
    assert runpy.run_path(str(DOCS / "choice.py"))["picture"]() == text_of(DOCS / "choice.svg")


def api_names():
    module = None
    for line in text_of(DOCS / "api.md").splitlines():
        if current := re.match(r"\.\. currentmodule:: (\w+)", line):
            module = current[1]
        elif entry := re.match(r"   ([\w.]+)$", line):
            yield f"{module}.{entry[1]}"


def test_public_names_are_documented():
    listed = set(api_names())
    missing = set(bneuralt.__all__) - {name.removeprefix("bneuralt.") for name in listed}
    assert missing == {"__version__", "PAPER_SETTINGS"}
    assert "bneuralt.PAPER_SETTINGS" in text_of(DOCS / "api.md")
    assert {f"bneuralt.warnings.{name}" for name in warnings.__all__} <= listed


@pytest.mark.parametrize("name", list(api_names()))
def test_names_of_the_reference_exist_and_are_described(name):
    assert not any(part.startswith("_") for part in name.split("."))
    assert inspect.getdoc(resolve(name))


@pytest.mark.parametrize("name", sorted(set(bneuralt.__all__) - {"__version__", "PAPER_SETTINGS"}))
def test_public_names_have_an_example_with_a_result(name):
    text = inspect.getdoc(getattr(bneuralt, name))
    code = text[text.index(">>>") :].splitlines()
    is_shown = any(line.strip() and not line.startswith((">>>", "...")) for line in code)
    assert is_shown or re.match(r"plot_|register_|\w+Display", name)  # a picture, or nothing


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_parameter_is_in_one_group_and_groups_are_not_torn(cls):
    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == len(set(names))
    parameters = set(cls().get_params(deep=False))
    assert parameters <= set(names)
    described = re.findall(r"(?m)^    (\w+) : .*default=", cls.__doc__)
    assert described == [name for name in names if name in parameters]


# Defaults that pages state

AUTOMATIC = {"leaf_moves": LEAF_MOVES, "patience": PATIENCE}


def defaults_of(name):
    """Return every default of a name: of estimators, growth, training and public functions."""
    values = [cls().get_params()[name] for cls in ESTIMATORS if name in cls().get_params()]
    functions = [getattr(bneuralt, public) for public in bneuralt.__all__]
    signatures = [inspect.signature(value) for value in functions if inspect.isfunction(value)]
    values += [each.parameters[name].default for each in signatures if name in each.parameters]
    short = name.removeprefix("growth.").removeprefix("training.").split("__")[-1]
    values += [growth[short] for growth in (TREE_GROWTH, EVOLVED_GROWTH) if short in growth]
    return [*values, AUTOMATIC[short]] if short in AUTOMATIC else values


def stated_defaults():
    """Find `name=value` beside the word default, and the signatures of registered classes."""
    value = r"`([\w.]+)=([^`]+)`"
    for page in PAGES:
        text = re.sub(r"\s+", " ", without_code(text_of(page)).replace("**", ""))
        for pattern in (
            rf"{value}(?:,| \()? ?(?:is |which is )?the default",
            rf"[Dd]efault \({value}\)",
            rf"default {value}",
        ):
            for name, literal in re.findall(pattern, text):
                yield pytest.param(name, literal, id=f"{page.name}: {name}={literal}")


@pytest.mark.parametrize(("name", "literal"), list(stated_defaults()))
def test_stated_defaults_are_those_of_the_code(name, literal):
    values = defaults_of(name)
    assert values, f"nothing has a parameter {name}"
    assert any(value == ast.literal_eval(literal) for value in values), values


def test_some_defaults_are_stated():
    assert len(list(stated_defaults())) >= 4


def signatures():
    """Find `Class(parameter=value)` after the name of a loss or optimizer in `training.md`."""
    for name, call in re.findall(r"(?m)^`(\w+)`: `(\w+\(.*?\))`$", text_of(DOCS / "training.md")):
        yield pytest.param(name, call, id=name)


@pytest.mark.parametrize(("name", "call"), list(signatures()))
def test_signatures_of_losses_and_optimizers(name, call):
    registered = {**losses.LOSSES, **optimizers.OPTIMIZERS}[name]
    shown = ast.parse(call, mode="eval").body
    assert shown.func.id == registered.__name__
    values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in shown.keywords}
    assert registered() == registered(**values)
    assert list(values) == [parameter.name for parameter in registered.entry.parameters]


def test_every_loss_and_optimizer_has_its_signature():
    shown = {parameter.values[0] for parameter in signatures()}
    assert shown == {*losses.LOSSES, *optimizers.OPTIMIZERS}


def test_defaults_of_activations():
    table = re.findall(
        r"(?m)^\| `(\w+)` \|.*\|([^|]*)\|([^|]*)\|$",
        text_of(DOCS / "format.md").split("### Activations")[1].split("\n##")[0],
    )
    shown = {name: re.findall(r"[\d.]+", defaults) for name, _, defaults in table}
    assert set(shown) >= set(activations.ACTIVATIONS)
    for name, cls in activations.ACTIVATIONS.items():
        assert [float(text) for text in shown[name]] == list(cls().values), name


@pytest.mark.parametrize(
    ("label", "rule"),
    [("one tree", capacity.SINGLE_TREE), ("a tree of a forest", capacity.IN_FOREST)],
)
def test_rule_for_size_and_decay(label, rule):
    """The row of the settings page has all numbers of the rule, and no others."""
    row = re.search(rf"(?m)^\| {label} \|(.+)\|$", text_of(DOCS / "settings.md"))[1]
    shown = {float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", row)}
    fields = dataclasses.asdict(rule)
    for elsewhere in ("large", "classes", "enlarged"):
        fields.pop(elsewhere)
    small = fields.pop("small") or ()
    per_class = [rule.most / rule.classes] if rule.classes else []
    assert shown == {1.0, *map(float, fields.values()), *map(float, small), *per_class}


def test_other_automatic_values_of_the_settings_page():
    text = text_of(DOCS / "settings.md")
    numbers = [capacity.MIN_EXAMPLES, capacity.MAX_EXAMPLES, capacity.MANY_ROWS]
    numbers += [capacity.LEARNING_RATE, *capacity.MIN_EPOCHS.values()]
    numbers += [
        capacity.MAX_WEIGHTS_PER_ROW,
        capacity.MIN_WEIGHTS_PER_OUTPUT,
        capacity.ROWS_PER_TREE,
    ]
    numbers += [*capacity.IN_FOREST.large, capacity.SUFFICIENT_EXAMPLES, capacity.LEAST_DECAY]
    numbers += [number for pair in capacity.BATCH_SIZES for number in pair if number]
    for number in numbers:
        assert re.search(rf"(?<![\d,.]){number:,}(?!\d|,\d)", text), number


def test_defaults_shown_beside_those_of_scikit_learn():
    from sklearn.neural_network import MLPClassifier

    checked = 0
    text = section("from_other_libraries", "MLPClassifier")
    for row in re.findall(r"(?m)^\|(.+)\|(.+)\|.*\|$", text):
        for cell, estimator in zip(
            row, (MLPClassifier(), bneuralt.BNeuralTClassifier()), strict=True
        ):
            for name, value in re.findall(r"`(\w+)=([^`]+)`", cell):
                if re.fullmatch(r"[\d.]+|\(.*\)|\".*\"|None", value):
                    assert estimator.get_params()[name] == ast.literal_eval(value), name
                    checked += 1
    assert checked >= 10


def test_parameters_named_in_pages_for_users_of_other_libraries_exist():
    names = {name for cls in ESTIMATORS for name in cls().get_params()}
    for library in ("XGBoost", "Explainable boosting"):
        rows = re.findall(r"(?m)^\|[^|]+\|([^|]+)\|$", section("from_other_libraries", library))
        shown = {name for row in rows for name in re.findall(r"`(\w+)=", row)}
        assert shown and shown <= {*names, "interactions", "row", "X_val", "y_val"}


def test_no_other_release_is_spoken_of():
    """Nothing has been released before this version; the lab book has the history."""
    for page in [*TOP, *PAGES]:
        if page.stem not in ("lab_book", "changelog"):
            text = re.sub(r"version 0\.2|\d\.\d+\.\d+", "", text_of(page))
            assert not re.search(r"[Vv]ersion 0\.\d", text), page.name


def test_the_version_to_cite_is_that_of_the_package():
    assert f"version = {{{bneuralt.__version__}}}" in text_of(DOCS / "index.md")
