"""How the cells of a table are read, and what is learnt of its columns."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables import TableError, parse_csv, read_csv
from bneuralt.tables.encoder import learn_encoder
from bneuralt.tables.kinds import decided
from bneuralt.tables.table_layout import TableLayout, learn_layout

PEOPLE = "height,sex,city,target\n1.7,f,Köln,60\n1.8,m,Rome,80.5\n1.6,f,Paris,55\n"


def kinds(layout, table, **options):
    """Return the kind of each column of a table that a model would learn."""
    frame = layout.frame(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = learn_encoder(decided(frame), names=frame.names, **options)
    return {name: f.kind for name, f in zip(frame.names, encoder.features, strict=True)}


def values(layout, table, name):
    """Return the values of a column as estimators see them."""
    frame = layout.frame(table).typed()
    column = frame.columns[frame.names.index(name)]
    if column.kind == "number":
        return column.values.tolist()
    return [None if code < 0 else column.texts[code] for code in column.values]


def test_columns_are_read_as_numbers_or_texts_and_the_decision_is_stored():
    table = parse_csv(PEOPLE.encode())
    layout = learn_layout(table, "target")
    assert kinds(layout, table) == {"height": "number", "sex": "category", "city": "category"}
    assert values(layout, table, "city") == ["Köln", "Rome", "Paris"]
    assert layout.labels(table).tolist() == [60, 80.5, 55]
    again = TableLayout.from_dict(json.loads(json.dumps(layout.to_dict())))
    assert again == layout
    later = parse_csv(b"city,height,sex\nRome,2,f\n")
    assert values(again, later, "height") == [2] and values(again, later, "city") == ["Rome"]
    assert again.labels(later) is None


def id_table(name, cells):
    rows = "".join(f"{cell},{i % 7},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    return parse_csv(f"{name},x,target\n{rows}".encode())


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20),
)
def test_numbers_are_read_exactly(values):
    rows = "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(values))
    table = parse_csv(f"x,target\n{rows}".encode())
    layout = learn_layout(table, "target")
    assert layout.frame(table).columns[0].values.tolist() == values


@pytest.mark.parametrize(
    ("target", "task", "labels"),
    [
        (["a", "b", "a"], "classification", np.array(["a", "b", "a"])),
        (["1", "2", "1.0"], "classification", np.array([1, 2, 1])),
        (["1.5", "2", "1"], "regression", np.array([1.5, 2, 1])),
        (["True", "False", "True"], "classification", np.array(["True", "False", "True"])),
        (["van ", " bus", "van"], "classification", np.array(["van", "bus", "van"])),
    ],
)
def test_task_follows_from_the_target(target, task, labels):
    rows = "".join(f"{i},{label}\n" for i, label in enumerate(target))
    table = parse_csv(f"x,target\n{rows}".encode())
    layout = learn_layout(table, "target")
    assert layout.task == task
    classes = layout.labels(table)
    assert classes.dtype.kind == labels.dtype.kind and classes.tolist() == labels.tolist()


def test_many_whole_numbers_are_a_regression_unless_the_task_is_given():
    table = parse_csv("".join(f"{i},{i % 25}\n" for i in range(100)).encode())
    assert learn_layout(table, "2").task == "regression"
    assert learn_layout(table, "2", task="classification").task == "classification"
    few = parse_csv("".join(f"{i},{i % 5}\n" for i in range(100)).encode())
    assert learn_layout(few, "2").task == "classification"
    assert learn_layout(few, "2", task="regression").task == "regression"


def test_without_a_header_columns_are_identified_by_position():
    table = parse_csv(b"1,a,10\n2,b,20\n3,a,30\n")
    layout = learn_layout(table, "2")
    assert layout.column_names == ["column1", "column3"]
    for text in (b"7,70\n", b"7,a,70\n", b"first,second\n7,70\n"):
        assert values(layout, parse_csv(text), "column3") == [70]
    with pytest.raises(TableError, match=r"has 4 columns and no header.*3 columns"):
        layout.frame(parse_csv(b"7,8,9,10\n"))


def test_a_table_without_header_is_matched_to_a_named_model_by_position():
    table = parse_csv(b"a,b,target\n1,2,x\n3,4,y\n")
    layout = learn_layout(table, "target")
    assert values(layout, parse_csv(b"5,6\n"), "b") == [6]
    assert layout.labels(parse_csv(b"5,6\n")) is None
    assert layout.labels(parse_csv(b"5,6,x\n")).tolist() == ["x"]


def test_targets_may_be_blank():
    layout = learn_layout(parse_csv(b"a,target\n1,x\n3,y\n"), "target")
    assert layout.labels(parse_csv(b"a,target\n1,\n3,\n")) is None
    assert layout.labels(parse_csv(b"a,target\n1,\n3,y\n")).tolist() == [None, "y"]


def test_empty_nameless_columns_and_dropped_ones_are_ignored():
    table = parse_csv(b"id,x,target,,\nk1,1,a,,\n?,2,b,,\n")
    layout = learn_layout(table, "target", drop=["id"])
    assert layout.column_names == ["x"]


def people(rows):
    return parse_csv(("age,sex,target\n" + rows).encode(), "people.csv")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("1,f,\n2,m,\n", {}, "the target 'target' has no values"),
        ("1,f,a\n2,m,a\n", {}, r"target 'target' is 'a' in every row"),
        ("1,f,a\n2,m,b\n", {"drop": ["age", "sex"]}, "no column is left"),
        ("1,f,a\n2,m,b\n", {"drop": ["target"]}, "cannot be dropped"),
        ("1,f,a\n2,m,b\n", {"drop": ["shoe"]}, "no column 'shoe'"),
        ("1,f,a\n2,m,b\n", {"categorical": ["target"]}, "cannot be categorical"),
        ("1,f,a\n2,m,b\n", {"task": "regression"}, r"column 'target' contains 'a', but a finite"),
        ("1,f,a\n2,m,b\n", {"task": "magic"}, r"task='magic'"),
    ],
)
def test_tables_that_cannot_be_learnt_from_are_rejected(rows, options, message):
    with pytest.raises(TableError, match=message):
        learn_layout(people(rows), "target", **options)


def test_files_of_windows_are_read_as_such():
    table = parse_csv("price,shop\n1,Müller’s €-Shop\n2,b\n".encode("cp1252"))
    assert table.raw(1)[0] == "Müller’s €-Shop"


def test_missing_values_are_named():
    layout = learn_layout(people("1,f,a\n2,m,b\n"), "target")
    for rows, message in (
        ("1,f,a\n,m,b\n", r"people.csv: 1 value is missing: row 2 \(line 3\), column 'age'"),
        ("1,f,a\nNaN,m,b\n2,?,\n", r"3 values are missing.*\(NaN\).*'sex' \(\?\).*'target'"),
    ):
        with pytest.raises(TableError, match=message):
            layout.check_no_missing(people(rows))
    layout.check_no_missing(people("1,f,a\n"))
    assert layout.rows_with_gaps(people("1,f,\n,m,b\n")).tolist() == [False, True]


def test_labels_that_are_all_distinct_are_not_classes():
    rows = "".join(f"{i},name{i}\n" for i in range(60))
    with pytest.raises(TableError, match=r"60 distinct values in 60 rows"):
        learn_layout(parse_csv(rows.encode()), "2")


def test_later_tables_that_do_not_fit_are_rejected():
    table = people("1,f,a\n2,m,b\n3,f,a\n2,m,b\n")
    layout = learn_layout(table, "target")
    encoder = learn_encoder(layout.frame(table).typed(), names=layout.column_names)
    for rows, message in (
        ("1,x\n", r"row 1 \(line 2\), column 'sex' contains 'x'.*Known categories: 'f', 'm'"),
        ("1,x\n2,y\n", r"There are 2 such rows"),
    ):
        later = parse_csv(("age,sex\n" + rows).encode())
        with pytest.raises(TableError, match=message):
            layout.check_known(later, encoder)
            layout.frame(later)


def test_an_absent_column_is_named():
    layout = learn_layout(people("1,f,a\n2,m,b\n"), "target")
    with pytest.raises(TableError, match=r"has no column 'sex'.*'age', 'shoe'"):
        layout.frame(parse_csv(b"age,shoe\n1,2\n"))


def test_a_damaged_encoding_is_rejected():
    good = learn_layout(people("1,f,a\n2,m,b\n"), "target").to_dict()
    for key in good:
        with pytest.raises(ValueError, match=key):
            TableLayout.from_dict({k: v for k, v in good.items() if k != key})
        with pytest.raises(ValueError, match=key):
            TableLayout.from_dict({**good, key: None})


def test_the_papers_tables_can_be_encoded(shared):
    for path in sorted((shared / "data").glob("*.csv")):
        table = read_csv(path, expect=["target"])
        layout = learn_layout(table, "target")
        frame = layout.frame(table)
        assert len(frame) == len(layout.labels(table)) and not layout.notes
        assert frame.typed().is_plain


def numbered(n_rows, n_labels, label="{}"):
    return parse_csv("".join(f"{i},{label.format(i % n_labels)}\n" for i in range(n_rows)).encode())


def test_twenty_whole_numbers_are_classes_and_one_more_is_not():
    assert learn_layout(numbered(100, 20), "2").task == "classification"
    for task in ("auto", "regression"):
        layout = learn_layout(numbered(100, 21), "2", task=task)
        assert layout.task == "regression" and layout.whole_numbers is False
    assert learn_layout(numbered(100, 20), "2").whole_numbers is True
    assert learn_layout(numbered(100, 2), "2").task == "classification"


def test_classes_must_repeat_only_if_there_are_many():
    assert learn_layout(numbered(20, 20, "name{}"), "2").task == "classification"
    assert learn_layout(numbered(42, 21, "name{}"), "2").task == "classification"
    with pytest.raises(TableError, match="21 distinct values in 41 rows, too many for classes"):
        learn_layout(numbered(41, 21, "name{}"), "2")


def test_messages_on_missing_values_list_the_first_and_say_if_there_are_more():
    layout = learn_layout(people("1,f,a\n2,m,b\n"), "target")

    def message(rows):
        with pytest.raises(TableError) as error:
            layout.check_no_missing(people(rows))
        return str(error.value)

    # at most three of a column, and five in all
    assert message("?,f,a\n?,f,a\n1,m,b\n").count("column") == 2
    assert "..." not in message("?,f,a\n?,f,a\n?,m,b\n")
    four = message("?,f,a\n?,f,a\n?,m,b\n?,m,b\n")
    assert "4 values are missing" in four and "; ..." in four and "row 4" not in four
    six = message("?,?,a\n?,?,a\n?,?,b\n1,m,b\n")
    assert "6 values are missing" in six and "; ..." in six
    assert six.count("'age'") == 3 and six.count("'sex'") == 2
    assert "1 value is missing" in message("?,f,a\n")


def test_one_unknown_category_is_not_counted():
    table = people("1,f,a\n2,m,b\n3,f,a\n2,m,b\n")
    layout = learn_layout(table, "target")
    encoder = learn_encoder(layout.frame(table).typed(), names=layout.column_names)
    with pytest.raises(TableError) as error:
        layout.check_known(parse_csv(b"age,sex\n1,x\n2,f\n"), encoder)
    assert "such rows" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_columns": 2}, "a position is not in 0 to 1"),
        ({"target_position": -1}, "a position is not in 0 to 2"),
        ({"target_position": 3}, "a position is not in 0 to 2"),
        ({"target_position": 0}, "same name or position"),
        ({"target": "age"}, "same name or position"),
        ({"task": "clustering"}, "entry 'task' is 'clustering'"),
        ({"columns": [{"name": "age"}]}, "entry 'position' is missing"),
        ({"columns": [3]}, "entry 'name' is missing"),
        ({"decimal": "x"}, "entry 'decimal' is 'x'"),
    ],
)
def test_entries_of_an_encoding_must_fit_each_other(change, message):
    good = learn_layout(people("1,f,a\n2,m,b\n"), "target").to_dict()
    assert TableLayout.from_dict(good).to_dict() == good
    with pytest.raises(ValueError, match=message):
        TableLayout.from_dict({**good, **change})


def test_labels_of_later_tables_may_be_others():
    layout = learn_layout(people("1,f,1\n2,m,2\n"), "target")
    assert layout.labels(people("1,f,7\n")).tolist() == [7]
    assert layout.labels(people("1,f,7\n1,f,x\n")).tolist() == ["7", "x"]
    as_text = learn_layout(people("1,f,1\n2,m,b\n"), "target")
    assert as_text.labels(people("1,f,7\n")).tolist() == ["7"]
    assert layout.labels(parse_csv(b"age,sex\n1,f\n")) is None


def test_columns_after_the_target_move_up_where_it_is_missing():
    layout = learn_layout(parse_csv(b"1,2,a,4\n5,6,b,8\n"), "3")
    frame = layout.frame(parse_csv(b"1,2,4\n"))
    assert [column.values.tolist() for column in frame.columns] == [[1], [2], [4]]


def test_an_encoding_does_not_change():
    layout = learn_layout(people("1,f,a\n2,m,b\n"), "target")
    for value in (layout, layout.columns[0]):
        with pytest.raises(AttributeError):
            value.name = "other"


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["00501", "10001", "00501"], "category", ["00501", "10001", "00501"]),
        (["00501", "10001", "NA"], "category", ["00501", "10001", None]),
        (["1,017", "950", "12,300"], "number", ["1,017", "950", "12,300"]),
        (["True", "false", ""], "number", [1, 0, None]),
        (["2024-01-31", "", "2024-02-01"], "date", ["2024-01-31", None, "2024-02-01"]),
        (["12:30", "7:05", ""], "number", ["12:30", "7:05", None]),
        (["1.5", "?", "-2e3"], "number", [1.5, None, -2000]),
        (["none", "None", "a"], "category", ["none", None, "a"]),
        (["1", "2", "old"], "category", ["1", "2", "old"]),
        (["1,2,3", "3,2,1", "2,1,3"], "category", ["1,2,3", "3,2,1", "2,1,3"]),
        (["80s", "90s", "00s"], "category", ["80s", "90s", "00s"]),
        (["80s", "90s", "70s"], "number", ["80s", "90s", "70s"]),
    ],
)
def test_cells_of_every_kind(cells, kind, expected):
    rows = "".join(f'"{cell}";{"ab"[i % 2]}\n' for i, cell in enumerate(cells * 2))
    table = parse_csv(f"x;target\n{rows}".encode())
    layout = learn_layout(table, "target")
    assert kinds(layout, table) == {"x": kind}
    cell_values = values(layout, table, "x")
    assert [None if value != value else value for value in cell_values] == expected * 2


@pytest.mark.parametrize(
    ("name", "cells", "is_used"),
    [
        ("", range(40), False),
        ("number", range(1, 41), False),
        ("customer_id", range(1000, 3000, 50), False),
        ("Customer No.", range(1000, 3000, 50), False),
        ("orderID", range(1000, 3000, 50), False),
        ("name", [f"name {i}" for i in range(40)], False),
        ("note", [""] * 40, False),
        ("population", range(1000, 3000, 50), True),
        ("paid", range(1000, 3000, 50), True),
        ("width", [i / 7 for i in range(40)], True),
        ("day", [f"2024-{1 + i // 20:02}-{1 + i % 20:02}" for i in range(40)], True),
        ("id", [i // 2 for i in range(40)], True),
    ],
)
def test_columns_that_identify_rows_are_not_used(name, cells, is_used):
    rows = "".join(f"{cell},{i % 7},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    table = parse_csv(f"{name},x,target\n{rows}".encode())
    layout = learn_layout(table, "target")
    assert (kinds(layout, table)[name or "column1"] != "unused") == is_used
    if any(map(str, cells)):
        frame = layout.frame(table)
        encoder = learn_encoder(frame.typed(), names=frame.names, identifiers="keep")
        assert encoder.features[0].kind != "unused"


def test_columns_without_name_and_values_are_no_features():
    layout = learn_layout(parse_csv(b"x,target,\n1,a,5\n2,b,6\n"), "target")
    assert layout.column_names == ["x", "column3"]
    layout = learn_layout(parse_csv(b"x,target,named,\n1,a,,\n2,b,,\n"), "target")
    assert layout.column_names == ["x", "named"]


def test_infinity_among_numbers_is_refused():
    table = people("1,f,a\n2,m,b\ninf,f,a\n")
    layout = learn_layout(table, "target")
    with pytest.raises(ValueError, match="column 'age' of X has 'inf'"):
        kinds(layout, table)
