"""JSON texts: written readably, and read with the place of every error."""

import json
import time

import pytest

from bneuralt.files import ModelFileError, format_json, parse_json


def test_a_key_that_occurs_twice_is_found_in_linear_time():
    text = "{" + ",".join(f'"k{i}":0' for i in range(200_000)) + ',"k199999":1}'
    start = time.process_time()
    with pytest.raises(ModelFileError, match="the key 'k199999' occurs twice"):
        parse_json(text)
    assert time.process_time() - start < 15  # minutes if each key is counted


def test_format_json_nests():
    value = {"a": [1, 2], "b": {"c": []}, "d": [{"e": 1}, {}], "f": {}}
    text = format_json(value)
    assert json.loads(text) == value
    assert text.splitlines()[1:4] == ['  "a": [1, 2],', '  "b": {', '    "c": []']
    assert parse_json(text) == value


def test_format_json_rejects_nan():
    with pytest.raises(ValueError, match="JSON compliant"):
        format_json([float("nan")])


def test_nesting_is_counted_from_where_brackets_open():
    for n_levels in (20, 21):
        inner = n_levels - 1
        text = "[" + "[], {}, " * 30 + "[" * inner + "]" * inner + "]"
        if n_levels == 20:
            assert len(parse_json(text)) == 61
        else:
            with pytest.raises(ModelFileError, match="nested more than 20 levels"):
                parse_json(text)
