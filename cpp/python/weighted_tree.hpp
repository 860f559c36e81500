// A structure with weights: the core's form of a NeuralTree.
#pragma once

#include "../growth.hpp"
#include "../structure.hpp"
#include "arrays.hpp"

namespace bnt {

// Keeps the Python objects alive that own the arrays.
class WeightedTree {
  public:
    WeightedTree(nb::handle structure, nb::handle parameters) {
        tree_ = &as_instance<Structure>(structure, "structure", "Structure").tree();
        structure_ = nb::borrow(structure);
        if (!nb::try_cast<In<float>>(parameters, single_, false))
            full_ = as_array<double>(parameters, "parameters");
        const size_t size = is_single() ? single_.size() : full_.size();
        if (int64_t(size) != n_parameters(*tree_))
            fail("parameters has " + std::to_string(size) + " entries, the tree has " +
                 std::to_string(n_parameters(*tree_)));
    }

    const Tree& tree() const { return *tree_; }
    bool is_single() const { return single_.is_valid(); }

    template <class T>
    const T* theta() const {
        if constexpr (std::is_same_v<T, float>) return single_.data();
        else return full_.data();
    }

  private:
    nb::object structure_;
    const Tree* tree_;
    In<float> single_;
    In<double> full_;
};

// A tree that is grown when it is needed, by the thread that trains it.
class PlannedTree {
  public:
    PlannedTree(nb::handle rule, uint64_t seed, bool is_single)
        : owner_(nb::borrow(rule)), rule_(as_instance<GrowthRule>(rule, "rule", "GrowthRule")),
          seed_(seed), is_single_(is_single) {
        outline_.n_inputs = rule_.n_inputs;
        outline_.n_outputs = rule_.n_outputs;
        outline_.output_activation = rule_.output.code;
    }

    // What is known before: numbers of inputs and outputs, and the activation of the outputs.
    const Tree& outline() const { return outline_; }
    bool is_single() const { return is_single_; }
    GrownTree grown() const { return grow(rule_, seed_); }

  private:
    nb::object owner_;  // keeps the rule alive
    const GrowthRule& rule_;
    uint64_t seed_;
    bool is_single_;
    Tree outline_;
};

}  // namespace bnt
