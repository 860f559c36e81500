// The value of every function node, for a block of R rows: rows run in the vector lanes.
#pragma once

#include "activations.hpp"
#include "memory.hpp"

namespace bnt::BNT_ISA {

// The weighted sum of node j; h has the values of its children.
template <class T, int R>
BNT_INLINE void weighted_sum(const Tree& t, Weights<const T> w, const T* x, const T* h, int j,
                             Vec<T>* z) {
    constexpr int W = Simd<T>::lanes, V = R / W;
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
}

// x [n_inputs][R] -> h [n_nodes][R]. Children stand after their parents, so going backwards
// every child is known before it is needed. Where sums is given, the weighted sums of nodes
// whose backward pass needs them go there.
template <class T, int R>
void forward_block(const Tree& t, Weights<const T> w, const T* x, T* h, T* sums = nullptr) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = t.n_nodes - 1; j >= 0; --j) {
        Vec<T> z[V];
        weighted_sum<T, R>(t, w, x, h, j, z);
        T* value = h + size_t(j) * R;
        Activations::with(t.activation[j], [&](auto tag) {
            using A = typename decltype(tag)::type;
            const Phi<T> phi = node_phi<A>(t, w.phi, j);
            for (int v = 0; v < V; ++v) store(value + v * W, A::template value<T>(z[v], phi));
            if constexpr (A::keeps_sum)
                if (sums)
                    for (int v = 0; v < V; ++v) store(sums + size_t(j) * R + v * W, z[v]);
        });
    }
}

}  // namespace bnt::BNT_ISA
