// One row at a time: the chain of levels, forward and back, with the nodes of a level in the
// vector lanes. This is the inner loop of the paper's online training and of predicting a
// single row.
#pragma once

#include "activations.hpp"
#include "memory.hpp"

namespace bnt::BNT_ISA {

template <class T>
class OneRow {
    static constexpr int W = Simd<T>::lanes;

  public:
    explicit OneRow(const Tree& t) : t_(t), memory_(room(t)) {
        h_ = memory_.get();
        above_ = h_ + t.n_nodes + W * t.n_levels;
        x_ = above_ + t.n_nodes + W;
    }

    T* x() { return x_; }
    T* outputs() { return h_; }

    void forward(Weights<const T> w) {
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
            activate_level(level, h, first, last);
        }
    }

    // The outputs hold their deltas on entry. g.bias is where the deltas live.
    void backward(Weights<const T> w, Weights<T> g) {
        for (int k = 0; k < t_.n_outputs; ++k) g.bias[k] = h_[k];
        for (int level = 1; level < t_.n_levels; ++level) {
            const int first = t_.level_start[level], last = t_.level_start[level + 1];
            const T* h = values(level);
            T* above = above_ - first;
            for (int c = first; c < last; ++c) above[c] = g.bias[t_.parent[c]];
            for_nodes(level, first, last, [&](auto tag, int c, auto put) {
                const Vec<T> delta = load(above + c), value = load(h + c);
                put(g.edge + c, delta * value);
                put(g.bias + c, derivative<T, decltype(tag)::value>(value) *
                                    (load(w.edge + c) * delta));
            });
        }
        store(g.bias + t_.n_nodes, Vec<T>{});  // what the last vectors left behind the end
        store(g.edge + t_.n_nodes, Vec<T>{});
        for (int l = 0; l < t_.n_leaves; ++l)
            g.leaf[l] = g.bias[t_.leaf_parent[l]] * x_[t_.leaf_input[l]];
    }

  private:
    // Values of a level's nodes, indexed by node. A level starts W places after the end of the
    // one before, so that the last vector of one never reaches into the next.
    T* values(int level) { return h_ + level * W; }

    static size_t room(const Tree& t) {
        return size_t(2) * t.n_nodes + size_t(W) * (t.n_levels + 2) + t.n_inputs;
    }

    void activate_level(int level, T* h, int first, int last) {
        for_nodes(level, first, last, [&](auto tag, int j, auto put) {
            put(h + j, activate<T, decltype(tag)::value>(load(h + j)));
        });
    }

    // Calls f(activation, j, put) for vectors of nodes j, j+1, ... of a level. Where the
    // activations of a level differ, the vectors advance by one and `put` keeps one lane.
    template <class F>
    BNT_INLINE void for_nodes(int level, int first, int last, F&& f) {
        const int code = level == 0 ? t_.activation[0] : t_.hidden_activation;
        if (code != kMixed) {
            with_activation(code, [&](auto tag) {
                for (int j = first; j < last; j += W)
                    f(tag, j, [](T* p, Vec<T> v) { store(p, v); });
            });
            return;
        }
        for (int j = first; j < last; ++j)
            with_activation(t_.activation[j], [&](auto tag) {
                f(tag, j, [](T* p, Vec<T> v) { *p = v[0]; });
            });
    }

    const Tree& t_;
    Buffer<T> memory_;
    T *h_, *above_, *x_;
};

}  // namespace bnt::BNT_ISA
