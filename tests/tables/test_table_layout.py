"""How the cells of a table are read, and what is learnt of its columns."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables.csv_files import TableError, parse_csv, read_csv
from bneuralt.tables.encoder import learn_encoder
from bneuralt.tables.layout_learning import learn_layout
from bneuralt.tables.table_layout import TableLayout

PEOPLE = "height,sex,city,target\n1.7,f,Köln,60\n1.8,m,Rome,80.5\n1.6,f,Paris,55\n"


def kinds(layout):
    return {column.name: column.kind for column in layout.columns}


def values(layout, table, name, **options):
    """Return the values of a column as estimators see them."""
    frame = layout.frame(table, **options)
    column = frame.columns[frame.names.index(name)]
    if column.kind == "number":
        return column.values.tolist()
    return [None if code < 0 else column.texts[code] for code in column.values]


def test_columns_are_read_as_numbers_or_texts_and_the_decision_is_stored():
    table = parse_csv(PEOPLE.encode())
    layout = learn_layout(table, "target")
    assert kinds(layout) == {"height": "number", "sex": "category", "city": "category"}
    assert values(layout, table, "city") == ["Köln", "Rome", "Paris"]
    assert layout.labels(table).tolist() == [60, 80.5, 55]
    again = TableLayout.from_dict(json.loads(json.dumps(layout.to_dict())))
    assert again == layout
    later = parse_csv(b"city,height,sex\nRome,2,f\n")
    assert values(again, later, "height") == [2] and values(again, later, "city") == ["Rome"]
    assert again.labels(later) is None


def test_numbers_may_be_declared_categories():
    table = parse_csv(b"code,x,target\n1,1,a\n2,2,b\n3.0,3,a\n")
    layout = learn_layout(table, "target", categorical=["code"])
    assert kinds(layout) == {"code": "category", "x": "number"}
    assert values(layout, parse_csv(b"code,x\n2.0,1\n"), "code") == ["2"]


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["00501", "10001", "00501"], "category", ["00501", "10001", "00501"]),
        (["1,017", "950", "12,300"], "number", [1017, 950, 12300]),
        (["True", "false", ""], "number", [1, 0, None]),
        (["2024-01-31", "", "2024-02-01"], "text", ["2024-01-31", None, "2024-02-01"]),
        (["1.5", "?", "-2e3"], "number", [1.5, None, -2000]),
        (["none", "None", "a"], "category", ["none", None, "a"]),
    ],
)
def test_cells_of_every_kind(cells, kind, expected):
    rows = "".join(f"{cell};{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    table = parse_csv(f"x;target\n{rows}".encode())
    layout = learn_layout(table, "target")
    assert kinds(layout) == {"x": kind}
    cell_values = values(layout, table, "x")
    assert [None if value != value else value for value in cell_values] == expected


def id_table(name, cells):
    rows = "".join(f"{cell},{i % 7},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    return parse_csv(f"{name},x,target\n{rows}".encode())


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("", range(40), "numbers the rows"),
        ("number", range(1, 41), "numbers the rows"),
        ("customer_id", range(1000, 3000, 50), "identifier"),
        ("Customer No.", range(1000, 3000, 50), "identifier"),
        ("orderID", range(1000, 3000, 50), "identifier"),
        ("name", [f"name {i}" for i in range(40)], "texts that are all different"),
        ("note", [""] * 40, "no values"),
    ],
)
def test_columns_that_identify_rows_are_left_out(name, cells, why):
    table = id_table(name, cells)
    layout = learn_layout(table, "target")
    assert layout.column_names == ["x"]
    assert len(layout.notes) == 1 and why in layout.notes[0]
    if any(map(str, cells)):
        kept = learn_layout(table, "target", keep_ids=True)
        assert len(kept.columns) == 2 and not kept.notes


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("population", range(1000, 3000, 50)),
        ("paid", range(1000, 3000, 50)),
        ("width", [i / 7 for i in range(40)]),
        ("day", [f"2024-{1 + i // 20:02}-{1 + i % 20:02}" for i in range(40)]),
        ("id", [i // 2 for i in range(40)]),
    ],
)
def test_columns_that_describe_rows_are_kept(name, cells):
    assert learn_layout(id_table(name, cells), "target").column_names == [name, "x"]


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=20),
)
def test_numbers_are_read_exactly(values):
    rows = "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(values))
    table = parse_csv(f"x,target\n{rows}".encode())
    layout = learn_layout(table, "target", keep_ids=True)
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
        ("1,f,a\n2,m,b\nold,f,a\n", {}, r"row 3 \(line 4\), column 'age' contains 'old'.*numbers"),
        ("x,f,a\ny,m,b\n3,f,a\n", {}, r"row 3 \(line 4\), column 'age' contains '3'.*text"),
        ("1,f,a\n2,m,b\ninf,f,a\n", {}, r"column 'age' contains 'inf'"),
        ("1,f,a\n2,m,b\n1_0,f,a\n", {}, r"column 'age' contains '1_0'"),
        ("1,f,a\n2,m,a\n", {}, r"target 'target' is 'a' in every row"),
        ("1,f,a\n2,m,b\n", {"drop": ["age", "sex"]}, "no column is left"),
        ("1,f,a\n2,m,b\n", {"drop": ["target"]}, "cannot be dropped"),
        ("1,f,a\n2,m,b\n", {"drop": ["shoe"]}, "no column 'shoe'"),
        ("1,f,a\n2,m,b\n", {"categorical": ["target"]}, "cannot be categorical"),
        ("1,f,a\n2,m,b\n", {"task": "regression"}, r"column 'target' contains 'a', but a finite"),
        ("1,f,a\n2,m,b\n", {"task": "magic"}, r"task='magic'"),
        ("1,f,a\n2,m,b\n", {"max_categories": 1}, r"'sex' has 2 distinct texts.*--drop 'sex'"),
    ],
)
def test_tables_that_cannot_be_learnt_from_are_rejected(rows, options, message):
    with pytest.raises(TableError, match=message):
        learn_layout(people(rows), "target", **options)


def test_a_decimal_comma_is_recognised_in_the_message():
    rows = "".join(f"{i}\t1,{i:02d}\t{'ab'[i % 2]}\n" for i in range(60))
    with pytest.raises(TableError, match="--decimal ','"):
        learn_layout(parse_csv(rows.encode()), "-1", decimal=".")


def test_thousands_are_not_advised_to_be_decimals():
    rows = "".join(f"{i % 7}\t{i},017\t{'ab'[i % 2]}\n" for i in range(1, 60))
    table = parse_csv(rows.encode())
    layout = learn_layout(table, "-1")
    assert values(layout, table, "column2")[0] == 1017
    beside = "".join(f"{i % 7},5\t{i},017\t{'ab'[i % 2]}\n" for i in range(1, 60))
    with pytest.raises(TableError, match="--decimal ','"):
        learn_layout(parse_csv(beside.encode()), "-1", decimal=".")


def test_files_of_windows_are_read_as_such():
    table = parse_csv("price,shop\n1,Müller’s €-Shop\n2,b\n".encode("cp1252"))
    assert table.columns[1][0] == "Müller’s €-Shop"


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
    encoder = learn_encoder(layout.frame(table), names=layout.column_names)
    for rows, message in (
        ("1,x\n", r"row 1 \(line 2\), column 'sex' contains 'x'.*Known categories: 'f', 'm'"),
        ("1,x\n2,y\n", r"There are 2 such rows"),
        ("old,f\n", r"row 1 \(line 2\), column 'age' contains 'old', but a finite number"),
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
        assert all(column.kind == "number" for column in frame.columns)


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


def test_as_many_categories_as_allowed():
    table = people("1,f,a\n2,m,b\n3,x,a\n")
    assert learn_layout(table, "target", max_categories=3).columns[1].kind == "category"
    with pytest.raises(TableError, match=r"3 distinct texts.*increase --max-categories \(now 2\)"):
        learn_layout(table, "target", max_categories=2)


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


def test_the_rarer_kind_of_cell_is_the_odd_one_and_text_among_equals():
    with pytest.raises(TableError, match=r"row 2 .* contains 'x', but most .* is numbers"):
        learn_layout(people("1,f,a\nx,m,b\n2,f,a\ny,m,b\n"), "target")
    with pytest.raises(TableError, match=r"row 1 .* contains '1', but most .* is text"):
        learn_layout(people("1,f,a\nx,m,b\ny,f,a\n"), "target")


def test_one_unknown_category_is_not_counted():
    table = people("1,f,a\n2,m,b\n3,f,a\n2,m,b\n")
    layout = learn_layout(table, "target")
    encoder = learn_encoder(layout.frame(table), names=layout.column_names)
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
        ({"columns": [{"name": "a", "position": 0, "kind": "date"}]}, "entry 'kind' is 'date'"),
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


def test_a_nameless_column_with_values_is_a_feature():
    layout = learn_layout(parse_csv(b"x,target,\n1,a,5\n2,b,6\n"), "target")
    assert layout.column_names == ["x", "column3"]
    # an empty column is left out, with a note if it has a name
    layout = learn_layout(parse_csv(b"x,target,named,\n1,a,,\n2,b,,\n"), "target")
    assert layout.column_names == ["x"]
    assert layout.notes == ("column 'named' is left out, because it has no values.",)


def test_an_encoding_does_not_change():
    layout = learn_layout(people("1,f,a\n2,m,b\n"), "target")
    for value in (layout, layout.columns[0]):
        with pytest.raises(FrozenInstanceError):
            value.name = "other"


def test_lists_of_numbers_are_no_numbers_with_thousands():
    cells = ["1,2,3", "3,2,1", "2,1,3", "1,2,3"]
    rows = [f'"{cell}",{i},{"ab"[i % 2]}\n' for i, cell in enumerate(cells)]
    table = parse_csv(("order,x,target\n" + "".join(rows)).encode())
    layout = learn_layout(table, "target")
    assert kinds(layout) == {"order": "category", "x": "number"}
    assert values(layout, table, "order") == cells
