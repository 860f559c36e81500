// A structure with weights: the core's form of a NeuralTree.
#pragma once

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

}  // namespace bnt
