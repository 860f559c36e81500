// One row at a time: the chain of levels, forward and back, with the nodes of a level in the
// vector lanes. This is the inner loop of the paper's online training and of predicting a
// single row.
#pragma once

#include "../mathematics/activations.hpp"
#include "../mathematics/memory.hpp"

namespace bnt::BNT_ISA {

template <class T>
class OneRow {
    static constexpr int W = Simd<T>::lanes;

  public:
    explicit OneRow(const Tree& t) : t_(t), memory_(room(t)) {
        const size_t levels = size_t(t.n_nodes) + size_t(W) * (t.n_levels + 1);
        h_ = memory_.get();
        above_ = h_ + levels;
        x_ = above_ + t.n_nodes + W;
        phi_stride_ = int(levels);
        if (has_extra(t)) {
            sums_ = x_ + t.n_inputs + W;
            phi_ = sums_ + levels;
        }
    }

    T* x() { return x_; }
    T* outputs() { return h_; }

    void forward(Weights<const T> w) {
        if (t_.n_phi) spread_phi(w.phi);
        for (int level = t_.n_levels - 1; level >= 0; --level) {
            const int first = t_.level_start[level], last = t_.level_start[level + 1];
            T *h = values(level), *below = values(level + 1);
            for (int j = first; j < last; ++j) {
                T z = w.bias[j];
                for (int l = t_.leaf_start[j]; l < t_.leaf_start[j + 1]; ++l)
                    z = multiply_add(w.leaf[l], x_[t_.leaf_input[l]], z);
                for (int c = t_.child_start[j]; c < t_.child_start[j + 1]; ++c)
                    z = multiply_add(w.edge[c], below[c], z);
                h[j] = z;
            }
            for_nodes(level, [&](auto tag, int j, int, auto put) {
                using A = typename decltype(tag)::type;
                const Vec<T> z = load(h + j);
                if constexpr (std::is_same_v<A, Called>) {
                    if (sums_) put(sums_ + level * W + j, z);
                    alignas(Vec<T>) T value[W];
                    store(value, z);
                    called_values<T>(tag.code, phi_of(level, j), phi_stride_, 1, value);
                    put(h + j, load(value));
                } else put(h + j, A::template value<T>(z, Phi<T>{}));
            });
        }
    }

    // slopes: the derivatives of the loss by the outputs, with room for a vector behind them.
    // g.bias is where the deltas live.
    void backward(Weights<const T> w, const T* slopes, Weights<T> g) {
        level_backward(0, slopes, nullptr, g);
        for (int level = 1; level < t_.n_levels; ++level) {
            const int first = t_.level_start[level], last = t_.level_start[level + 1];
            T* above = above_ - first;
            for (int c = first; c < last; ++c) above[c] = g.bias[t_.parent[c]];
            level_backward(level, above, w.edge, g);
        }
        store(g.bias + t_.n_nodes, Vec<T>{});  // clears what the last vectors wrote beyond the end
        store(g.edge + t_.n_nodes, Vec<T>{});
        for (int l = 0; l < t_.n_leaves; ++l)
            g.leaf[l] = g.bias[t_.leaf_parent[l]] * x_[t_.leaf_input[l]];
    }

  private:
    // Values of a level's nodes, indexed by node. A level starts W places after the end of the
    // one before, so that the last vector of one never reaches into the next.
    T* values(int level) { return h_ + level * W; }

    static bool has_extra(const Tree& t) { return t.keeps_sums || t.n_phi; }

    static size_t room(const Tree& t) {
        const size_t levels = size_t(t.n_nodes) + size_t(W) * (t.n_levels + 1);
        return levels * (has_extra(t) ? 4 : 1) + t.n_nodes + t.n_inputs + 2 * size_t(W);
    }

    // The deltas of a level, and the gradients that follow from them. Outputs have no edge.
    BNT_NOINLINE void level_backward(int level, const T* above, const T* edges, Weights<T> g) {
        const T* h = values(level);
        for_nodes(level, [&](auto tag, int c, int n, auto put) {
            using A = typename decltype(tag)::type;
            const Vec<T> delta = load(above + c), value = load(h + c);
            const Vec<T> edge = edges ? load(edges + c) : broadcast<T>(1);
            if (edges) put(g.edge + c, delta * value);
            Vec<T> slope;
            Phi<T> by_phi;
            if constexpr (std::is_same_v<A, Called>)
                called_slopes<T>(tag.code, phi_of(level, c), phi_stride_, 1, sums_ + level * W + c,
                                 h + c, &slope, t_.phi_is_trained ? &by_phi : nullptr);
            else slope = A::template slope<T>(Vec<T>{}, value, Phi<T>{});
            // in this order, as in ShuffledRow: where the slope is 0, the product cannot overflow
            put(g.bias + c, (slope * edge) * delta);
            if constexpr (std::is_same_v<A, Called>)
                if (t_.phi_is_trained) put_phi(c, n, by_phi, edge * delta, g);
        });
    }

    void put_phi(int first, int n, Phi<T> slope, Vec<T> by_value, Weights<T> g) {
        T by[2][W];
        store(by[0], slope.a * by_value);
        store(by[1], slope.b * by_value);
        for (int i = 0; i < n; ++i)
            for (int p = 0; p < n_parameters(t_, first + i); ++p)
                g.phi[t_.phi_start[first + i] + p] = by[p][i];
    }

    // Puts the parameters of each node where its value is, so that vectors of nodes find them.
    void spread_phi(const T* phi) {
        for (int level = 0; level < t_.n_levels; ++level)
            for (int j = t_.level_start[level]; j < t_.level_start[level + 1]; ++j)
                for (int p = t_.phi_start[j]; p < t_.phi_start[j + 1]; ++p)
                    phi_[(p - t_.phi_start[j]) * phi_stride_ + level * W + j] = phi[p];
    }

    // The first parameters of the nodes from j on; the second ones follow after phi_stride_.
    BNT_INLINE const T* phi_of(int level, int j) const { return phi_ + level * W + j; }

    // Calls f(activation, j, n, put) for vectors of n nodes j, j+1, ... of a level. Where the
    // activations of a level differ, the vectors advance by one and `put` keeps one lane.
    template <class F>
    BNT_INLINE void for_nodes(int level, F&& f) {
        const int first = t_.level_start[level], last = t_.level_start[level + 1];
        const int code = level == 0 ? t_.output_activation : t_.hidden_activation;
        if (code != kMixed) {
            with_activation(code, [&](auto tag) {
                for (int j = first; j < last; j += W)
                    f(tag, j, last - j < W ? last - j : W, [](T* p, Vec<T> v) { store(p, v); });
            });
            return;
        }
        for (int j = first; j < last; ++j)
            with_activation(t_.activation[j],
                            [&](auto tag) { f(tag, j, 1, [](T* p, Vec<T> v) { *p = v[0]; }); });
    }

    const Tree& t_;
    Buffer<T> memory_;
    T *h_, *above_, *x_, *sums_ = nullptr, *phi_ = nullptr;
    int phi_stride_;
};

}  // namespace bnt::BNT_ISA
