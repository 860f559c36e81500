// Outputs of one tree or of many, for the rows of a table.
#include <algorithm>
#include <exception>

#include "../dispatch.hpp"
#include "bindings.hpp"
#include "lines.hpp"
#include "problems.hpp"
#include "signals.hpp"
#include "weighted_tree.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// The trees of a call that compute in T.
template <class T>
struct Group {
    std::vector<const Tree*> trees;
    std::vector<const T*> theta;

    // Keeps pointers only: the caller's trees keep the arrays alive.
    void add(const WeightedTree& tree) {
        trees.push_back(&tree.tree());
        theta.push_back(tree.theta<T>());
    }

    ForwardProblem run(const Table& table, bool softmax, T* out, double* sum, int n_threads,
                       const Hooks& hooks) const {
        const ForwardTask<T> task{trees.data(), theta.data(), int(trees.size()), table, softmax,
                                  out,          sum,          n_threads};
        return engine().kernels<T>().forward(task, hooks);
    }
};

template <class F>
void without_gil(bool releases, F&& f) {
    if (!releases) return f();  // over before another thread could use the GIL
    GilRelease release;
    f();
}

nb::tuple forward(nb::list trees, nb::handle X, nb::handle threads, bool softmax, bool mean,
                  nb::handle lines) {
    const AnyArray rows = as_rows(X, "X");
    const Table table = with_lines(as_table(rows, "X"), lines);
    const int n_threads = as_threads(threads);
    const size_t n_trees = trees.size(), n = size_t(table.n_rows);
    if (n_trees == 0) fail("there are no trees");
    Group<float> single;
    Group<double> full;
    std::vector<nb::object> alive;  // the list may be changed by another thread meanwhile
    const Tree* first = nullptr;
    for (nb::handle entry : trees) {
        const WeightedTree* weighted = nullptr;
        if (!nb::try_cast<const WeightedTree*>(entry, weighted) || !weighted)
            fail_type("trees must hold WeightedTree objects");
        alive.push_back(nb::borrow(entry));
        const Tree& tree = weighted->tree();
        if (!first) first = &tree;
        if (tree.n_inputs != table.n_inputs()) fail_features(table, tree);
        if (tree.n_outputs != first->n_outputs) fail("the trees differ in their number of outputs");
        if (weighted->is_single()) single.add(*weighted);
        else full.add(*weighted);
    }
    const size_t k = size_t(first->n_outputs);
    SignalCheck signals;
    ForwardProblem problem;
    const auto finish = [&](nb::object result) {
        signals.rethrow();
        return nb::make_tuple(result, described(problem));
    };
    if (mean) {
        nb::object result = new_array<double>(nullptr, {n, k});
        double* sum = nb::cast<nb::ndarray<double>>(result).data();
        std::fill_n(sum, n * k, 0.0);
        without_gil(n > 1, [&] {
            if (!single.trees.empty())
                problem = single.run(table, softmax, nullptr, sum, n_threads, signals.hooks());
            if (!full.trees.empty() && problem.input.row < 0 && problem.output < 0 &&
                !problem.interrupted)
                problem = full.run(table, softmax, nullptr, sum, n_threads, signals.hooks());
            if (n_trees > 1)
                for (size_t i = 0; i < n * k; ++i) sum[i] /= double(n_trees);
        });
        return finish(result);
    }
    if (!single.trees.empty() && !full.trees.empty()) fail_type("the trees differ in their dtype");
    const auto run_in = [&](const auto& group) {
        using T = std::decay_t<decltype(*group.theta[0])>;
        nb::object result = new_array<T>(nullptr, {n_trees, n, k});
        T* out = nb::cast<nb::ndarray<T>>(result).data();
        without_gil(n > 1, [&] {
            problem = group.run(table, softmax, out, nullptr, n_threads, signals.hooks());
        });
        return finish(result);
    };
    return single.trees.empty() ? run_in(full) : run_in(single);
}

// The outputs of one tree, for a table or a single row of one dimension; or what went wrong. The
// shortest way from a row to its outputs: no lists, no further dimension.
nb::object forward_tree(const WeightedTree& weighted, nb::handle X, nb::handle threads,
                        bool softmax) {
    const AnyArray rows = as_rows(X, "X");
    const Tree& tree = weighted.tree();
    const bool is_row = rows.ndim() == 1;
    if (!is_row && rows.ndim() != 2)
        fail("X must have one or two dimensions, it has " + std::to_string(rows.ndim()));
    const Table table = is_row ? as_row(rows, "X") : as_table(rows, "X");
    if (tree.n_inputs != table.n_columns) fail_features(table, tree);
    const int n_threads = table.n_rows == 1 ? 1 : as_threads(threads);
    const size_t n = size_t(table.n_rows), k = size_t(tree.n_outputs);
    SignalCheck signals;
    ForwardProblem problem;
    const auto run_in = [&](auto zero) {
        using T = decltype(zero);
        const Tree* const trees[] = {&tree};
        const T* const theta[] = {weighted.theta<T>()};
        T* out = new T[n * k];
        nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        const ForwardTask<T> task{trees, theta, 1, table, softmax, out, nullptr, n_threads};
        without_gil(n > 1, [&] { problem = engine().kernels<T>().forward(task, signals.hooks()); });
        signals.rethrow();
        if (problem.input.row >= 0) return described(problem);
        if (is_row) return nb::cast(nb::ndarray<nb::numpy, T>(out, {k}, owner));
        return nb::cast(nb::ndarray<nb::numpy, T>(out, {n, k}, owner));
    };
    return weighted.is_single() ? run_in(float{}) : run_in(double{});
}

}  // namespace

void bind_forward(nb::module_& m) {
    m.def("forward_tree", &forward_tree, "tree"_a, "X"_a, "n_threads"_a, "softmax"_a,
          "Return the outputs of one tree for a table or a row, or (what, row, column) of an input "
          "that is not finite.",
          nb::sig("def forward_tree(tree: WeightedTree, X: object, n_threads: int, "
                  "softmax: bool) -> numpy.typing.NDArray[typing.Any] | tuple[str, int, int]"));
    m.def(
        "forward", &forward, "trees"_a, "X"_a, "n_threads"_a, "softmax"_a, "mean"_a,
        "lines"_a = nb::none(),
        "Return the outputs of trees for all rows and (what, row, column) of a number that is not "
        "finite, or None.\n\n"
        "Outputs are of shape (n_trees, n_rows, n_outputs) and of the dtype of the trees; with "
        "`mean`, float64 of shape (n_rows, n_outputs).",
        nb::sig("def forward(trees: list[WeightedTree], X: object, n_threads: int, "
                "softmax: bool, mean: bool, lines: InputLines | None = None) -> "
                "tuple[numpy.typing.NDArray[typing.Any], tuple[str, int, int] | None]"));
}

}  // namespace bnt
