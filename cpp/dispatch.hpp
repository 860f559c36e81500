// Which instruction set runs which operation.
#pragma once

#include <string>
#include <vector>

#include "engine.hpp"

namespace bnt {

enum class Operation { forward, online, batch };

// The set for an operation on trees of so many weights; the same on every call.
const Engine& engine_for(Operation operation, bool single_precision, int n_weights);

// The names of the sets that this processor runs, best first.
std::vector<std::string> engine_names();

// The set that is used for everything, or "auto".
std::string engine_in_use();

// Use one set for everything, or choose one for each operation ("auto").
void use_engine(const std::string& name);

}  // namespace bnt
