"""Calls of the compiled core with wrong arguments: `python -m tests.tools.fuzz_core N`.

Each call starts from valid arguments, of which some are replaced. It may return or raise one of
a few exceptions with a sentence; it must not crash, hang or take a lot of memory.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.helpers.limits import main

ALLOWED = (TypeError, ValueError, MemoryError, OverflowError, IndexError, RuntimeError)
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
_core: Any = None
n_results = 0  #: calls that gave a result; the others raised


def prepare() -> None:
    """Import what the cases need, before memory is limited."""
    global _core
    from bneuralt import _core as core

    _core = core


# -- arguments -------------------------------------------------------------------------------

NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    10**400, -(2**31), -(2**63), 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("nan"),
    float("inf"), -float("inf"),
)  # fmt: skip
DTYPES = ("<f8", "<f4", ">f8", ">f4", "u1", "i1", "<i4", ">i4", "<i8", "<u4", "?", "<f2", "<c16",
          "O", "S3", "U2", "<M8[s]", "V8", "f8,i4")  # fmt: skip
SPECIAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, -1, 2**31 - 1, -(2**31), 255, 1e-310, 7)


class Raises:
    """Whatever is asked of it, it raises."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("asked")

    __index__ = __float__ = __bool__ = __len__ = __iter__ = __str__ = __repr__ = _fail
    __array__ = __dlpack__ = __call__ = __getitem__ = __eq__ = __hash__ = _fail  # type: ignore


