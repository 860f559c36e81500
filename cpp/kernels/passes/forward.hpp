// The value of every function node, for a block of R rows: rows run in the vector lanes.
#pragma once

#include "../mathematics/activations.hpp"
#include "../mathematics/memory.hpp"

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

// Whether nodes j .. j + N - 1 have the same activation.
template <int N>
BNT_INLINE bool same_activation(const Tree& t, int j) {
    bool same = true;
    for (int i = 1; i < N; ++i) same &= t.activation[j + i] == t.activation[j];
    return same;
}

// The weighted sums of nodes j .. j + N - 1, none of which is a child of another, node by node.
template <class T, int R, int N>
BNT_INLINE void weighted_sums(const Tree& t, Weights<const T> w, const T* x, const T* h, int j,
                              Vec<T>* z) {
    constexpr int V = R / Simd<T>::lanes;
    for (int i = 0; i < N; ++i) weighted_sum<T, R>(t, w, x, h, j + i, z + i * V);
}

// The values of these nodes, of activation A, in place of their sums.
template <class A, class T, int R, int N>
BNT_INLINE void activate(const Tree& t, Weights<const T> w, T* h, T* sums, int j, Vec<T>* z) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    if constexpr (std::is_same_v<A, Tanh>) hyperbolic_tangents<T, N * V>(z);
    else if constexpr (!std::is_same_v<A, Called>)
        for (int v = 0; v < N * V; ++v) z[v] = A::template value<T>(z[v], Phi<T>{});
    for (int v = 0; v < N * V; ++v) store(h + size_t(j) * R + v * W, z[v]);
    if constexpr (std::is_same_v<A, Called>) {
        if (sums)
            for (int v = 0; v < N * V; ++v) store(sums + size_t(j) * R + v * W, z[v]);
        for (int i = 0; i < N; ++i)
            called_values<T>(t.activation[j], w.phi + t.phi_start[j + i], 1, V,
                             h + size_t(j + i) * R);
    }
}

// Both, for nodes of one activation. The sums are compiled once, before the choice of the
// activation; but eight vectors do not stay in registers meanwhile.
template <class T, int R, int N>
BNT_INLINE void forward_nodes(const Tree& t, Weights<const T> w, const T* x, T* h, T* sums, int j) {
    constexpr int V = R / Simd<T>::lanes, M = N * V;
    if constexpr (V >= 8) {
        with_activation(t.activation[j], [&](auto tag) BNT_INLINE_LAMBDA {
            Vec<T> z[M];
            weighted_sums<T, R, N>(t, w, x, h, j, z);
            activate<typename decltype(tag)::type, T, R, N>(t, w, h, sums, j, z);
        });
    } else {
        Vec<T> z[M];
        weighted_sums<T, R, N>(t, w, x, h, j, z);
        with_activation(t.activation[j], [&](auto tag) BNT_INLINE_LAMBDA {
            activate<typename decltype(tag)::type, T, R, N>(t, w, h, sums, j, z);
        });
    }
}

// x [n_inputs][R] -> h [n_nodes][R]. Children stand after their parents, so going backwards
// every child is known before it is needed. Where sums is given, the weighted sums of nodes
// whose backward pass needs them go there.
//
// An activation is a chain of operations that wait for each other: nodes are taken several at a
// time, so that there is always another chain to work on.
template <class T, int R>
BNT_NOINLINE void forward_block(const Tree& t, Weights<const T> w, const T* x, T* h,
                                T* sums = nullptr) {
    constexpr int V = R / Simd<T>::lanes, N = V < 4 ? 4 / V : 1;
    for (int j = t.n_nodes; j > 0;) {
        const int first = j - N;
        const bool alike = first >= 0 && t.child_start[first] >= j && same_activation<N>(t, first);
        j = alike ? first : j - 1;
        if (alike) forward_nodes<T, R, N>(t, w, x, h, sums, j);
        else forward_nodes<T, R, 1>(t, w, x, h, sums, j);
    }
}

}  // namespace bnt::BNT_ISA
