// Which instruction set is used.
#pragma once

#include <string>
#include <vector>

#include "engine.hpp"

namespace bnt {

// The set in use: the widest that this processor runs, or the one that `use_engine` named. The
// widest was the fastest for every operation on all processors measured (benchmarks/README.md), so
// there is one choice for all of them.
const Engine& engine();

// The names of the sets that this processor runs, widest first.
std::vector<std::string> engine_names();

// Use another set, by its name; "auto" is the widest.
void use_engine(const std::string& name);

}  // namespace bnt
