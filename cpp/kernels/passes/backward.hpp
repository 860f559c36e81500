// The gradient of a block of R rows.
#pragma once

#include "../mathematics/activations.hpp"
#include "../mathematics/memory.hpp"

namespace bnt::BNT_ISA {

// On entry h holds the node values, sums the weighted sums of the nodes that keep theirs, and
// slopes [n_outputs][R] the derivatives of the loss by the outputs. Each node's value is read for
// the last time when its delta is known, so the delta takes its place. The gradient is written to
// g, or added.
//
// Sums over the R rows are the costly part: they are taken four at a time (sum_each_of_four),
// leaves in their own order, following the nodes whose deltas are known.
template <class T, int R, bool Add>
class BackwardBlock {
    static constexpr int W = Simd<T>::lanes, V = R / W;

    static BNT_INLINE void put(T& where, T value) { where = Add ? where + value : value; }

    // All four at once where there are four: one by one, they are compiled as a call of memcpy.
    static BNT_INLINE void put_sums(T* where, const Vec<T> (&parts)[4], int n) {
        T sum[4];
        sum_each_of_four<T>(parts, sum);
        if (n == 4)
            for (int i = 0; i < 4; ++i) put(where[i], sum[i]);
        else
            for (int i = 0; i < 3; ++i)
                if (i < n) put(where[i], sum[i]);
    }

  public:
    static BNT_NOINLINE void run(const Tree& t, Weights<const T> w, const T* x, const T* slopes,
                                 T* h, const T* sums, Weights<T> g) {
        for (int j = 0; j < t.n_outputs; j += 4) {
            const int n = t.n_outputs - j < 4 ? t.n_outputs - j : 4;
            Vec<T> by_edge[4] = {}, by_bias[4] = {};
            for (int i = 0; i < n; ++i)
                node(t, w, slopes + size_t(j + i) * R, T(1), h, sums, j + i, by_edge[i], by_bias[i],
                     g);
            put_sums(g.bias + j, by_bias, n);
        }
        int leaf = leaves(t, x, h, g, 0, t.leaf_start[t.n_outputs]);
        for (int j = t.n_outputs; j < t.n_nodes; j += 4) {
            const int n = t.n_nodes - j < 4 ? t.n_nodes - j : 4;
            Vec<T> by_edge[4] = {}, by_bias[4] = {};
            for (int i = 0; i < n; ++i)
                node(t, w, h + size_t(t.parent[j + i]) * R, w.edge[j + i], h, sums, j + i,
                     by_edge[i], by_bias[i], g);
            put_sums(g.edge + j, by_edge, n);
            put_sums(g.bias + j, by_bias, n);
            leaf = leaves(t, x, h, g, leaf, t.leaf_start[j + n]);
        }
        for (; leaf < t.n_leaves; leaf += 4)
            four_leaves(t, x, h, g, leaf, t.n_leaves - leaf < 4 ? t.n_leaves - leaf : 4);
    }

  private:
    // One node's delta, and the row-wise products whose sums are its gradients. `above` is the
    // delta of its parent, or the slope of the loss by an output.
    static BNT_INLINE void node(const Tree& t, Weights<const T> w, const T* above, T weight, T* h,
                                const T* sums, int j, Vec<T>& by_edge, Vec<T>& by_bias,
                                Weights<T> g) {
        T* node = h + size_t(j) * R;
        with_activation(t.activation[j], [&](auto tag) BNT_INLINE_LAMBDA {
            using A = typename decltype(tag)::type;
            const NodeSlopes<A, T, V> slopes(t, w.phi, j, sums + size_t(j) * R, node);
            if constexpr (std::is_same_v<A, Called>)
                if (t.phi_is_trained) put_phi(t, slopes, above, weight, j, g);
            for (int v = 0; v < V; ++v) {
                const Vec<T> delta_above = load(above + v * W), value = load(node + v * W);
                const Vec<T> delta = slopes.delta(v, value, weight, delta_above);
                by_edge += delta_above * value;
                by_bias += delta;
                store(node + v * W, delta);
            }
        });
    }

    // The gradients by the parameters of a node's activation.
    static BNT_NOINLINE void put_phi(const Tree& t, const NodeSlopes<Called, T, V>& slopes,
                                     const T* above, T weight, int j, Weights<T> g) {
        Vec<T> by_phi[4] = {};
        for (int v = 0; v < V; ++v) {
            const Vec<T> by_value = weight * load(above + v * W);
            by_phi[0] += slopes.by_phi(v).a * by_value;
            by_phi[1] += slopes.by_phi(v).b * by_value;
        }
        T total[4];
        sum_each_of_four<T>(by_phi, total);
        for (int p = 0; p < n_parameters(t, j); ++p) put(g.phi[t.phi_start[j] + p], total[p]);
    }

    static int leaves(const Tree& t, const T* x, const T* h, Weights<T> g, int leaf, int n_ready) {
        for (; leaf + 4 <= n_ready; leaf += 4) four_leaves(t, x, h, g, leaf, 4);
        return leaf;
    }

    static BNT_INLINE void four_leaves(const Tree& t, const T* x, const T* h, Weights<T> g,
                                       int leaf, int n) {
        Vec<T> product[4] = {};
        for (int i = 0; i < 4; ++i) {
            const int l = i < n ? leaf + i : leaf;
            const T* delta = h + size_t(t.leaf_parent[l]) * R;
            const T* column = x + size_t(t.leaf_input[l]) * R;
            for (int v = 0; v < V; ++v) product[i] += load(delta + v * W) * load(column + v * W);
        }
        put_sums(g.leaf + leaf, product, n);
    }
};

// Replaces the values of the selected nodes by their deltas, without the gradient. The parent of a
// selected node has to be selected too.
template <class T, int R>
BNT_NOINLINE void deltas_block(const Tree& t, Weights<const T> w, const T* slopes, T* h,
                               const T* sums, const uint8_t* selected) {
    constexpr int W = Simd<T>::lanes, V = R / W;
    for (int j = 0; j < t.n_nodes; ++j) {
        if (!selected[j]) continue;
        const bool is_output = j < t.n_outputs;
        const T* above = is_output ? slopes + size_t(j) * R : h + size_t(t.parent[j]) * R;
        const T weight = is_output ? T(1) : w.edge[j];
        T* node = h + size_t(j) * R;
        with_activation(t.activation[j], [&](auto tag) BNT_INLINE_LAMBDA {
            using A = typename decltype(tag)::type;
            const NodeSlopes<A, T, V> slopes(t, w.phi, j, sums + size_t(j) * R, node);
            for (int v = 0; v < V; ++v)
                store(node + v * W,
                      slopes.delta(v, load(node + v * W), weight, load(above + v * W)));
        });
    }
}

}  // namespace bnt::BNT_ISA
