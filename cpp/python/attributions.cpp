// The attributions of leaves in an output, and the derivatives of outputs by parameters.
#include "../dispatch.hpp"
#include "bindings.hpp"
#include "gil.hpp"
#include "problems.hpp"
#include "signals.hpp"
#include "weighted_tree.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// Calls f(T) for the dtype of a tree.
template <class F>
nb::tuple in_dtype_of(const WeightedTree& tree, F&& f) {
    return tree.is_single() ? f(float{}) : f(double{});
}

nb::tuple attributions(const WeightedTree& weighted, nb::handle X, nb::handle baseline,
                       nb::handle cell, nb::handle n_cells, nb::handle position, nb::handle weight,
                       nb::handle threads) {
    const AnyArray rows = as_rows(X, "X");
    const Table table = as_table(rows, "X");
    const Tree& tree = weighted.tree();
    if (tree.n_inputs != table.n_columns) fail_features(table, tree);
    constexpr int64_t most_cells = int64_t(1) << 24;  // times the rows of a block, it fits an int
    const int count = int(as_whole(n_cells, "n_cells", 1, most_cells));
    // copied before they are checked: kernels use them as indices
    const std::vector<int32_t> cells = as_vector<int32_t>(cell, "cell");
    if (int64_t(cells.size()) != tree.n_leaves) fail("cell must have one entry for each leaf");
    for (int32_t c : cells)
        if (c < 0 || c >= count) fail("cell has the entry " + std::to_string(c));
    const int n_threads = as_threads(threads);
    return in_dtype_of(weighted, [&](auto zero) {
        using T = decltype(zero);
        const std::vector<T> from = as_vector<T>(baseline, "baseline");
        const std::vector<T> positions = as_vector<T>(position, "position"),
                             weights = as_vector<T>(weight, "weight");
        if (int64_t(from.size()) != tree.n_inputs)
            fail("baseline has " + std::to_string(from.size()) + " numbers, the tree has " +
                 std::to_string(tree.n_inputs) + " inputs");
        if (positions.size() != weights.size()) fail("position and weight differ in size");
        nb::object result = new_array<T>(nullptr, {size_t(table.n_rows), size_t(count)});
        const AttributionTask<T> task{&tree,
                                      weighted.theta<T>(),
                                      table,
                                      from.data(),
                                      cells.data(),
                                      count,
                                      positions.data(),
                                      weights.data(),
                                      int(positions.size()),
                                      nb::cast<nb::ndarray<T>>(result).data(),
                                      n_threads};
        SignalCheck signals;
        ForwardProblem problem;
        {
            GilRelease release;
            problem = engine().kernels<T>().attributions(task, signals.hooks());
        }
        signals.rethrow();
        return nb::make_tuple(result, described(problem));
    });
}

nb::tuple jacobian(const WeightedTree& weighted, nb::handle X, nb::handle threads) {
    const AnyArray rows = as_rows(X, "X");
    const Table table = as_table(rows, "X");
    const Tree& tree = weighted.tree();
    if (tree.n_inputs != table.n_columns) fail_features(table, tree);
    const int n_threads = as_threads(threads);
    return in_dtype_of(weighted, [&](auto zero) {
        using T = decltype(zero);
        nb::object result =
            new_array<T>(nullptr, {size_t(table.n_rows), size_t(n_parameters(tree))});
        const JacobianTask<T> task{&tree, weighted.theta<T>(), table,
                                   nb::cast<nb::ndarray<T>>(result).data(), n_threads};
        SignalCheck signals;
        ForwardProblem problem;
        {
            GilRelease release;
            problem = engine().kernels<T>().jacobian(task, signals.hooks());
        }
        signals.rethrow();
        return nb::make_tuple(result, described(problem));
    });
}

}  // namespace

void bind_attributions(nb::module_& m) {
    m.def("attributions", &attributions, "tree"_a, "X"_a, "baseline"_a, "cell"_a, "n_cells"_a,
          "position"_a, "weight"_a, "n_threads"_a,
          "Return the attributions of leaves in outputs less those for the baseline, summed in "
          "cells, and "
          "(what, row, column) of a number that is not finite, or None.\n\n"
          "The rescale rule, or integrated gradients where there are positions.",
          nb::sig("def attributions(tree: WeightedTree, X: object, "
                  "baseline: numpy.typing.NDArray[typing.Any], "
                  "cell: numpy.typing.NDArray[typing.Any], n_cells: int, "
                  "position: numpy.typing.NDArray[typing.Any], "
                  "weight: numpy.typing.NDArray[typing.Any], n_threads: int) -> "
                  "tuple[numpy.typing.NDArray[typing.Any], tuple[str, int, int] | None]"));
    m.def("jacobian", &jacobian, "tree"_a, "X"_a, "n_threads"_a,
          "Return the derivative of its output by each parameter for all rows, and (what, row, "
          "column) of a number that is not finite, or None.",
          nb::sig("def jacobian(tree: WeightedTree, X: object, n_threads: int) -> "
                  "tuple[numpy.typing.NDArray[typing.Any], tuple[str, int, int] | None]"));
}

}  // namespace bnt
