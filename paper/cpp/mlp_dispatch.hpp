// Which instruction set trains perceptrons.
#pragma once

#include "instruction_sets.hpp"
#include "mlp.hpp"

namespace bnt {

using MlpTraining = MlpOutcome (*)(const MlpTask&, const Hooks&);

// The kernels that this processor runs, and the one in use.
InstructionSets<MlpTraining>& mlp_trainings();

}  // namespace bnt
