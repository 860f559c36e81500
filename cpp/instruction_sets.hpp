// The choice among code that was compiled once per instruction set.
#pragma once

#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace bnt {

#if defined(BNT_AVX512)
inline bool runs_avx512() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

#if defined(BNT_AVX2)
inline bool runs_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

inline bool runs_baseline() { return true; }

// `Code` is a pointer to the code that was compiled for a set.
template <class Code>
class InstructionSets {
  public:
    struct Set {
        const char* name;
        bool (*is_supported)();
        Code (*code)();  // called only where the processor supports the set
    };

    // The widest set comes first; those that this processor does not run are left out.
    InstructionSets(std::initializer_list<Set> sets) {
        for (const Set& set : sets)
            if (set.is_supported()) {
                names_.push_back(set.name);
                codes_.push_back(set.code());
            }
        use("auto");
    }

    Code code() const { return in_use_.load(std::memory_order_relaxed); }
    const std::vector<std::string>& names() const { return names_; }

    // Use another set, by its name; "auto" is the widest.
    void use(const std::string& name) {
        for (size_t i = 0; i < names_.size(); ++i)
            if (name == names_[i] || name == "auto") {
                in_use_ = codes_[i];
                return;
            }
        throw std::invalid_argument("no instruction set '" + name + "' on this processor");
    }

  private:
    std::vector<std::string> names_;
    std::vector<Code> codes_;
    std::atomic<Code> in_use_;
};

}  // namespace bnt
