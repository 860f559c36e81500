// One row at a time, for training on processors that can shuffle vectors.
#pragma once

#include "../mathematics/activations.hpp"
#include "../mathematics/vectors.hpp"

namespace bnt::BNT_ISA {

// The same as OneRow for training, where the processor can shuffle vectors: the children and leaves
// of each node are encoded once, so that a level is a few vector operations, and no vector is read
// soon after its numbers were written one by one.
template <class T>
class ShuffledRow {
    static constexpr int W = Simd<T>::lanes;
    using Pairs = typename VectorSums<T, 1>::Pairs;

  public:
    // Whether vectors can be shuffled, and are long enough to be worth it.
    static constexpr bool possible = kShuffleReach * Simd<T>::lanes >= 8;

    // Trees whose activations have parameters or keep their sums are left to OneRow.
    static bool fits(const Tree& t) { return !t.n_phi && !t.keeps_sums; }
    template <class A>
    static constexpr bool may_occur = A::parameters.size() == 0 && !A::keeps_sum;

    explicit ShuffledRow(const Tree& t)
        : t_(t), place_(places(t)), n_places_(place_.back() + 1),
          shuffle_inputs_(t.n_inputs <= 4 * W),  // with more, single loads are fewer
          leaf_inputs_(t.n_leaves, shuffle_inputs_ ? input_pairs() : Pairs{}),
          leaf_deltas_(t.n_leaves, leaf_pairs(false)), child_deltas_(n_places_, child_pairs(false)),
          leaf_sums_(n_places_, leaf_pairs(true)), child_sums_(n_places_, child_pairs(true)),
          memory_(size_t(3) * room(n_places_) + size_t(2) * room(t.n_leaves) + room(t.n_inputs)) {
        h_ = memory_.get();
        carried_ = h_ + room(n_places_);
        delta_ = carried_ + room(n_places_);
        leaf_x_ = delta_ + room(n_places_);
        leaf_ = leaf_x_ + room(t.n_leaves);
        x_ = leaf_ + room(t.n_leaves);
    }

    T* x() { return x_; }
    T* outputs() { return h_; }

    // The weights must lie as Layout has them: vectors are read over the ends of the parts.
    void forward(Weights<const T> w) {
        load_leaves();
        for (int l = 0; l < t_.n_leaves; l += W)
            store(leaf_ + l, load(w.leaf + l) * load(leaf_x_ + l));
        for (int level = t_.n_levels - 1; level >= 0; --level)
            for_vectors(level, [&](int j, int p, int n) {
                const Vec<T> alone = leaf_sums_.added(load(w.bias + j), p / W, leaf_);
                const Vec<T> z = child_sums_.added(alone, p / W, carried_);
                const Vec<T> value = by_activation(level, j, n, [&](auto tag) {
                    return decltype(tag)::type::template value<T>(z, Phi<T>{});
                });
                store(h_ + p, value);
                if (level > 0) store(carried_ + p, load(w.edge + j) * value);
            });
    }

    // slopes: the derivatives of the loss by the outputs.
    void backward(Weights<const T> w, const T* slopes, Weights<T> g) {
        for (int k = 0; k < t_.n_outputs; k += W) {
            const Vec<T> value = load(h_ + k);
            const Vec<T> slope = by_activation(0, k, t_.n_outputs - k, [&](auto tag) {
                return decltype(tag)::type::template slope<T>(Vec<T>{}, value, Phi<T>{});
            });
            const Vec<T> delta = slope * one_by_one(slopes + k, t_.n_outputs - k);
            store(delta_ + k, delta);
            store(g.bias + k, delta);
        }
        for (int level = 1; level < t_.n_levels; ++level)
            for_vectors(level, [&](int j, int p, int n) {
                const Vec<T> above = child_deltas_(p / W, delta_), value = load(h_ + p);
                const Vec<T> slope = by_activation(level, j, n, [&](auto tag) {
                    return decltype(tag)::type::template slope<T>(Vec<T>{}, value, Phi<T>{});
                });
                const Vec<T> delta = (slope * load(w.edge + j)) * above;
                store(delta_ + p, delta);
                store(g.edge + j, above * value);
                store(g.bias + j, delta);
            });
        store(g.bias + t_.n_nodes, Vec<T>{});  // clears what the last vectors wrote beyond the end
        store(g.edge + t_.n_nodes, Vec<T>{});
        for (int l = 0; l < t_.n_leaves; l += W)
            store(g.leaf + l, leaf_deltas_(l / W, delta_) * load(leaf_x_ + l));
    }

