// The structure of a tree: owns its arrays and checks them once, so that kernels can assume valid
// indices. Every tree of that structure shares it.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "engine.hpp"

namespace bnt {

class Structure {
  public:
    // phi: the parameters of all activations, in the order of the nodes; where they are trained,
    // they are the first values, and belong to the parameter vector.
    Structure(int n_inputs, int n_outputs, std::vector<int32_t> parent,
              std::vector<uint8_t> activation, std::vector<int32_t> leaf_parent,
              std::vector<int32_t> leaf_input, std::vector<double> phi, bool phi_is_trained)
        : parent_(std::move(parent)), activation_(std::move(activation)),
          leaf_parent_(std::move(leaf_parent)), leaf_input_(std::move(leaf_input)),
          phi64_(std::move(phi)), phi32_(phi64_.begin(), phi64_.end()) {
        const int n_nodes = int(parent_.size()), n_leaves = int(leaf_parent_.size());
        require(n_inputs > 0 && n_outputs > 0 && n_nodes >= n_outputs, "counts");
        require(activation_.size() == parent_.size(), "activation");
        require(leaf_input_.size() == leaf_parent_.size(), "leaf_input");
        for (int i = 0; i < n_nodes; ++i) {
            const bool ok = i < n_outputs
                                ? parent_[i] == -1
                                : parent_[i] >= 0 && parent_[i] < i && parent_[i] >= parent_[i - 1];
            require(ok, "parent");
            require(activation_[i] < registry().activations.size(), "activation");
        }
        for (int l = 0; l < n_leaves; ++l) {
            const int before = l ? leaf_parent_[l - 1] : 0;
            require(leaf_parent_[l] >= before && leaf_parent_[l] < n_nodes, "leaf_parent");
            require(leaf_input_[l] >= 0 && leaf_input_[l] < n_inputs, "leaf_input");
        }
        child_start_ = starts(parent_, n_outputs, n_nodes);
        leaf_start_ = starts(leaf_parent_, 0, n_nodes);
        level_start_ = {0, n_outputs};
        while (level_start_.back() < n_nodes)
            level_start_.push_back(child_start_[level_start_.back()]);

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
        tree_.output_activation = common_activation(0, n_outputs);
        tree_.hidden_activation =
            n_nodes > n_outputs ? common_activation(n_outputs, n_nodes) : tree_.output_activation;
        for (int i = 0; i < n_nodes; ++i) {
            phi_start_.push_back(tree_.n_phi);
            tree_.n_phi += int(registry().activations[activation_[i]].parameters.size());
            tree_.keeps_sums |= keeps_sum(activation_[i]);
        }
        phi_start_.push_back(tree_.n_phi);
        require(phi64_.size() == size_t(tree_.n_phi), "activation_parameters");
        tree_.phi_is_trained = phi_is_trained && tree_.n_phi > 0;
        tree_.phi_start = phi_start_.data();
        tree_.phi32 = phi32_.data();
        tree_.phi64 = phi64_.data();
    }
    Structure(const Structure&) = delete;
    Structure& operator=(const Structure&) = delete;

    const Tree& tree() const { return tree_; }

  private:
    static void require(bool ok, const char* what) {
        if (!ok) throw std::invalid_argument(std::string("not a tree: ") + what);
    }

    int common_activation(int first, int last) const {
        for (int i = first; i < last; ++i)
            if (activation_[i] != activation_[first]) return kMixed;
        return activation_[first];
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

    std::vector<int32_t> parent_;
    std::vector<uint8_t> activation_;
    std::vector<int32_t> leaf_parent_, leaf_input_;
    std::vector<double> phi64_;
    std::vector<float> phi32_;
    std::vector<int32_t> child_start_, leaf_start_, level_start_, phi_start_;
    Tree tree_;
};

}  // namespace bnt
