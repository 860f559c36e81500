// The lists of activations, losses and optimizers as plain data. Compiled once, for every
// processor.
#include <algorithm>

#include "mathematics/activations.hpp"
#include "mathematics/losses.hpp"
#include "training/optimizers.hpp"

namespace bnt {

namespace {

template <class X>
Entry entry() {
    return {X::name, X::title, X::about, {X::parameters.begin(), X::parameters.end()}};
}

Registry read_lists() {
    using namespace BNT_ISA;
    Registry all;
    Activations::each([&](auto tag) {
        using A = typename decltype(tag)::type;
        static_assert(A::parameters.size() <= kMaxActivationParameters);
        all.activations.push_back(entry<A>());
    });
    Losses::each([&](auto tag) {
        using L = typename decltype(tag)::type;
        all.losses.push_back(entry<L>());
        all.losses.back().compares = L::compares;
        all.losses.back().needs_linear_outputs = L::needs_linear_outputs;
        if constexpr (requires { L::lowest_target; })
            all.losses.back().lowest_target = L::lowest_target;
        if constexpr (requires { L::highest_target; })
            all.losses.back().highest_target = L::highest_target;
    });
    Optimizers::each([&](auto tag) {
        using O = typename decltype(tag)::type;
        static_assert(O::parameters.size() <=
                      std::extent_v<decltype(OptimizerSettings::parameters)>);
        all.optimizers.push_back(entry<O>());
        all.optimizers.back().n_state = O::n_state;
    });
    return all;
}

}  // namespace

const Registry& registry() {
    static const Registry all = read_lists();
    return all;
}

bool keeps_sum(int activation_code) {
    bool keeps = false;
    BNT_ISA::Activations::with(activation_code,
                               [&](auto tag) { keeps = decltype(tag)::type::keeps_sum; });
    return keeps;
}

void activation_values(int code, const double* parameters, int n, double* values) {
    constexpr int W = BNT_ISA::Simd<double>::lanes;
    double some[W] = {};
    for (int i = 0; i < n; i += W) {
        const int m = std::min(W, n - i);
        std::copy_n(values + i, m, some);
        BNT_ISA::called_values<double>(code, parameters, 1, 1, some);
        std::copy_n(some, m, values + i);
    }
}

}  // namespace bnt
