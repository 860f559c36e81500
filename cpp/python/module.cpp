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
    bnt::bind_training(m);
    m.def("engine", &bnt::engine_in_use,
          "Return the instruction set in use for everything, or 'auto'.");
    m.def("engines", &bnt::engine_names,
          "Return the instruction sets that this processor runs, best first.");
    m.def("engine_for", [](const std::string& operation, bool single_precision, int n_weights) {
        const auto op = operation == "forward" ? bnt::Operation::forward
                        : operation == "online" ? bnt::Operation::online
                                                : bnt::Operation::batch;
        return std::string(bnt::engine_for(op, single_precision, n_weights).name);
    }, "operation"_a, "single_precision"_a, "n_weights"_a,
          "Return the instruction set of an operation: 'forward', 'online' or 'batch'.");
    m.def("use_engine", &bnt::use_engine, "name"_a,
          "Use one instruction set for everything; 'auto' chooses one for each operation.");
    m.def("available_processors", &bnt::available_processors,
          "Return the number of processors that this process may use.");
}
