// Jobs and results as Python objects.
#include "job.hpp"

#include <nanobind/stl/shared_ptr.h>

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
    nb::class_<Job>(m, "Job", "One tree to be trained; the fields are those of TrainingJob.")
        .def(
            "__init__", [](Job* self, const nb::kwargs& fields) { new (self) Job(Fields(fields)); },
            nb::sig("def __init__(self, **fields: typing.Any) -> None"));
    nb::class_<Result>(m, "Result", "The result of a job.")
        .def_prop_ro(
            "structure", [](const Result& r) { return r.structure; },
            nb::sig("def structure(self) -> Structure | None"),
            "The structure of a tree that was planned, before leaves moved.")
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
        "Return the result of a job that is never run.");
}

}  // namespace bnt
