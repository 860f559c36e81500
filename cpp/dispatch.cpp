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
#if defined(BNT_X86)
    {"avx512", &engine_avx512,
     [] {
         __builtin_cpu_init();
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
     }},
    {"avx2", &engine_avx2,
     [] {
         __builtin_cpu_init();
         return bool(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
     }},
#endif
    {"baseline", &engine_baseline, [] { return true; }},
};

std::atomic<const Engine*> forced{nullptr};

const Engine* engine_called(const std::string& name) {
    for (const Choice& choice : kChoices)
        if (name == choice.name && choice.supported()) return &choice.engine();
    return nullptr;
}

const Engine& best() {
    static const Engine* const found = engine_called(engine_names().front());
    return *found;
}

}  // namespace

const Engine& engine_for(Operation, bool, int) {
    if (const Engine* one = forced) return *one;
    return best();
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const Choice& choice : kChoices)
        if (choice.supported()) names.push_back(choice.name);
    return names;
}

std::string engine_in_use() {
    const Engine* one = forced;
    return one ? one->name : "auto";
}

void use_engine(const std::string& name) {
    const Engine* one = name == "auto" ? nullptr : engine_called(name);
    if (!one && name != "auto")
        throw std::invalid_argument("no instruction set '" + name + "' on this processor");
    forced = one;
}

}  // namespace bnt
