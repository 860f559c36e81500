// The value of every function node, for a block of R rows: rows run in the vector lanes.
#pragma once

#include "activations.hpp"
#include "memory.hpp"

namespace bnt::BNT_ISA {

// x [n_inputs][R] -> h [n_nodes][R]. Children stand after their parents, so going backwards
// every child is known before it is needed.
template <class T, int R>
void forward_block(const Tree& t, Weights<const T> w, const T* x, T* h) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = t.n_nodes - 1; j >= 0; --j) {
        Vec<T> z[V];
        for (int v = 0; v < V; ++v) z[v] = broadcast<T>(w.bias[j]);
        for (int l = t.leaf_start[j]; l < t.leaf_start[j + 1]; ++l) {
            const T weight = w.leaf[l];
            const T* column = x + size_t(t.leaf_input[l]) * R;
            for (int v = 0; v < V; ++v) z[v] += weight * load(column + v * W);
        }
        for (int c = t.child_start[j]; c < t.child_start[j + 1]; ++c) {
            const T weight = w.edge[c];
            const T* child = h + size_t(c) * R;
            for (int v = 0; v < V; ++v) z[v] += weight * load(child + v * W);
        }
        T* value = h + size_t(j) * R;
        with_activation(t.activation[j], [&](auto tag) {
            for (int v = 0; v < V; ++v)
                store(value + v * W, activate<T, decltype(tag)::value>(z[v]));
        });
    }
}

}  // namespace bnt::BNT_ISA
