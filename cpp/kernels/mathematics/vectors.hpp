// Sums of scattered numbers, by a few shuffles of vectors instead of many small loads.
#pragma once

#include <utility>
#include <vector>

#include "memory.hpp"

namespace bnt::BNT_ISA {

// For every lane of every target vector, the sum of some entries of a source array. The entries are
// encoded once, as steps: each shuffles one stretch of the source into the lanes of a target, and
// unused lanes get 0. Every target has a multiple of Group steps.
template <class T, int Group>
class VectorSums {
    static constexpr int W = Simd<T>::lanes, kReach = kShuffleReach * W;

  public:
    using Pairs = std::vector<std::pair<int, int>>;  // (target, source) positions

    VectorSums(int n_targets, const Pairs& sorted) {
        std::vector<int> lanes;
        size_t next = 0;
        for (int first = 0; first < n_targets; first += W) {
            start_.push_back(int(source_.size()));
            Pairs pairs;
            while (next < sorted.size() && sorted[next].first < first + W) {
                pairs.push_back({sorted[next].first - first, sorted[next].second});
                ++next;
            }
            add_steps(pairs, lanes);
        }
        start_.push_back(int(source_.size()));
        codes_ = Buffer<T>(lanes.size());
        for (size_t i = 0; i < lanes.size(); ++i) encode_lane(codes_.get() + i, lanes[i]);
    }

    // `sum` plus the entries of one target vector.
    BNT_INLINE Vec<T> added(Vec<T> sum, int target, const T* source) const {
        for (int s = start_[target]; s < start_[target + 1]; s += Group) sum += group(s, source);
        return sum;
    }

    // The same without `sum`, for a target vector that has entries.
    BNT_INLINE Vec<T> operator()(int target, const T* source) const {
        const int first = start_[target];
        Vec<T> sum = group(first, source);
        for (int s = first + Group; s < start_[target + 1]; s += Group) sum += group(s, source);
        return sum;
    }

  private:
    BNT_INLINE Vec<T> group(int s, const T* source) const {
        static_assert(Group == 1 || Group == 4);
        if constexpr (Group == 1) return step(s, source);
        else
            return (step(s, source) + step(s + 1, source)) +
                   (step(s + 2, source) + step(s + 3, source));
    }

    BNT_INLINE Vec<T> step(int s, const T* source) const {
        return shuffled<T>(source + source_[s], load(codes_.get() + size_t(s) * W));
    }

    // From the lowest source on, steps until every lane has all of its entries.
    void add_steps(Pairs pairs, std::vector<int>& lanes) {
        while (!pairs.empty()) {
            int low = pairs[0].second;
            for (const auto& [lane, source] : pairs) low = source < low ? source : low;
            low = low / W * W;
            int chosen[W];
            for (int& c : chosen) c = -1;
            Pairs later;
            for (const auto& [lane, source] : pairs) {
                if (chosen[lane] < 0 && source < low + kReach) chosen[lane] = source - low;
                else later.push_back({lane, source});
            }
            add_step(low, chosen, lanes);
            pairs.swap(later);
        }
        int nothing[W];
        for (int& c : nothing) c = -1;
        while ((int(source_.size()) - start_.back()) % Group) add_step(0, nothing, lanes);
    }

    void add_step(int source, const int (&chosen)[W], std::vector<int>& lanes) {
        source_.push_back(source);
        lanes.insert(lanes.end(), chosen, chosen + W);
    }

    std::vector<int> start_, source_;
    Buffer<T> codes_;
};

}  // namespace bnt::BNT_ISA
