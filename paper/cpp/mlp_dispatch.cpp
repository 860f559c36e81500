#include "mlp_dispatch.hpp"

namespace bnt {

InstructionSets<MlpTraining>& mlp_trainings() {
    static InstructionSets<MlpTraining> trainings{
#if defined(BNT_AVX512)
        {"avx512", &runs_avx512, [] { return &avx512::train_mlp; }},
#endif
#if defined(BNT_AVX2)
        {"avx2", &runs_avx2, [] { return &avx2::train_mlp; }},
#endif
        {"baseline", &runs_baseline, [] { return &baseline::train_mlp; }},
    };
    return trainings;
}

}  // namespace bnt
