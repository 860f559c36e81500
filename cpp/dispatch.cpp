#include "dispatch.hpp"

#include "instruction_sets.hpp"

namespace bnt {

namespace {

InstructionSets<const Engine*>& sets() {
    static InstructionSets<const Engine*> sets{
#if defined(BNT_AVX512)
        {"avx512", &runs_avx512, [] { return &engine_avx512(); }},
#endif
#if defined(BNT_AVX2)
        {"avx2", &runs_avx2, [] { return &engine_avx2(); }},
#endif
        {"baseline", &runs_baseline, [] { return &engine_baseline(); }},
    };
    return sets;
}

}  // namespace

const Engine& engine() { return *sets().code(); }

std::vector<std::string> engine_names() { return sets().names(); }

void use_engine(const std::string& name) { sets().use(name); }

}  // namespace bnt
