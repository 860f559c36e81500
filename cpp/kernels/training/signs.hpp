// Weights with a prescribed sign: after each update, those on the wrong side of 0 are set to 0.
#pragma once

#include "../mathematics/memory.hpp"

namespace bnt::BNT_ISA {

template <class T>
class SignProjection {
  public:
    SignProjection(const Tree& t, const Layout& layout, const Signs& signs) {
        if (!signs.node) return;
        lowest_ = Buffer<T>(layout.size);
        highest_ = Buffer<T>(layout.size);
        for (int i = 0; i < layout.size; ++i) lowest_[i] = -INFINITY, highest_[i] = INFINITY;
        // The sign of the effect of a node on the prediction; parents come before their children.
        Buffer<int8_t> effect(t.n_nodes);
        for (int j = 0; j < t.n_nodes; ++j) {
            const int parent = t.parent[j];
            effect[j] = int8_t(signs.node[j] * (parent < 0 ? 1 : effect[parent]));
            if (parent >= 0) restrict_to(signs.node[j], layout.edge + j - t.n_outputs);
        }
        for (int l = 0; l < t.n_leaves; ++l)
            restrict_to(signs.input[t.leaf_input[l]] * effect[t.leaf_parent[l]], layout.leaf + l);
    }

    // NaN stays NaN, so that divergence is noticed.
    void project(T* theta) const {
        for (size_t i = 0; i < lowest_.size(); i += Simd<T>::lanes) {
            const Vec<T> w = load(theta + i), low = load(lowest_.get() + i),
                         high = load(highest_.get() + i);
            const Vec<T> raised = w < low ? low : w;
            store(theta + i, raised > high ? high : raised);
        }
    }

  private:
    void restrict_to(int sign, int at) {
        if (sign > 0) lowest_[at] = 0;
        if (sign < 0) highest_[at] = 0;
    }

    Buffer<T> lowest_, highest_;  // empty where nothing is constrained
};

}  // namespace bnt::BNT_ISA