class Fresh:
    """An array that exists only while it is asked for."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.copy().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def draw_array(rng: np.random.Generator, like: np.ndarray | None = None) -> Any:
    """An array of random dtype, shape, order, ownership and content."""
    if like is not None and rng.random() < 0.6:  # of the right type and nearly right
        array = like.copy()
        kind = rng.integers(4)
        if kind == 0 and array.size:
            with np.errstate(all="ignore"):
                array.flat[rng.integers(array.size)] = np.array(
                    SPECIAL[rng.integers(len(SPECIAL))]
                ).astype(array.dtype)
        elif kind == 1:
            array = array[: rng.integers(0, len(array) + 1)]
        elif kind == 2:
            array = np.concatenate([array, array])
    else:
        dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
        shape = tuple(rng.integers(0, 8, rng.integers(0, 4)))
        array = np.zeros(shape, dtype)
        if dtype.kind in "fiub":
            with np.errstate(all="ignore"):
                array = np.asarray(rng.normal(0, 3, shape)).astype(dtype)
    kind = rng.integers(10)
    if kind == 0:
        return np.asfortranarray(array)
    if kind == 1 and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    if kind == 2 and array.ndim:
        return array[::-1]
    if kind == 3:
        return array.astype(array.dtype.newbyteorder())
    if kind == 4:
        array.flags.writeable = False
        return array
    if kind == 5 and array.dtype.kind in "fiu":
        return Fresh(array)
    if kind == 6 and array.dtype.kind in "fiu" and array.size:
        return memoryview(np.ascontiguousarray(array))
    if kind == 7 and array.size and array.dtype.kind in "fiu":  # as large as the address space
        sizes = tuple(int(n) for n in rng.choice([0, 1, 4, 2**31 - 1, 2**31, 2**33], 2))
        return np.lib.stride_tricks.as_strided(array, sizes, (0, 0))
    if kind == 8:
        return array.T
    return array


def draw_thing(rng: np.random.Generator, like: Any = None) -> Any:
    """Something else than `like`."""
    if isinstance(like, np.ndarray) and rng.random() < 0.8:
        return draw_array(rng, like)
    if isinstance(like, tuple) and rng.random() < 0.8:
        at = int(rng.integers(len(like)))
        return tuple(draw_thing(rng, part) if i == at else part for i, part in enumerate(like))
    if type(like) in (int, float) and rng.random() < 0.8:
        kind = rng.random()
        if kind < 0.05:
            return np.float32(0.25)
        if kind < 0.7:  # of the same type
            return next(
                x for x in rng.permutation(np.array(NUMBERS, object)) if type(x) is type(like)
            )
        return NUMBERS[rng.integers(len(NUMBERS))]
    kind = rng.integers(12)
    if kind == 0:
        return None
    if kind == 1:
        return NUMBERS[rng.integers(len(NUMBERS))]
    if kind == 2:
        return str(rng.choice(["", "adam", "\0", "ä" * 50, "auto", "\ud800", "nan"]))
    if kind == 3:
        return [NUMBERS[rng.integers(len(NUMBERS))] for _ in range(rng.integers(0, 6))]
    if kind == 4:
        return {str(i): None for i in range(rng.integers(0, 3))}
    if kind == 5:
        return Raises()
    if kind == 6:
        return b"\0\1"
    if kind == 7:
        return (name for name in "abc")
    if kind == 8:
        return (_core.Job, _core.Structure, int, len)[rng.integers(4)]
    if kind == 9:
        cls = (_core.Job, _core.Structure, _core.WeightedTree, _core.Data, _core.Settings,
               _core.InputLines)  # fmt: skip
        return (
            object.__new__(object)
            if rng.random() < 0.5
            else _uninitialised(cls[rng.integers(len(cls))])
        )
    return draw_array(rng)


def is_long(n_epochs: Any) -> bool:
    """Whether a training takes long: the default number of epochs, or a large one."""
    return n_epochs is None or (isinstance(n_epochs, int) and n_epochs > 5)


def _uninitialised(cls: Any) -> Any:
    return cls.__new__(cls)


# -- valid arguments -------------------------------------------------------------------------


class Valid:
    """Arguments that fit together."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.k, self.m, self.n = (int(rng.integers(1, high)) for high in (5, 6, 40))
        self.single = bool(rng.integers(2))

    def structure(self) -> dict[str, Any]:
        rng, k = self.rng, self.k
        n_hidden = int(rng.integers(0, 6))
        hidden = np.sort(rng.integers(0, k, n_hidden))
        leaves = np.concatenate([np.repeat(np.arange(k + n_hidden), 2)])
        n_codes = len(_core.activations())
        activation = rng.integers(0, n_codes, k + n_hidden)
        if rng.random() < 0.7:
            activation[:k] = 0
        numbers = sum(len(_core.activations()[code].parameters) for code in activation)
        return {
            "n_inputs": self.m,
            "n_outputs": k,
            "parent": np.concatenate([np.full(k, -1), hidden]).astype(np.int32),
            "activation": activation.astype(np.uint8),
            "leaf_parent": leaves.astype(np.int32),
            "leaf_input": rng.integers(0, self.m, leaves.size).astype(np.int32),
            "activation_parameters": np.full(numbers, 0.5),
            "trains_activations": bool(rng.integers(2)),
        }

    def weighted(self) -> dict[str, Any]:
        structure = _core.Structure(**self.structure())
        dtype = np.float32 if self.single else np.float64
        size = structure.n_parameters
        return {"structure": structure, "parameters": self.rng.normal(size=size).astype(dtype)}

    def attributions(self) -> dict[str, Any]:
        weighted = self.weighted()
        n_leaves, n_cells = int(weighted["structure"].leaf_start[-1]), int(self.rng.integers(1, 9))
        n_positions = int(self.rng.integers(0, 4))
        dtype = weighted["parameters"].dtype
        return {
            "tree": _core.WeightedTree(**weighted),
            "X": self.rows(),
            "baseline": self.rng.normal(size=self.m).astype(dtype),
            "cell": self.rng.integers(0, n_cells, n_leaves).astype(np.int32),
            "n_cells": n_cells,
            "position": self.rng.uniform(size=n_positions).astype(dtype),
            "weight": np.ones(n_positions, dtype),
            "n_threads": int(self.rng.integers(1, 3)),
        }

    def rule(self) -> dict[str, Any]:
        rng, m = self.rng, self.m
        n_ramps = np.zeros(m, np.int32)
        n_ramps[0] = m - 1
        given: dict[str, Any] = {
            "groups": np.sort(rng.integers(0, m, m)).astype(np.int32),
            "chances": rng.uniform(0.1, 1, m),
            "sets": [np.arange(m, dtype=np.int32), np.zeros(1, np.int32)],
            "image": np.array([m], np.int32),
            "n_ramps": n_ramps,
        }
        chosen = {name: value for name, value in given.items() if rng.random() < 0.3}
        if "groups" in chosen:
            chosen["groups"][-1] = m - 1
        if "sets" in chosen:
            chosen.pop("image", None)
        return {
            "n_inputs": m, "n_outputs": self.k, "max_depth": 3, "min_children": 1,
            "max_children": 3, "n_weights": int(rng.choice([0, 60])), "deepen": True,
            "leaf_probability": 0.5, "min_size": 1, "max_size": 1000, "mean_size": 10.0,
            "min_spread": 0.5, "max_spread": 2.0, "field_depth": 1, "ramp_fraction": 0.5,
            "output": (0, 1.0, []), "inner": [(0, 1.0, []), (1, 2.0, [])],
            "trains_activations": False, "is_uniform": bool(rng.integers(2)), "init_scale": 1.0,
            **chosen,
        }  # fmt: skip

    def data(self) -> dict[str, Any]:
        table = self.table()
        if self.k > 1 and self.labels:
            return table | {"y": self.rng.integers(0, self.k, self.n).astype(np.int32)}
        return table | {"y": self.rng.uniform(0, 1, (self.n, self.k))}

    def table(self) -> dict[str, Any]:
        """A table, and the lines of its columns that are the inputs; None: all columns are."""
        has_lines = self.rng.random() < 0.3
        lines = self.lines()
        n_columns = lines["first"].size - 1 if has_lines else self.m
        X = (self.rng.normal(size=(self.n, n_columns)) * 3).astype(
            self.rng.choice(["f8", "f4", "u1"])
        )
        return {"X": X, "lines": _core.InputLines(**lines) if has_lines else None}

    def rows(self) -> np.ndarray:
        """A table whose columns are the inputs."""
        X = self.rng.normal(size=(self.n, self.m)) * 3
        return X.astype(self.rng.choice(["f8", "f4", "u1"]))

    def lines(self) -> dict[str, Any]:
        """Arguments of InputLines with as many inputs as trees have."""
        rng, m = self.rng, self.m
        n_columns = int(rng.integers(1, m + 1))
        first = np.concatenate([[0], np.sort(rng.integers(0, m + 1, n_columns - 1)), [m]])
        first_line = None
        n_lines = m
        if rng.random() < 0.5:
            first_line = np.cumsum([0, *rng.integers(1, 4, m)]).astype(np.int32)
            n_lines = int(first_line[-1])
        low, high = np.sort(rng.normal(size=(2, n_lines)) * 3, axis=0)
        is_open = rng.random(n_lines) < 0.3
        return {
            "first": first.astype(np.int32),
            "first_line": first_line,
            "offset": rng.normal(size=n_lines),
            "factor": rng.normal(size=n_lines),
            "low": np.where(is_open, -np.inf, low),
            "high": np.where(is_open, np.inf, high),
        }

    def text(self) -> np.ndarray:
        """A CSV file, more or less."""
        return self.rng.choice(np.frombuffer(b'0123456789.-+eE,,,\n\n\r"; xn\xff', np.uint8), 200)

    def cells(self) -> dict[str, Any]:
        """A text, and the places of cells in it."""
        text = self.text()
        places = np.sort(self.rng.integers(0, text.size + 1, size=(self.n, 2)), axis=1)
        starts, ends = np.ascontiguousarray(places.T.astype(np.int32))
        return {"data": text, "starts": starts, "ends": ends}

    def quantities(self) -> dict[str, Any]:
        """Arguments of read_quantities."""
        texts = ["1,234.5 EUR", "EUR 7", "-3", "", "x", "1.2.3", "\u00a0 5 EUR", "1e9", "\0", "EUR"]
        return {
            "texts": self.rng.choice(texts, self.n).tolist(),
            "decimal": ord("."),
            "thousands": ",",
            "unit": str(self.rng.choice(["", "EUR"])),
            "may_precede": bool(self.rng.integers(2)),
        }

    @property
    def labels(self) -> bool:
        return self.n % 2 == 0

    def loss(self) -> tuple[str, list[float]]:
        """A loss that fits, most of the time."""
        entries = _core.losses()
        name = "cross_entropy" if self.labels and self.k > 1 else "squared_error"
        entry = next(entry for entry in entries if entry.name == name)
        if self.rng.random() < 0.3:
            entry = entries[self.rng.integers(len(entries))]
        return entry.name, [parameter.default for parameter in entry.parameters]

    def settings(self) -> dict[str, Any]:
        """A value for each setting that the core declares."""
        optimizer = _core.optimizers()[self.rng.integers(len(_core.optimizers()))]
        numbers = [parameter.default for parameter in optimizer.parameters]
        drawn = {setting.name: self.value(setting) for setting in _core.settings()}
        few = {"max_epochs": int(self.rng.integers(0, 4))}
        return drawn | {"loss": self.loss(), "optimizer": (optimizer.name, numbers)} | few

    def value(self, setting: Any) -> Any:
        """A value that a setting may have: at an end of its range, or somewhere near the lower."""
        rng = self.rng
        if setting.may_be_none and rng.random() < 0.5:
            return None
        if setting.kind == "flag":
            return bool(rng.integers(2))
        if setting.kind == "choice":
            return str(rng.choice(setting.choices))
        if setting.kind == "whole":
            near = min(setting.high, setting.low + int(rng.integers(20)))
            return int(rng.choice([setting.low, setting.high, near]))
        small = min(setting.high, setting.low + float(rng.uniform(0, 0.1)))
        low = 1e-300 if setting.is_above_low else setting.low
        return float(rng.choice([low, setting.high, small, small, small]))

    def job(self) -> dict[str, Any]:
        rng = self.rng
        settings = self.settings()
        if rng.random() < 0.2:
            settings = self.damaged(settings)
            if is_long(settings.get("max_epochs")):
                settings["max_epochs"] = 3  # long trainings are not what is looked for
        chosen = bool(rng.integers(2))
        n = int(rng.integers(1, self.n + 1))
        rows = rng.integers(0, self.n, n).astype(np.int32)
        scaled = bool(rng.integers(2))
        n_targets = int(rng.choice([0, 0, 1, self.k]))
        tree = self.weighted()
        job: dict[str, Any] = {
            "tree": _core.WeightedTree(**tree),
            "settings": _core.Settings(settings, bool(rng.integers(2))),
            "seed": int(rng.integers(2**63)),
            "rows": rows if chosen else None,
            "sample_weight": rng.uniform(0, 2, n if chosen else self.n)
            if rng.integers(2)
            else None,
            "validation_rows": rows[:3].copy(),
            "validation_weight": rng.uniform(0, 2, rows[:3].size) if rng.integers(2) else None,
            "input_scaling": (np.zeros(self.m), np.ones(self.m)) if scaled else None,
            "target_scaling": (np.zeros(n_targets), np.ones(n_targets)) if n_targets else None,
            "optimizer_state": None,
            "may_move_to": self.moves(tree) if rng.integers(2) else None,
            "signs": self.signs(tree) if rng.integers(2) else None,
        }
        if rng.random() < 0.2:
            rule = {**self.rule(), "n_inputs": self.m, "n_outputs": self.k}
            job["tree"] = _core.PlannedTree(_core.GrowthRule(**rule), 5, self.single)
            if rng.random() < 0.8:
                job |= {"signs": None, "may_move_to": None}
        elif rng.random() < 0.2:  # it goes on from a state of the right size
            with contextlib.suppress(*ALLOWED):
                state = _core.untouched(_core.Job(**job)).state
                job["optimizer_state"] = (state, int(rng.integers(3)))
        return job

    def moves(self, tree: dict[str, Any]) -> np.ndarray:
        """Where leaves may move to: the leaves of all nodes, or of each."""
        n_nodes = tree["structure"].leaf_start.size - 1
        shape = (n_nodes, self.m) if self.rng.integers(2) else (self.m,)
        return self.rng.integers(0, 2, shape).astype(np.uint8)

    def signs(self, tree: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Signs of the nodes and of the inputs of a tree."""
        sizes = tree["structure"].leaf_start.size - 1, self.m
        node, column = (self.rng.integers(-1, 2, size).astype(np.int8) for size in sizes)
        return node, column

    def damaged(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The same with one or more arguments replaced, left out or added."""
        damaged = dict(arguments)
        for _ in range(int(self.rng.choice([1, 1, 1, 2, 3]))):
            name = str(self.rng.choice(list(arguments)))
            damaged[name] = draw_thing(self.rng, arguments[name])
        if self.rng.random() < 0.03:
            damaged.pop(name)
        return damaged


def draw_jobs(valid: Valid) -> Any:
    """One or more jobs; some were made of damaged arguments."""
    jobs = []
    for _ in range(int(valid.rng.integers(1, 4))):
        arguments = valid.job()
        if valid.rng.random() < 0.3:
            arguments = valid.damaged(arguments)
        jobs.append(_core.Job(**arguments))
    return jobs if valid.rng.random() < 0.8 else iter(jobs)


def draw_call(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """A function or class of the core, and valid arguments for it."""
    valid = Valid(rng)

    def tree() -> Any:
        return _core.WeightedTree(**valid.weighted())

    def data() -> Any:
        arguments = valid.data()
        return _core.Data(**(valid.damaged(arguments) if rng.random() < 0.2 else arguments))

    rows = valid.rows

    name = str(
        rng.choice(
            ["Structure", "WeightedTree", "InputLines", "Data", "Settings", "Job", "train", "train",
             "train", "train", "gradient", "gradient", "forward", "forward", "forward_tree",
             "forward_tree", "attributions", "jacobian", "epoch_order", "first_not_finite",
             "untouched", "use_engine", "scan_csv", "parse_numbers", "code_cells",
             "read_quantities", "uniform", "GrowthRule", "grow", "grow", "sample_features",
             "PlannedTree", "with_output_leaves", "idle_branches"]
        )
    )  # fmt: skip
    loss, loss_parameters = valid.loss()
    callbacks = (None, lambda *_: False, lambda *_: rng, lambda *_: 1 / 0, Raises())
    callback = callbacks[rng.integers(len(callbacks))]
    arguments: dict[str, Any] = {
        "Structure": valid.structure,
        "WeightedTree": valid.weighted,
        "InputLines": valid.lines,
        "Data": valid.data,
        "Settings": lambda: {
            "values": valid.damaged(valid.settings()), "score_all_rows": bool(rng.integers(2)),
        },
        "Job": valid.job,
        "train": lambda: {
            "jobs": draw_jobs(valid), "n_expected": 2, "data": data(),
            "validation": data() if rng.integers(2) else None,
            "n_threads": int(rng.integers(1, 4)), "on_epoch": callback, "on_job": None,
        },
        "gradient": lambda: {
            "tree": tree(), "data": data(), "weights": rng.uniform(0, 2, valid.n), "loss": loss,
            "loss_parameters": loss_parameters, "n_threads": 1,
        },
        "forward": lambda: {
            "trees": [tree() for _ in range(rng.integers(1, 4))], **valid.table(), "n_threads": 1,
            "softmax": bool(rng.integers(2)), "mean": bool(rng.integers(2)),
        },
        "forward_tree": lambda: {
            "tree": tree(), "X": rows(), "n_threads": 2, "softmax": bool(rng.integers(2)),
        },
        "attributions": valid.attributions,
        "jacobian": lambda: {"tree": tree(), "X": rows(), "n_threads": 2},
        "epoch_order": lambda: {"seed": 3, "epoch": 2, "n_rows": 20},
        "uniform": lambda: {"seed": 3, "i": 2},
        "first_not_finite": lambda: {"X": rows()},
        "untouched": lambda: {"job": _core.Job(**valid.job())},
        "scan_csv": lambda: {
            "data": valid.text(), "delimiter": ord(","), "width": int(rng.integers(0, 4)),
            "is_end": bool(rng.integers(2)),
        },
        "parse_numbers": lambda: {**valid.cells(), "decimal": ord(".")},
        "code_cells": valid.cells,
        "read_quantities": valid.quantities,
        "use_engine": lambda: {"name": str(rng.choice([*_core.engines(), "auto"]))},
        "GrowthRule": valid.rule,
        "PlannedTree": lambda: {
            "rule": _core.GrowthRule(**valid.rule()), "seed": 5, "is_single": valid.single,
        },
        "grow": lambda: {"rule": _core.GrowthRule(**valid.rule()), "seed": 5},
        "sample_features": lambda: {
            "rule": _core.GrowthRule(**valid.rule()), "seed": 5,
            "parent": np.array([-1, 0, 1], np.int32), "leaf_parent": np.array([0, 2], np.int32),
        },
        "with_output_leaves": lambda: {
            "tree": tree(), "factor": 2.0, "output": np.zeros(3, np.int32),
            "input": np.zeros(3, np.int32), "weight": rng.normal(size=3), "bias": np.ones(valid.k),
        },
        "idle_branches": lambda: {
            "tree": tree(), "low": -np.ones(valid.m), "high": np.ones(valid.m), "tolerance": 0.1,
        },
    }[name]()  # fmt: skip
    if rng.random() < (0.5 if name == "train" else 0.85):
        arguments = valid.damaged(arguments)
    # a sanitizer ends the process where allocation fails otherwise with a MemoryError
    if name == "epoch_order" and SANITIZED and is_long(arguments.get("n_rows")):
        arguments["n_rows"] = 2**15
    return getattr(_core, name), arguments


def run(seed: int) -> str | None:
    """Make a call; return what is wrong with its outcome, or None."""

    def call(rng: np.random.Generator) -> Any:
        function, arguments = draw_call(rng)
        yield function
        result = function(**arguments)
        if function is _core.Structure:
            _ = [getattr(result, name) for name in dir(result) if name[0] != "_"]
        if function is _core.Job:
            _core.untouched(result)

    return outcome(call(np.random.default_rng(seed)))


def outcome(call: Iterator[Any]) -> str | None:
    """Take a call that yields the function before it is called; return what is wrong, or None."""
    global n_results
    function: Any = None
    try:
        function = next(call)
        next(call, None)
        n_results += 1
    except ZeroDivisionError:
        return None  # ours
    except ALLOWED as error:
        if not isinstance(error, MemoryError) and len(str(error).split()) < 3:
            return f"{function}: {type(error).__name__} without a sentence: {error}"
    except Exception as error:
        return f"{function}: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main("tests.tools.fuzz_core"))