  private:
    // Whole vectors, and one more for shuffles that read two.
    static size_t room(int n) { return size_t(n + W - 1) / W * W + W; }

    // The place of a node in the arrays of values: every level starts at a whole vector.
    static std::vector<int> places(const Tree& t) {
        std::vector<int> place(t.n_nodes);
        int next = 0;
        for (int level = 0; level < t.n_levels; ++level) {
            next = (next + W - 1) / W * W;
            for (int j = t.level_start[level]; j < t.level_start[level + 1]; ++j) place[j] = next++;
        }
        return place;
    }

    Pairs input_pairs() const {
        Pairs pairs;
        for (int l = 0; l < t_.n_leaves; ++l) pairs.push_back({l, t_.leaf_input[l]});
        return pairs;
    }
    Pairs leaf_pairs(bool up) const {
        Pairs pairs;
        for (int l = 0; l < t_.n_leaves; ++l) {
            const int p = place_[t_.leaf_parent[l]];
            pairs.push_back(up ? std::pair(p, l) : std::pair(l, p));
        }
        return pairs;
    }
    Pairs child_pairs(bool up) const {
        Pairs pairs;
        for (int c = t_.n_outputs; c < t_.n_nodes; ++c) {
            const int p = place_[t_.parent[c]];
            pairs.push_back(up ? std::pair(p, place_[c]) : std::pair(place_[c], p));
        }
        return pairs;
    }

    void load_leaves() {
        if (shuffle_inputs_) {
            for (int l = 0; l < t_.n_leaves; l += W) store(leaf_x_ + l, leaf_inputs_(l / W, x_));
        } else {
            for (int l = 0; l < t_.n_leaves; ++l) leaf_x_[l] = x_[t_.leaf_input[l]];
        }
    }

    // Calls f(j, place, n) for every n <= W nodes of a level from j on.
    template <class F>
    BNT_INLINE void for_vectors(int level, F&& f) {
        const int first = t_.level_start[level], last = t_.level_start[level + 1];
        const int place = place_[first];
        for (int j = first; j < last; j += W) f(j, place + j - first, last - j < W ? last - j : W);
    }

    // f(activation) for the n nodes from j on; lane by lane where they differ.
    template <class F>
    BNT_INLINE Vec<T> by_activation(int level, int j, int n, F&& f) {
        Vec<T> result{};
        const int code = level == 0 ? t_.output_activation : t_.hidden_activation;
        if (code != kMixed) {
            with(code, [&](auto tag) { result = f(tag); });
        } else {
            for (int i = 0; i < n && i < W; ++i)
                with(t_.activation[j + i], [&](auto tag) { result[i] = f(tag)[i]; });
        }
        return result;
    }

    template <class F>
    static BNT_INLINE void with(int code, F&& f) {
        Activations::with(code, [&](auto tag) {
            if constexpr (may_occur<typename decltype(tag)::type>) f(tag);
        });
    }

    // Numbers that were written one by one just now, as a vector: a load of the whole would wait
    // until they have all reached the cache.
    static BNT_INLINE Vec<T> one_by_one(const T* p, int n) {
        typename Simd<T>::Int lane;
        for (int i = 0; i < W; ++i) lane[i] = i;
        Vec<T> v{};
        for (int i = 0; i < n && i < W; ++i) v = lane == i ? broadcast(p[i]) : v;
        return v;
    }

    const Tree& t_;
    std::vector<int> place_;
    int n_places_;
    bool shuffle_inputs_;
    VectorSums<T, 1> leaf_inputs_, leaf_deltas_, child_deltas_;
    VectorSums<T, 4> leaf_sums_, child_sums_;
    Buffer<T> memory_;
    T *h_, *carried_, *delta_, *leaf_x_, *leaf_, *x_;
};

}  // namespace bnt::BNT_ISA
