// Outputs of one tree or of many, for the rows of a table.
#include <algorithm>
#include <exception>

#include "../dispatch.hpp"
#include "../jobs.hpp"
#include "../structure.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "signals.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// The trees of a call that compute in T.
template <class T>
struct Group {
    std::vector<const Tree*> trees;
    std::vector<const T*> theta;
    int64_t work = 0;

    // Keeps pointers only: the caller's lists keep the arrays alive.
    void add(const Tree& tree, const In<T>& parameters) {
        if (int64_t(parameters.size()) != n_parameters(tree))
            fail("parameters has " + std::to_string(parameters.size()) + " entries, the tree has " +
                 std::to_string(n_parameters(tree)));
        trees.push_back(&tree);
        theta.push_back(parameters.data());
        work += parameters.size();
    }

    ForwardProblem run(const Table& table, bool softmax, T* out, double* sum, int n_threads,
                       const Hooks& hooks) const {
        const ForwardTask<T> task{trees.data(), theta.data(), int(trees.size()), table,
                                  softmax, out, sum, n_threads};
        const Engine& engine = engine_for(Operation::forward, sizeof(T) == 4, int(work / trees.size()));
        return engine.kernels<T>().forward(task, hooks);
    }
};

// (what, row, column) of what went wrong, or None.
nb::object described(const ForwardProblem& problem) {
    if (problem.input.row >= 0)
        return nb::make_tuple("input", problem.input.row, problem.input.column);
    if (problem.output >= 0) return nb::make_tuple("output", problem.output, 0);
    return nb::none();
}

template <class F>
void without_gil(bool wanted, F&& f) {
    if (!wanted) return f();  // over before another thread could use the GIL
    nb::gil_scoped_release release;
    f();
}

nb::tuple forward(nb::list structures, nb::list parameters, nb::handle X, nb::handle threads,
                  bool softmax, bool mean) {
    const AnyArray rows = as_rows(X, "X");
    const Table table = as_table(rows, "X");
    const int n_threads = int(std::min<int64_t>(
        as_whole(threads, "n_threads", 1, INT32_MAX), available_processors()));
    const size_t n_trees = structures.size(), n = size_t(table.n_rows);
    if (n_trees == 0 || n_trees != parameters.size()) fail("one parameter vector for each tree is needed");
    Group<float> single;
    Group<double> full;
    std::vector<nb::object> alive;  // the list may be changed by another thread meanwhile
    const Tree* first = nullptr;
    for (size_t i = 0; i < n_trees; ++i) {
        const nb::object structure = structures[i];
        const Structure* own = nullptr;
        if (!nb::try_cast<const Structure*>(structure, own) || !own) fail_type("structures must hold Structure objects");
        const Tree& tree = own->tree();
        if (!first) first = &tree;
        if (tree.n_inputs != table.n_columns)
            fail("X has " + std::to_string(table.n_columns) + " features, but the tree has " +
                 std::to_string(tree.n_inputs) + " inputs");
        if (tree.n_outputs != first->n_outputs) fail("the trees differ in their number of outputs");
        In<float> theta32;
        const nb::object vector = parameters[i];
        alive.push_back(structure);
        alive.push_back(vector);
        if (nb::try_cast<In<float>>(vector, theta32, false)) single.add(tree, theta32);
        else full.add(tree, as_array<double>(vector, "parameters"));
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
            if (!single.trees.empty()) problem = single.run(table, softmax, nullptr, sum, n_threads, signals.hooks());
            if (!full.trees.empty() && problem.input.row < 0 && problem.output < 0 && !problem.interrupted)
                problem = full.run(table, softmax, nullptr, sum, n_threads, signals.hooks());
            if (n_trees > 1) for (size_t i = 0; i < n * k; ++i) sum[i] /= double(n_trees);
        });
        return finish(result);
    }
    if (!single.trees.empty() && !full.trees.empty()) fail_type("the trees differ in their dtype");
    const auto run_in = [&](const auto& group) {
        using T = std::decay_t<decltype(*group.theta[0])>;
        nb::object result = new_array<T>(nullptr, {n_trees, n, k});
        T* out = nb::cast<nb::ndarray<T>>(result).data();
        without_gil(n > 1, [&] { problem = group.run(table, softmax, out, nullptr, n_threads, signals.hooks()); });
        return finish(result);
    };
    return single.trees.empty() ? run_in(full) : run_in(single);
}

}  // namespace

void bind_forward(nb::module_& m) {
    m.def("forward", &forward, "structures"_a, "parameters"_a, "X"_a, "n_threads"_a, "softmax"_a,
          "mean"_a,
          "Return the outputs of trees for all rows and (what, row, column) of a number that is not "
          "finite, or None.\n\n"
          "Outputs are of shape (n_trees, n_rows, n_outputs) and of the dtype of the trees; with "
          "`mean`, float64 of shape (n_rows, n_outputs).",
          nb::sig("def forward(structures: list[Structure], "
                  "parameters: list[numpy.typing.NDArray[typing.Any]], X: object, n_threads: int, "
                  "softmax: bool, mean: bool) -> "
                  "tuple[numpy.typing.NDArray[typing.Any], tuple[str, int, int] | None]"));
}

}  // namespace bnt
