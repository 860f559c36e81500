// The choice among code that was compiled once per instruction set.
#pragma once

#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>
#if defined(BNT_AVX2) || defined(BNT_AVX512)
#include <cpuid.h>
#endif

namespace bnt {

#if defined(BNT_AVX2) || defined(BNT_AVX512)
// What the processor has, and which registers the operating system saves. The built-in functions of
// the compilers for this need a run-time library that not every toolchain links.
struct Processor {
    unsigned features_1c = 0, features_7b = 0, saved = 0;

    Processor() {
        unsigned a, b, c, d;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return;
        features_1c = c;
        unsigned high;
        __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) features_7b = b;
    }

    bool runs(unsigned of_1c, unsigned of_7b, unsigned registers) const {
        return (features_1c & of_1c) == of_1c && (features_7b & of_7b) == of_7b &&
               (saved & registers) == registers;
    }
};

constexpr unsigned AVX_REGISTERS = 0x06, AVX512_REGISTERS = 0xe6;
#endif

#if defined(BNT_AVX512)
inline bool runs_avx512() {
    return Processor().runs(bit_FMA, bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL,
                            AVX512_REGISTERS);
}
#endif

#if defined(BNT_AVX2)
inline bool runs_avx2() { return Processor().runs(bit_FMA, bit_AVX2, AVX_REGISTERS); }
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
