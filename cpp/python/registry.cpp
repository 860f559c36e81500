// The registry of activations, losses and optimizers, as Python reads it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../engine.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace bnt {

namespace {

const char* text_of(Compares compares) {
    switch (compares) {
        case Compares::labels: return "labels";
        case Compares::either: return "either";
        case Compares::shared: return "shared";
        default: return "values";
    }
}

}  // namespace

void bind_registry(nb::module_& m) {
    nb::class_<Parameter>(m, "Parameter", "A parameter of an activation, loss or optimizer.")
        .def_prop_ro("name", [](const Parameter& p) { return std::string(p.name); })
        .def_ro("default", &Parameter::standard)
        .def_prop_ro("range", [](const Parameter& p) { return std::string(text_of(p.range)); })
        .def_ro("is_list", &Parameter::is_list);
    nb::class_<Entry>(m, "Entry", "An activation, loss or optimizer, as the core declares it.")
        .def_prop_ro("name", [](const Entry& e) { return std::string(e.name); })
        .def_prop_ro("title", [](const Entry& e) { return std::string(e.title); })
        .def_prop_ro("about", [](const Entry& e) { return std::string(e.about); })
        .def_ro("parameters", &Entry::parameters)
        .def_prop_ro("compares", [](const Entry& e) { return std::string(text_of(e.compares)); })
        .def_ro("needs_linear_outputs", &Entry::needs_linear_outputs)
        .def_ro("lowest_target", &Entry::lowest_target)
        .def_ro("highest_target", &Entry::highest_target)
        .def_ro("n_state", &Entry::n_state);
    m.def(
        "activations", [] { return registry().activations; },
        "Return the registered activations, in the order of their codes.");
    m.def("losses", [] { return registry().losses; }, "Return the registered losses.");
    m.def("optimizers", [] { return registry().optimizers; }, "Return the registered optimizers.");
}

}  // namespace bnt
