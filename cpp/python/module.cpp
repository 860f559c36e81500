// The Python module bneuralt._core.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../dispatch.hpp"
#include "../jobs.hpp"
#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // trees at module level live until the interpreter ends
    m.doc() = "The compiled core: trees as arrays, their outputs, gradients and training.";
    bnt::bind_registry(m);
    bnt::bind_structure(m);
    bnt::bind_forward(m);
    bnt::bind_attributions(m);
    bnt::bind_settings(m);
    bnt::bind_data(m);
    bnt::bind_job(m);
    bnt::bind_training(m);
    bnt::bind_csv(m);
    bnt::bind_growth(m);
    m.def(
        "engine", [] { return std::string(bnt::engine().name); },
        "Return the instruction set in use.");
    m.def("engines", &bnt::engine_names,
          "Return the instruction sets that this processor runs, widest first.");
    m.def("use_engine", &bnt::use_engine, "name"_a,
          "Use another instruction set; 'auto' is the widest.");
    m.def("available_processors", &bnt::available_processors,
          "Return the number of processors that this process may use.");
}
