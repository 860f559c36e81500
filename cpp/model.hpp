// A tree that owns its arrays, checked once, so that no kernel can be led astray.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "engine.hpp"

namespace bnt {

class Structure {
  public:
    Structure(int n_inputs, int n_outputs, std::vector<int32_t> parent,
              std::vector<uint8_t> activation, std::vector<int32_t> leaf_parent,
              std::vector<int32_t> leaf_input)
        : parent_(std::move(parent)), activation_(std::move(activation)),
          leaf_parent_(std::move(leaf_parent)), leaf_input_(std::move(leaf_input)) {
        const int n_nodes = int(parent_.size()), n_leaves = int(leaf_parent_.size());
        require(n_inputs > 0 && n_outputs > 0 && n_nodes >= n_outputs, "counts");
        require(activation_.size() == parent_.size(), "activation");
        require(leaf_input_.size() == leaf_parent_.size(), "leaf_input");
        for (int i = 0; i < n_nodes; ++i) {
            const bool ok = i < n_outputs ? parent_[i] == -1
                                          : parent_[i] >= 0 && parent_[i] < i &&
                                                parent_[i] >= parent_[i - 1];
            require(ok, "parent");
            require(activation_[i] < kActivationCount, "activation");
        }
        for (int l = 0; l < n_leaves; ++l) {
            const int before = l ? leaf_parent_[l - 1] : 0;
            require(leaf_parent_[l] >= before && leaf_parent_[l] < n_nodes, "leaf_parent");
            require(leaf_input_[l] >= 0 && leaf_input_[l] < n_inputs, "leaf_input");
        }
        child_start_ = starts(parent_, n_outputs, n_nodes);
        leaf_start_ = starts(leaf_parent_, 0, n_nodes);
        level_start_ = {0, n_outputs};
        while (level_start_.back() < n_nodes) level_start_.push_back(child_start_[level_start_.back()]);

        tree_.n_inputs = n_inputs;
        tree_.n_outputs = n_outputs;
        tree_.n_nodes = n_nodes;
        tree_.n_leaves = n_leaves;
        tree_.n_levels = int(level_start_.size()) - 1;
        tree_.activation = activation_.data();
        tree_.parent = parent_.data();
        tree_.child_start = child_start_.data();
        tree_.leaf_start = leaf_start_.data();
        tree_.leaf_parent = leaf_parent_.data();
        tree_.leaf_input = leaf_input_.data();
        tree_.level_start = level_start_.data();
        tree_.hidden_activation = n_nodes > n_outputs ? activation_[n_outputs] : int(kSigmoid);
        for (int i = n_outputs; i < n_nodes; ++i)
            if (activation_[i] != tree_.hidden_activation) tree_.hidden_activation = kMixed;
        for (int i = 0; i < n_outputs; ++i)
            require(activation_[i] == activation_[0] && activation_[i] <= kSigmoid, "activation");
    }
    Structure(const Structure&) = delete;
    Structure& operator=(const Structure&) = delete;

    const Tree& tree() const { return tree_; }

  private:
    static void require(bool ok, const char* what) {
        if (!ok) throw std::invalid_argument(std::string("not a tree: ") + what);
    }

    // start[i]: the first position from `first` on whose owner is i or later.
    static std::vector<int32_t> starts(const std::vector<int32_t>& owner, int first, int n) {
        std::vector<int32_t> start(n + 1);
        int position = first;
        for (int i = 0; i <= n; ++i) {
            while (position < int(owner.size()) && owner[position] < i) ++position;
            start[i] = position;
        }
        return start;
    }

    std::vector<int32_t> parent_, child_start_, leaf_start_, leaf_parent_, leaf_input_, level_start_;
    std::vector<uint8_t> activation_;
    Tree tree_;
};

}  // namespace bnt
