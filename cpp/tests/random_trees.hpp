// Random trees, tables and their outputs by recursion, as in the paper.
#pragma once

#include <algorithm>
#include <memory>

#include "../random.hpp"
#include "../structure.hpp"

namespace bnt::tests {

class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return uniform(seed_, next_++); }
    double between(double low, double high) { return low + (high - low) * unit(); }
    int below(int n) { return int(unit() * n); }

  private:
    uint64_t seed_, next_ = 0;
};

struct RandomTree {
    std::unique_ptr<Structure> structure;
    std::vector<double> theta;

    const Tree& tree() const { return structure->tree(); }

    template <class T>
    std::vector<T> weights() const {
        return {theta.begin(), theta.end()};
    }
};

// activation: its code, or kMixed.
inline RandomTree random_tree(Random& random, int n_inputs, int n_outputs, int n_nodes,
                              int activation) {
    std::vector<int32_t> parent(n_outputs, -1), leaf_parent, leaf_input;
    for (int i = n_outputs; i < n_nodes; ++i) parent.push_back(random.below(i));
    std::sort(parent.begin() + n_outputs, parent.end());
    for (int i = n_outputs; i < n_nodes; ++i) parent[i] = std::min(parent[i], int32_t(i - 1));
    std::vector<uint8_t> codes;
    std::vector<double> phi;
    const auto& entries = registry().activations;
    for (int i = 0; i < n_nodes; ++i) {
        const int code = activation == kMixed ? random.below(int(entries.size())) : activation;
        codes.push_back(uint8_t(code));
        for (size_t p = 0; p < entries[code].parameters.size(); ++p)
            phi.push_back(random.between(0.5, 1.5));
        const int n_leaves = 1 + random.below(4);
        for (int l = 0; l < n_leaves; ++l) {
            leaf_parent.push_back(i);
            leaf_input.push_back(random.below(n_inputs));
        }
    }
    RandomTree made;
    made.structure = std::make_unique<Structure>(n_inputs, n_outputs, parent, codes, leaf_parent,
                                                 leaf_input, phi, false);
    for (int i = 0; i < n_parameters(made.tree()); ++i) made.theta.push_back(random.between(-1, 1));
    return made;
}

inline double activated(const std::string& name, double z, const double* phi) {
    const auto sigmoid = [](double s) { return 1 / (1 + std::exp(-s)); };
    if (name == "linear") return z;
    if (name == "sigmoid") return sigmoid(z);
    if (name == "tanh") return std::tanh(z);
    if (name == "relu") return z > 0 ? z : 0;
    if (name == "leaky_relu") return z > 0 ? z : phi[0] * z;
    if (name == "gaussian") return std::exp(-std::pow((z - phi[0]) / phi[1], 2));
    if (name == "linear_sigmoid") return phi[0] * sigmoid(z) + phi[1];
    if (name == "linear_tanh") return phi[0] * std::tanh(z) + phi[1];
    if (name == "bipolar") return std::tanh(phi[0] * z) / phi[0];
    if (name == "unipolar") return 2 * phi[0] * sigmoid(2 * phi[0] * z);
    return NAN;  // an activation without a counterpart here fails the tests
}

inline double value_of(const Tree& t, const double* theta, int node, const double* x) {
    const double* edge = theta + t.n_nodes - t.n_outputs;
    const double* leaf = edge + t.n_nodes;
    double z = theta[node];
    for (int c = t.child_start[node]; c < t.child_start[node + 1]; ++c)
        z += edge[c] * value_of(t, theta, c, x);
    for (int l = t.leaf_start[node]; l < t.leaf_start[node + 1]; ++l)
        z += leaf[l] * x[t.leaf_input[l]];
    return activated(registry().activations[t.activation[node]].name, z,
                     t.phi64 + t.phi_start[node]);
}

}  // namespace bnt::tests
