"""
The compiled core: trees as arrays, their outputs, gradients and training.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy
import numpy.typing


class Parameter:
    """A parameter of an activation, loss or optimizer."""

    @property
    def name(self) -> str: ...

    @property
    def default(self) -> float: ...

    @property
    def range(self) -> str: ...

    @property
    def is_list(self) -> bool: ...

class Entry:
    """An activation, loss or optimizer, as the core declares it."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def about(self) -> str: ...

    @property
    def parameters(self) -> list[Parameter]: ...

    @property
    def compares(self) -> str: ...

    @property
    def needs_linear_outputs(self) -> bool: ...

    @property
    def lowest_target(self) -> float: ...

    @property
    def highest_target(self) -> float: ...

    @property
    def n_state(self) -> int: ...

def activations() -> list[Entry]:
    """Return the registered activations, in the order of their codes."""

def losses() -> list[Entry]:
    """Return the registered losses."""

def optimizers() -> list[Entry]:
    """Return the registered optimizers."""

class Structure:
    """The checked structure of a tree, shared by all trees that have it."""

    def __init__(self, n_inputs: int, n_outputs: int, parent: numpy.typing.NDArray[Any], activation: numpy.typing.NDArray[Any], leaf_parent: numpy.typing.NDArray[Any], leaf_input: numpy.typing.NDArray[Any], activation_parameters: numpy.typing.NDArray[Any], trains_activations: bool) -> None: ...

    def with_leaf_inputs(self, leaf_input: numpy.typing.NDArray[Any]) -> Structure:
        """Return the structure with other inputs of its leaves."""

    @property
    def n_inputs(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

    @property
    def parent(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def activation(self) -> numpy.typing.NDArray[numpy.uint8]: ...

    @property
    def leaf_parent(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def leaf_input(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def activation_parameters(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def trains_activations(self) -> bool: ...

    @property
    def n_parameters(self) -> int: ...

    @property
    def output_activation(self) -> int:
        """Code of the activation that all outputs have, or -1."""

    @property
    def hidden_activation(self) -> int:
        """Code of the activation that all other nodes have, or -1."""

    @property
    def n_weights(self) -> int: ...

    @property
    def child_start(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def leaf_start(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def level_start(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def activation_parameter_start(self) -> numpy.typing.NDArray[numpy.int32]: ...

class WeightedTree:
    """A structure with weights."""

    def __init__(self, structure: Structure, parameters: numpy.typing.NDArray[Any]) -> None: ...

class PlannedTree:
    """A tree that is grown by the thread that trains it."""

    def __init__(self, rule: GrowthRule, seed: int, is_single: bool) -> None: ...

def with_output_leaves(tree: WeightedTree, factor: float, output: numpy.typing.NDArray[Any], input: numpy.typing.NDArray[Any], weight: numpy.typing.NDArray[Any], bias: numpy.typing.NDArray[Any]) -> tuple[Structure, numpy.typing.NDArray[Any]]:
    """
    Return structure and weights of a tree of linear outputs that are multiplied by a factor, and have more leaves and other biases.
    """

def idle_branches(tree: WeightedTree, low: numpy.typing.NDArray[Any], high: numpy.typing.NDArray[Any], tolerance: float) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64]]:
    """
    Return the edges and leaves that contribute almost the same for all inputs between two limits, and the middle of what each contributes.
    """

def forward_tree(tree: WeightedTree, X: object, n_threads: int, softmax: bool) -> numpy.typing.NDArray[Any] | tuple[str, int, int]:
    """
    Return the outputs of one tree for a table or a row, or (what, row, column) of an input that is not finite.
    """

def forward(trees: list[WeightedTree], X: object, n_threads: int, softmax: bool, mean: bool, lines: InputLines | None = None) -> tuple[numpy.typing.NDArray[Any], tuple[str, int, int] | None]:
    """
    Return the outputs of trees for all rows and (what, row, column) of a number that is not finite, or None.

    Outputs are of shape (n_trees, n_rows, n_outputs) and of the dtype of the trees; with `mean`, float64 of shape (n_rows, n_outputs).
    """

def attributions(tree: WeightedTree, X: object, baseline: numpy.typing.NDArray[Any], cell: numpy.typing.NDArray[Any], n_cells: int, position: numpy.typing.NDArray[Any], weight: numpy.typing.NDArray[Any], n_threads: int) -> tuple[numpy.typing.NDArray[Any], tuple[str, int, int] | None]:
    """
    Return the attributions of leaves in outputs less those for the baseline, summed in cells, and (what, row, column) of a number that is not finite, or None.

    The rescale rule, or integrated gradients where there are positions.
    """

def jacobian(tree: WeightedTree, X: object, n_threads: int) -> tuple[numpy.typing.NDArray[Any], tuple[str, int, int] | None]:
    """
    Return the derivative of its output by each parameter for all rows, and (what, row, column) of a number that is not finite, or None.
    """

class Setting:
    """A setting of a training, as the core declares it."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    @property
    def kind(self) -> str:
        """One of loss, optimizer, number, whole, choice, flag."""

    @property
    def default(self) -> Any: ...

    @property
    def allowed(self) -> str:
        """Its valid values, in words."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def is_above_low(self) -> bool:
        """Whether `low` itself is excluded."""

    @property
    def may_be_none(self) -> bool: ...

    @property
    def choices(self) -> list[str]: ...

    def checked(self, value: Any) -> Any:
        """Return the value as a plain Python object, if it is allowed."""

def settings() -> list[Setting]:
    """Return the settings of a training."""

class Settings:
    """How a tree is trained, checked and ready for use."""

    def __init__(self, values: dict[str, Any], score_all_rows: bool = False) -> None: ...

class InputLines:
    """
    Inputs that are limited lines of columns, min(max((x - offset) * factor, low), high), or sums of them. Column c has the inputs from first[c] up to first[c + 1]. Input i is the sum of the lines from first_line[i] up to first_line[i + 1]; by default it is line i.
    """

    def __init__(self, first: numpy.typing.NDArray[numpy.int32], offset: numpy.typing.NDArray[numpy.float64], factor: numpy.typing.NDArray[numpy.float64], low: numpy.typing.NDArray[numpy.float64], high: numpy.typing.NDArray[numpy.float64], first_line: numpy.typing.NDArray[numpy.int32] | None = None) -> None: ...

class Data:
    """A table with its targets: int32 class labels, or float64 values."""

    def __init__(self, X: numpy.typing.NDArray[Any], y: numpy.typing.NDArray[Any], lines: InputLines | None = None) -> None: ...

def uniform(seed: int, i: int) -> float:
    """Return the number in [0, 1) that decides the i-th move of a leaf."""

def epoch_order(seed: int, epoch: int, n_rows: int, block_rows: int = 0) -> numpy.typing.NDArray[numpy.int32]:
    """Return the order in which training takes the rows in an epoch."""

def first_not_finite(X: numpy.typing.NDArray[Any]) -> tuple[int, int] | None:
    """Return (row, column) of the first value that is not finite, or None."""

class Job:
    """One tree to be trained; the fields are those of TrainingJob."""

    def __init__(self, **fields: Any) -> None: ...

class Result:
    """The result of a job."""

    @property
    def structure(self) -> Structure | None:
        """The structure of a tree that was planned, before leaves moved."""

    @property
    def parameters(self) -> numpy.typing.NDArray[Any]: ...

    @property
    def state(self) -> numpy.typing.NDArray[Any]: ...

    @property
    def step(self) -> int: ...

    @property
    def leaf_input(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def moves(self) -> numpy.typing.NDArray[numpy.int32]: ...

    @property
    def status(self) -> str: ...

    @property
    def n_epochs(self) -> int: ...

    @property
    def best_epoch(self) -> int: ...

    @property
    def history(self) -> numpy.typing.NDArray[numpy.float64]: ...

    @property
    def seconds(self) -> float: ...

def untouched(job: Job) -> Result:
    """Return the result of a job that is never run."""

def train(jobs: Iterable[Job], n_expected: int, data: Data, validation: Data | None, n_threads: int, on_epoch: Callable[..., bool] | None, on_job: Callable[[int, Result], bool] | None, stop: Callable[[], bool] | None = None) -> tuple[list[Result], BaseException | None]:
    """
    Train trees; return the results and the exception that was raised, or None.

    Jobs are taken from an iterable when a thread is about to become free; `n_expected` is their number. `stop` is called several times a second; true ends the training.
    """

def gradient(tree: WeightedTree, data: Data, weights: numpy.typing.NDArray[Any] | None, loss: str, loss_parameters: list[float], n_threads: int) -> tuple[float, numpy.typing.NDArray[Any]]:
    """Return the mean loss of all rows and its gradient."""

def scan_csv(data: numpy.typing.NDArray[numpy.uint8], delimiter: int, width: int, is_end: bool) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], bytes, int, int, tuple[int, int, int]]:
    """
    Return start and end (rows by columns) and last line of the cells of CSV text, cells with doubled quotes, whose places are behind the text, bytes and lines of complete rows, and a problem: kind (0 for none), line, and number of cells.
    """

def parse_numbers(data: numpy.typing.NDArray[numpy.uint8], starts: numpy.typing.NDArray[numpy.int32], ends: numpy.typing.NDArray[numpy.int32], decimal: int) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], bool, bool]:
    """
    Return the numbers of cells, the cells that have none, whether all cells are digits, and whether one has a leading zero.
    """

def code_cells(data: numpy.typing.NDArray[numpy.uint8], starts: numpy.typing.NDArray[numpy.int32], ends: numpy.typing.NDArray[numpy.int32]) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]:
    """
    Return the position of each cell among the different ones, and the first cell of each.
    """

def read_quantities(texts: list[str], decimal: int, thousands: str, unit: str, may_precede: bool) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32]]:
    """
    Return the numbers of texts with separators and a unit, and the texts that are not of the usual form.
    """

class GrowthRule:
    """A distribution of trees; see cpp/growth.hpp."""

    def __init__(self, **fields: Any) -> None: ...

def sample_features(rule: GrowthRule, seed: int, parent: numpy.typing.NDArray[Any], leaf_parent: numpy.typing.NDArray[Any]) -> numpy.typing.NDArray[numpy.int32]:
    """Return the feature of each leaf of a structure."""

def grow(rule: GrowthRule, seed: int, sampler: Callable[..., numpy.typing.NDArray[numpy.int32]] | None = None) -> tuple[Structure, numpy.typing.NDArray[numpy.float64]]:
    """
    Return structure and weights of a random tree, a function of the rule and the seed.

    `sampler` is called with leaf_parent and parent, and returns the feature of each leaf.
    """

def engine() -> str:
    """Return the instruction set in use."""

def engines() -> list[str]:
    """Return the instruction sets that this processor runs, widest first."""

def use_engine(name: str) -> None:
    """Use another instruction set; 'auto' is the widest."""

def available_processors() -> int:
    """Return the number of processors that this process may use."""
