// Jobs and results as Python objects.
#include "job.hpp"

#include "bindings.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

nb::object as_numpy(const Vector& vector, nb::handle owner) {
    return std::visit(
        [&](const auto& v) {
            using T = typename std::decay_t<decltype(v)>::value_type;
            return nb::cast(nb::ndarray<nb::numpy, const T>(v.data(), {v.size()}, owner));
        },
        vector);
}

}  // namespace

void bind_job(nb::module_& m) {
    nb::class_<Job>(m, "Job", "One tree to be trained.")
        .def(
            "__init__",
            [](Job* self, nb::handle tree, nb::handle settings, nb::handle seed, nb::handle rows,
               nb::handle weights, nb::handle val_rows, nb::handle val_weights,
               nb::handle input_offset, nb::handle input_factor, nb::handle target_offset,
               nb::handle target_factor, nb::handle state, nb::handle step, nb::handle may_move_to,
               nb::handle node_sign, nb::handle input_sign) {
                as_instance<WeightedTree>(tree, "tree", "WeightedTree");
                as_instance<Settings>(settings, "settings", "Settings");
                new (self) Job(tree, settings, seed, rows, weights, val_rows, val_weights,
                               input_offset, input_factor, target_offset, target_factor, state,
                               step, may_move_to, node_sign, input_sign);
            },
            "tree"_a, "settings"_a, "seed"_a, "rows"_a.none(), "weights"_a.none(),
            "val_rows"_a.none(), "val_weights"_a.none(), "input_offset"_a.none(),
            "input_factor"_a.none(), "target_offset"_a.none(), "target_factor"_a.none(),
            "state"_a.none(), "step"_a, "may_move_to"_a = nb::none(), "node_sign"_a = nb::none(),
            "input_sign"_a = nb::none(),
            nb::sig("def __init__(self, tree: WeightedTree, settings: Settings, seed: int, rows: "
                    "numpy.typing.NDArray[typing.Any] | None, "
                    "weights: numpy.typing.NDArray[typing.Any] | None, "
                    "val_rows: numpy.typing.NDArray[typing.Any] | None, "
                    "val_weights: numpy.typing.NDArray[typing.Any] | None, "
                    "input_offset: numpy.typing.NDArray[typing.Any] | None, "
                    "input_factor: numpy.typing.NDArray[typing.Any] | None, "
                    "target_offset: numpy.typing.NDArray[typing.Any] | None, "
                    "target_factor: numpy.typing.NDArray[typing.Any] | None, "
                    "state: numpy.typing.NDArray[typing.Any] | None, step: int, "
                    "may_move_to: numpy.typing.NDArray[typing.Any] | None = None, "
                    "node_sign: numpy.typing.NDArray[typing.Any] | None = None, "
                    "input_sign: numpy.typing.NDArray[typing.Any] | None = None) -> None"));
    nb::class_<Result>(m, "Result", "What came of a job.")
        .def_prop_ro(
            "parameters",
            [](nb::handle self) {
                return as_numpy(nb::cast<const Result&>(self).parameters, self);
            },
            nb::sig("def parameters(self) -> numpy.typing.NDArray[typing.Any]"))
        .def_prop_ro(
            "state",
            [](nb::handle self) { return as_numpy(nb::cast<const Result&>(self).state, self); },
            nb::sig("def state(self) -> numpy.typing.NDArray[typing.Any]"))
        .def_ro("step", &Result::step)
        .def_prop_ro(
            "leaf_input",
            [](nb::handle self) {
                const auto& v = nb::cast<const Result&>(self).leaf_input;
                return nb::cast(nb::ndarray<nb::numpy, const int32_t>(v.data(), {v.size()}, self));
            },
            nb::sig("def leaf_input(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro(
            "moves",
            [](nb::handle self) {
                const auto& v = nb::cast<const Result&>(self).moves;
                return nb::cast(
                    nb::ndarray<nb::numpy, const int32_t>(v.data(), {v.size() / 4, 4}, self));
            },
            nb::sig("def moves(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("status", [](const Result& r) { return std::string(r.status()); })
        .def_prop_ro("n_epochs", [](const Result& r) { return r.outcome.n_epochs; })
        .def_prop_ro("best_epoch", [](const Result& r) { return r.outcome.best_epoch; })
        .def_prop_ro(
            "history",
            [](nb::handle self) {
                const auto& h = nb::cast<const Result&>(self).history;
                constexpr size_t n = Result::kFigures;
                return nb::cast(
                    nb::ndarray<nb::numpy, const double>(h.data(), {h.size() / n, n}, self));
            },
            nb::sig("def history(self) -> numpy.typing.NDArray[numpy.float64]"))
        .def_ro("seconds", &Result::seconds);
    m.def(
        "untouched", [](const Job& job) { return job.untouched(); }, "job"_a,
        "Return what a job gives if it is never run.");
}

}  // namespace bnt
