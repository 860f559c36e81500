// Training of a multilayer perceptron.
#pragma once

#include "../engine.hpp"
#include "../mlp.hpp"

namespace bnt::BNT_ISA {

MlpOutcome train_mlp(const MlpTask& task, const Hooks& hooks);

}  // namespace bnt::BNT_ISA
