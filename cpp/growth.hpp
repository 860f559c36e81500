// Random trees: structure, inputs of leaves, activations and initial weights as a function of a
// rule and a seed. Compiled once, for every processor.
#pragma once

#include <cstdint>
#include <vector>

namespace bnt {

// The distribution of trees. Features are drawn for leaves: inputs, or groups of inputs.
struct GrowthRule {
    int n_inputs = 1, n_outputs = 1;
    int max_depth = 5;  // of a function node; the outputs have depth 0, or 1 if there are several
    int min_children = 2, max_children = 5;

    // A tree grows to n_weights weights, with `deepen` beyond max_depth if it must. With 0, each
    // child is a leaf with this probability, and trees outside of these sizes are drawn again.
    int64_t n_weights = 0;
    bool deepen = false;
    double leaf_probability = 0.4;
    int64_t min_size = 1, max_size = 1;
    double mean_size = 0;  // for messages

    std::vector<int32_t> groups;  // [n_inputs], ascending; -1: no leaf is drawn with it; or none
    std::vector<double> chances;  // of features; none: all are equally likely
    // Sets of features that may interact: below a child of an output, all leaves have features of
    // one set.
    std::vector<std::vector<int32_t>> sets;

    // Receptive fields: the features below a node of depth field_depth are near each other in an
    // image of this shape.
    std::vector<int32_t> image;
    double min_spread = 1, max_spread = 1;
    int field_depth = 2;

    // Leaves of input i start, with this probability, at one of n_ramps[i] inputs after it.
    double ramp_fraction = 0;
    std::vector<int32_t> n_ramps;

    struct Kind {
        uint8_t code = 0;
        double chance = 1;
        std::vector<double> parameters;
    };
    Kind output;
    std::vector<Kind> inner;
    bool trains_activations = false;

    bool is_uniform = false;  // weights in [0, 1), else normal ones
    double init_scale = 1;

    int top_depth() const { return n_outputs == 1 ? 0 : 1; }
    int n_features() const;
};

// A tree as the constructor of Structure takes it, and its weights.
struct GrownTree {
    std::vector<int32_t> parent, leaf_parent, leaf_input;
    std::vector<uint8_t> activation;
    std::vector<double> activation_parameters, weights;
    bool trains_activations = false;
};

// Chooses the feature of each leaf, where that is not left to the rule.
class LeafSampler {
  public:
    virtual ~LeafSampler() = default;
    virtual std::vector<int32_t> sample(const std::vector<int32_t>& parent,
                                        const std::vector<int32_t>& leaf_parent) = 0;
};

// Throws std::invalid_argument where trees cannot be grown by a rule.
void check_rule(const GrowthRule& rule);

// The feature of each leaf of a structure, where the rule chooses it: for probabilities and
// receptive fields.
std::vector<int32_t> sample_features(const GrowthRule& rule, uint64_t seed,
                                     const std::vector<int32_t>& parent,
                                     const std::vector<int32_t>& leaf_parent);

// Throws std::invalid_argument if no tree has the size that the rule wants. The rule is checked.
GrownTree grow(const GrowthRule& rule, uint64_t seed, LeafSampler* sampler = nullptr);

}  // namespace bnt
