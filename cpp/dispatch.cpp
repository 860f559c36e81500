#include "dispatch.hpp"

#include <atomic>
#include <stdexcept>

namespace bnt {

namespace {

struct Choice {
    const char* name;
    const Engine& (*engine)();
    bool (*supported)();
};

const Choice kChoices[] = {
#if defined(BNT_AVX512)
    {"avx512", &engine_avx512,
     [] {
         __builtin_cpu_init();
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
     }},
#endif
#if defined(BNT_AVX2)
    {"avx2", &engine_avx2,
     [] {
         __builtin_cpu_init();
         return bool(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
     }},
#endif
    {"baseline", &engine_baseline, [] { return true; }},
};

const Engine* engine_called(const std::string& name) {
    for (const Choice& choice : kChoices)
        if (name == choice.name && choice.supported()) return &choice.engine();
    return nullptr;
}

std::atomic<const Engine*>& in_use() {
    static std::atomic<const Engine*> engine{engine_called(engine_names().front())};
    return engine;
}

}  // namespace

const Engine& engine() { return *in_use().load(std::memory_order_relaxed); }

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const Choice& choice : kChoices)
        if (choice.supported()) names.push_back(choice.name);
    return names;
}

void use_engine(const std::string& name) {
    const Engine* wanted = engine_called(name == "auto" ? engine_names().front() : name);
    if (!wanted) throw std::invalid_argument("no instruction set '" + name + "' on this processor");
    in_use() = wanted;
}

}  // namespace bnt
