// Trees after their training: leaves of a linear part are added, and idle branches are found.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "structure.hpp"

namespace bnt {

// Leaves to be added under outputs.
struct OutputLeaves {
    int n = 0;
    const int32_t* output = nullptr;  // [n]
    const int32_t* input = nullptr;   // [n]
    const double* weight = nullptr;   // [n]
    const double* bias = nullptr;     // [n_outputs]: added to the biases of the outputs
};

template <class T>
struct ExtendedTree {
    std::unique_ptr<Structure> structure;
    std::vector<T> theta;
};

// A tree of linear outputs whose outputs are multiplied by a factor, and have more leaves, behind
// those that they have.
template <class T>
ExtendedTree<T> with_output_leaves(const Tree& t, const T* theta, double factor,
                                   const OutputLeaves& leaves);

// Edges and leaves whose contribution to the weighted sum of their node varies by no more than a
// share of what all contributions to it vary together.
struct IdleBranches {
    std::vector<int32_t> place;  // of edges, from the first node below an output on, then of leaves
    std::vector<double> middle;  // of the contribution of each
};

// For inputs between low and high, [n_inputs] each.
template <class T>
IdleBranches idle_branches(const Tree& t, const T* theta, const double* low, const double* high,
                           double tolerance);

}  // namespace bnt
