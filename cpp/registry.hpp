// Registration of activations, losses and optimizers.
//
// Each is one struct (`activations.hpp`, `losses.hpp` and `optimizers.hpp` of the kernels) with
// these members:
//
//     static constexpr const char* name = "huber";    // as users write it
//     static constexpr const char* title = "Huber";   // the Python class
//     static constexpr const char* about = "One line of documentation.";
//     static constexpr std::array<Parameter, 1> parameters{{{"delta", 1.0, Range::positive}}};
//
// and is listed once at the end of its header. Python reads names, parameters and order from here;
// nothing is declared a second time.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace bnt {

// Which values a parameter may have; always finite.
enum class Range { any, nonzero, positive, fraction, probability };

constexpr const char* text_of(Range range) {
    switch (range) {
        case Range::nonzero: return "nonzero";
        case Range::positive: return "positive";
        case Range::fraction: return "fraction";        // 0 <= x < 1
        case Range::probability: return "probability";  // 0 < x < 1
        default: return "any";
    }
}

struct Parameter {
    const char* name;
    double standard;  // the default
    Range range = Range::any;
    bool is_list = false;  // one or more numbers; must be the only parameter
};

constexpr std::array<Parameter, 0> kNoParameters{};

// Kinds of targets that the outputs of a tree are compared with.
enum class Compares {
    labels,  // class indices only
    values,  // one number for each output
    either,  // values, or class indices as rows of 0 and 1
    shared,  // one number for all outputs
};

struct Entry {
    const char* name;
    const char* title;
    const char* about;
    std::vector<Parameter> parameters;
    Compares compares = Compares::values;  // losses
    bool needs_linear_outputs = false;     // losses
    double lowest_target = -INFINITY, highest_target = INFINITY;  // losses that restrict targets
    int n_state = 0;                       // optimizers: numbers remembered per weight
};

struct Registry {
    std::vector<Entry> activations, losses, optimizers;
};

// Whether the code of an entry is compiled. BNT_ONLY lists names, each between two blanks, for
// programs in which nothing else is used and size matters; all of them keep their positions.
#if defined(BNT_ONLY)
constexpr bool is_listed(std::string_view name) {
    const std::string_view names = BNT_ONLY;
    for (size_t at = names.find(name); at != names.npos; at = names.find(name, at + 1))
        if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
    return false;
}
template <class X>
constexpr bool is_built = is_listed(X::name);
#else
template <class X>
constexpr bool is_built = true;
#endif

// A list of types, called by position: with(code, f) calls f(Tag<the type at code>).
template <class X>
struct Tag {
    using type = X;
};

template <class... X>
struct TypeList {
    static constexpr int size = sizeof...(X);

    template <class F>
    static constexpr void each(F&& f) {
        (f(Tag<X>{}), ...);
    }

    // A switch over the list: the code inside f is compiled once for each type.
    template <class F>
    [[gnu::always_inline]] static inline void with(int code, F&& f) {
        int at = 0;
        (void)((code == at++ ? (call<X>(f), true) : false) || ...);
    }

  private:
    template <class X1, class F>
    [[gnu::always_inline]] static inline void call(F&& f) {
        if constexpr (is_built<X1>) f(Tag<X1>{});
    }
};

}  // namespace bnt
