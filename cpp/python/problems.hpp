// Error reports of functions that read tables.
#pragma once

#include <string>

#include "arrays.hpp"

namespace bnt {

// (kind, row, column) of the first problem, or None.
inline nb::object described(const ForwardProblem& problem) {
    if (problem.input.row >= 0)
        return nb::make_tuple("input", problem.input.row, problem.input.column);
    if (problem.output >= 0) return nb::make_tuple("output", problem.output, 0);
    return nb::none();
}

[[noreturn]] inline void fail_features(const Table& table, const Tree& tree) {
    fail("X has " + std::to_string(table.n_inputs()) + (table.lines ? " inputs" : " features") +
         ", but the tree has " + std::to_string(tree.n_inputs) + " inputs");
}

}  // namespace bnt
