#include "growth.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

#include "generator.hpp"

namespace bnt {

namespace {

// The numbers of each purpose come from a stream of their own: other weights leave the structure.
enum Stream : uint64_t { kStructure, kFeatures, kRamps, kActivations, kWeights };

constexpr int kMaxTries = 1000;
constexpr int64_t kLargestSize = 20'000'000;  // of a tree, and of all draws of one tree
// A tree does not get deeper once it has this share of its weights.
constexpr double kEnoughWeights = 0.97;
// Draws of a tree whose features have several weights each.
constexpr int kGroupTries = 16;
// Interaction sets: the share of the weights of an output that belong to its own leaves, the
// probability of a child to be a node, and how many subtrees in succession may be too large.
constexpr double kDirectShare = 0.15, kNested = 0.35;
constexpr int kMaxMisses = 8;

using Ints = std::vector<int32_t>;

struct Shape {
    Ints parent, leaf_parent;  // breadth-first, leaves in the order of their parents
};

struct Leaf {
    int32_t node, feature;
};

// -- features -------------------------------------------------------------------------------

// Positions with probabilities in proportion to weights.
class Chances {
  public:
    explicit Chances(std::vector<double> weights) : sum_(std::move(weights)) {
        for (size_t i = 1; i < sum_.size(); ++i) sum_[i] += sum_[i - 1];
    }
    int32_t draw(Random& random) const {
        // rounding could make the product the total itself, which is beyond the last position
        const double total = sum_.back();
        const double below = std::min(random.uniform() * total, std::nextafter(total, 0.0));
        return int32_t(std::upper_bound(sum_.begin(), sum_.end(), below) - sum_.begin());
    }

  private:
    std::vector<double> sum_;
};

// n different ones of some features.
Ints distinct(Random& random, const Ints& features, const std::vector<double>& chances, int n) {
    std::vector<double> left;
    for (const int32_t feature : features) left.push_back(chances[feature]);
    Ints drawn;
    for (int i = 0; i < n; ++i) {
        const int32_t place = Chances(left).draw(random);
        drawn.push_back(features[place]);
        left[place] = 0;
    }
    return drawn;
}

// The inputs of each feature. A leaf of a feature is an edge to each of them.
class Features {
  public:
    explicit Features(const GrowthRule& rule) : inputs_(rule.n_features()) {
        for (int i = 0; i < rule.n_inputs; ++i)
            if (rule.groups.empty()) inputs_[i] = {i};
            else if (rule.groups[i] >= 0) inputs_[rule.groups[i]].push_back(i);
        // A feature without inputs is constant: the next one stands in for it.
        usable_.resize(inputs_.size());
        int32_t next = -1;
        for (int f = int(inputs_.size()) - 1; f >= 0; --f) {
            if (!inputs_[f].empty()) next = f;
            usable_[f] = next;
        }
    }

    const Ints& inputs(int32_t feature) const { return inputs_[usable_[feature]]; }
    int64_t n_edges(const Ints& features) const {
        int64_t n = 0;
        for (const int32_t feature : features) n += int64_t(inputs(feature).size());
        return n;
    }
    bool is_empty(int32_t feature) const { return inputs_[feature].empty(); }

  private:
    std::vector<Ints> inputs_;
    Ints usable_;
};

std::vector<double> chances_of(const GrowthRule& rule) {
    return rule.chances.empty() ? std::vector<double>(size_t(rule.n_features()), 1.0)
                                : rule.chances;
}

// The node at which the receptive field of each node starts, -1 above all fields.
Ints fields_of(const GrowthRule& rule, const Ints& parent) {
    Ints depth(parent.size()), field(parent.size());
    for (size_t node = 0; node < parent.size(); ++node) {
        const int above = parent[node];
        depth[node] = above < 0 ? rule.top_depth() : depth[above] + 1;
        field[node] =
            depth[node] == rule.field_depth ? int32_t(node) : (above < 0 ? -1 : field[above]);
    }
    return field;
}

// The features of each leaf from the receptive field of its node.
Ints from_fields(const GrowthRule& rule, const Shape& shape, Random& random) {
    const std::vector<double> chances = chances_of(rule);
    const Chances everywhere(chances);
    const Ints field = fields_of(rule, shape.parent);
    int n_pixels = 1;
    for (const int32_t n : rule.image) n_pixels *= n;
    const int n_channels = int(chances.size()) / n_pixels;
    // the squared distance of two features in the image
    const auto distance = [&](int a, int b) {
        a /= n_channels, b /= n_channels;
        double sum = 0;
        for (size_t axis = rule.image.size(); axis-- > 0;) {
            const double d = a % rule.image[axis] - b % rule.image[axis];
            sum += d * d;
            a /= rule.image[axis], b /= rule.image[axis];
        }
        return sum;
    };
    Ints drawn(shape.leaf_parent.size());
    std::vector<Ints> leaves(shape.parent.size() + 1);  // of each field, those of none first
    for (size_t leaf = 0; leaf < drawn.size(); ++leaf)
        leaves[field[shape.leaf_parent[leaf]] + 1].push_back(int32_t(leaf));
    for (const int32_t leaf : leaves[0]) drawn[leaf] = everywhere.draw(random);
    for (size_t owner = 1; owner < leaves.size(); ++owner) {
        if (leaves[owner].empty()) continue;
        const int32_t centre = everywhere.draw(random);
        const double spread =
            rule.min_spread *
            portable_exp(random.uniform() * portable_log(rule.max_spread / rule.min_spread));
        std::vector<double> near = chances;
        for (size_t f = 0; f < near.size(); ++f)
            near[f] *= portable_exp(-0.5 * distance(int(f), centre) / (spread * spread));
        const Chances here(std::move(near));
        for (const int32_t leaf : leaves[owner]) drawn[leaf] = here.draw(random);
    }
    return drawn;
}

Ints sample_features(const GrowthRule& rule, const Shape& shape, Random& random,
                     LeafSampler* sampler) {
    if (sampler) {
        Ints given = sampler->sample(shape.parent, shape.leaf_parent);
        if (given.size() != shape.leaf_parent.size())
            throw std::invalid_argument("feature_sampling returned " +
                                        std::to_string(given.size()) + " inputs for " +
                                        std::to_string(shape.leaf_parent.size()) + " leaves");
        for (const int32_t feature : given)
            if (feature < 0 || feature >= rule.n_features())
                throw std::invalid_argument("feature_sampling chose the input " +
                                            std::to_string(feature) + ", inputs go from 0 to " +
                                            std::to_string(rule.n_features() - 1));
        return given;
    }
    if (!rule.image.empty()) return from_fields(rule, shape, random);
    Ints drawn(shape.leaf_parent.size());
    if (rule.chances.empty()) {
        for (int32_t& feature : drawn) feature = int32_t(random.below(rule.n_features()));
    } else {
        const Chances chances(rule.chances);
        for (int32_t& feature : drawn) feature = chances.draw(random);
    }
    return drawn;
}

// -- structures -----------------------------------------------------------------------------

// The place of each node where nodes of a level, and children of a node, are neighbours; a parent
// comes before its children.
Ints breadth_first(const Ints& parent, int n_outputs) {
    std::vector<Ints> children(parent.size());
    Ints order;
    for (size_t node = 0; node < parent.size(); ++node)
        (int(node) < n_outputs ? order : children[parent[node]]).push_back(int32_t(node));
    Ints place(parent.size());
    for (size_t i = 0; i < order.size(); ++i) {  // grows during the loop
        place[order[i]] = int32_t(i);
        order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
    }
    return place;
}

Ints renumbered(const Ints& parent, const Ints& place) {
    Ints result(parent.size());
    for (size_t node = 0; node < parent.size(); ++node)
        result[place[node]] = parent[node] < 0 ? -1 : place[parent[node]];
    return result;
}

// Level by level; nothing if the tree outgrows max_size. `size` becomes that of the tree.
Shape grow_levels(const GrowthRule& rule, Random& random, int64_t& size) {
    Shape shape;
    Ints depth(rule.n_outputs, rule.top_depth());
    shape.parent.assign(rule.n_outputs, -1);
    size = rule.top_depth() + rule.n_outputs;
    for (size_t node = 0; node < shape.parent.size(); ++node) {  // grows during the loop
        const int64_t n_children =
            rule.min_children + random.below(rule.max_children - rule.min_children + 1);
        size += n_children;
        if (size > rule.max_size) return {};
        for (int64_t i = 0; i < n_children; ++i)
            if (depth[node] == rule.max_depth || random.uniform() < rule.leaf_probability) {
                shape.leaf_parent.push_back(int32_t(node));
            } else {
                shape.parent.push_back(int32_t(node));
                depth.push_back(depth[node] + 1);
            }
    }
    return shape;
}

// Draws until a tree has a size within the limits.
Shape grow_between(const GrowthRule& rule, Random& random) {
    std::vector<int64_t> sizes;
    int64_t total = 0;
    while (int(sizes.size()) < kMaxTries && total < kLargestSize) {
        int64_t size;
        Shape shape = grow_levels(rule, random, size);
        if (size <= rule.max_size && size >= rule.min_size) return shape;
        sizes.push_back(std::min(size, rule.max_size + 1));
        total += sizes.back();
    }
    const auto middle = sizes.begin() + std::ptrdiff_t(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    char mean[32];
    std::snprintf(mean, sizeof mean, "%.6g", rule.mean_size);
    throw std::invalid_argument(
        "no tree of size " + std::to_string(rule.min_size) + " to " +
        std::to_string(rule.max_size) + " in " + std::to_string(sizes.size()) +
        " draws: the typical size drawn was " +
        (*middle > rule.max_size ? "above " + std::to_string(rule.max_size)
                                 : std::to_string(*middle)) +
        ", and the mean of these settings is " + mean +
        "; change min_size or max_size, or max_depth, max_children or leaf_probability");
}

// Grows until there are n_weights weights, or slightly fewer. Every output starts with leaves only.
// Then the output with the fewest weights turns one of its leaves into a node with leaves, and so
// on: all outputs get the same share.
Shape grow_to(const GrowthRule& rule, int64_t n_weights, Random& random) {
    const int k = rule.n_outputs, low = rule.min_children;
    const int64_t high = std::min<int64_t>(rule.max_children, n_weights / k - 1);
    const auto n_children = [&] { return low + random.below(high - low + 1); };
    for (int max_depth = rule.max_depth;; ++max_depth) {
        Ints parent(k, -1), depth(k, rule.top_depth()), n_leaves(k);
        std::vector<Ints> growing(k);  // parents of the leaves that can grow
        using Size = std::pair<int64_t, int>;
        std::priority_queue<Size, std::vector<Size>, std::greater<Size>> outputs;
        int64_t total = 0;
        for (int output = 0; output < k; ++output) {
            n_leaves[output] = int32_t(n_children());
            if (rule.top_depth() < max_depth) growing[output].assign(n_leaves[output], output);
            outputs.push({1 + n_leaves[output], output});
            total += 1 + n_leaves[output];
        }
        while (!outputs.empty() && total + 1 + low <= n_weights) {
            const auto [size, output] = outputs.top();
            outputs.pop();
            Ints& leaves = growing[output];
            if (leaves.empty()) continue;  // all leaves of this output have the largest depth
            const int64_t i = random.below(int64_t(leaves.size()));
            const int32_t above = leaves[i], node = int32_t(parent.size());
            leaves[i] = leaves.back();
            leaves.pop_back();
            const auto n = int32_t(std::min(n_children(), n_weights - total - 1));
            n_leaves[above] -= 1;
            n_leaves.push_back(n);
            parent.push_back(above);
            depth.push_back(depth[above] + 1);
            if (depth[node] < max_depth) leaves.insert(leaves.end(), n, node);
            total += 1 + n;
            outputs.push({size + 1 + n, output});
        }
        if (rule.deepen && total + 1 + low <= n_weights &&
            double(total) < kEnoughWeights * double(n_weights))
            continue;
        const Ints place = breadth_first(parent, k);
        Shape shape{renumbered(parent, place), {}};
        Ints by_place(parent.size());
        for (size_t node = 0; node < parent.size(); ++node) by_place[place[node]] = n_leaves[node];
        for (size_t node = 0; node < parent.size(); ++node)
            shape.leaf_parent.insert(shape.leaf_parent.end(), by_place[node], int32_t(node));
        return shape;
    }
}

struct Grown {
    Shape shape;
    Ints feature;  // of each leaf
};

// Features that are groups of inputs have several weights each: of some draws, the one nearest to
// n_weights is kept. It has more only if all draws have more.
Grown grow_groups_to(const GrowthRule& rule, const Features& features, Random& random,
                     Random& of_features, LeafSampler* sampler) {
    const int64_t least = int64_t(rule.n_outputs) * (1 + rule.min_children),
                  wanted = rule.n_weights;
    int64_t n_grown = wanted, best_total = 0;
    Grown best;
    for (int i = 0; i < kGroupTries; ++i) {
        Grown grown{grow_to(rule, n_grown, random), {}};
        grown.feature = sample_features(rule, grown.shape, of_features, sampler);
        const int64_t total = 2 * int64_t(grown.shape.parent.size()) - rule.n_outputs +
                              features.n_edges(grown.feature);
        if (i == 0 || (best_total < total && total <= wanted) ||
            (best_total > wanted && best_total > total)) {
            best = std::move(grown);
            best_total = total;
        }
        if (kEnoughWeights * double(wanted) <= double(best_total) && best_total <= wanted) break;
        const auto scaled = int64_t(double(n_grown) * double(wanted) / double(total));
        n_grown = std::max(least, std::min(wanted, scaled));
    }
    return best;
}

// Sets without end: in each round, a set comes as often as its chances say, in random order.
class Rounds {
  public:
    Rounds(std::vector<Ints> sets, const std::vector<double>& chances) : sets_(std::move(sets)) {
        double total = 0;
        for (const Ints& set : sets_) {
            double share = 0;
            for (const int32_t feature : set) share += chances[feature];
            total += share;
            end_.push_back(total);
        }
    }

    const Ints& next(Random& random) {
        if (round_.empty()) {
            const size_t n = sets_.size();
            const double offset = random.uniform();
            for (size_t i = 0; i < n; ++i) {
                const double place = (double(i) + offset) / double(n) * end_.back();
                const auto found = std::lower_bound(end_.begin(), end_.end(), place);
                round_.push_back(int32_t(std::min<size_t>(found - end_.begin(), n - 1)));
            }
            for (size_t i = n - 1; i > 0; --i) std::swap(round_[i], round_[random.below(i + 1)]);
        }
        const int32_t chosen = round_.back();
        round_.pop_back();
        return sets_[chosen];
    }

  private:
    std::vector<Ints> sets_;
    std::vector<double> end_;
    Ints round_;
};

// Many small subtrees, each with the features of one set. A node has no feature twice, so a set of
// one feature has subtrees of a single node with one leaf. All outputs get as many weights.
Grown grow_sets(const GrowthRule& rule, const Features& features, int64_t n_weights,
                Random& random) {
    const int64_t budget = n_weights / rule.n_outputs;
    const int n_levels = rule.max_depth - rule.top_depth();
    std::vector<double> chances = chances_of(rule);
    for (int f = 0; f < int(chances.size()); ++f)
        if (features.is_empty(f)) chances[f] = 0;
    Ints all;
    for (int f = 0; f < int(chances.size()); ++f)
        if (chances[f] > 0) all.push_back(f);
    std::vector<Ints> sets;
    for (const Ints& set : rule.sets) {
        Ints possible;
        for (const int32_t feature : set)
            if (feature < int(chances.size()) && chances[feature] > 0) possible.push_back(feature);
        if (!possible.empty()) sets.push_back(std::move(possible));
    }
    if (all.empty() || sets.empty()) throw std::invalid_argument("no feature can be drawn");
    Rounds rounds(std::move(sets), chances);
    Ints parent(rule.n_outputs, -1);
    std::vector<Leaf> leaves;
    for (int output = 0; output < rule.n_outputs; ++output) {
        const auto n_direct = std::max<int64_t>(
            1, std::min(int64_t(all.size()), int64_t(kDirectShare * double(budget))));
        const Ints direct = distinct(random, all, chances, int(n_direct));
        for (const int32_t feature : direct) leaves.push_back({output, feature});
        int64_t total = 1 + features.n_edges(direct);
        for (int n_misses = 0; n_misses < kMaxMisses;) {
            const Ints& set = rounds.next(random);
            // one subtree: the parent of each node, -1 for the first, and its leaves
            Ints above{-1}, depth{1}, used;
            std::vector<Leaf> below;
            for (size_t node = 0; node < above.size(); ++node) {  // grows during the loop
                const int64_t n_children =
                    rule.min_children + random.below(rule.max_children - rule.min_children + 1);
                const auto n = int(std::min<int64_t>(n_children, int64_t(set.size())));
                for (const int32_t feature : distinct(random, set, chances, n)) {
                    if (set.size() > 1 && depth[node] < n_levels && random.uniform() < kNested) {
                        above.push_back(int32_t(node));
                        depth.push_back(depth[node] + 1);
                    } else {
                        below.push_back({int32_t(node), feature});
                        used.push_back(feature);
                    }
                }
            }
            const int64_t cost = 2 * int64_t(above.size()) + features.n_edges(used);
            if (total + cost > budget || n_levels == 0) {
                n_misses += 1;
                continue;
            }
            n_misses = 0;
            total += cost;
            const auto first = int32_t(parent.size());
            for (const int32_t node : above) parent.push_back(node < 0 ? output : first + node);
            for (const Leaf& leaf : below) leaves.push_back({first + leaf.node, leaf.feature});
        }
    }
    const Ints place = breadth_first(parent, rule.n_outputs);
    for (Leaf& leaf : leaves) leaf.node = place[leaf.node];
    std::stable_sort(leaves.begin(), leaves.end(),
                     [](const Leaf& a, const Leaf& b) { return a.node < b.node; });
    Grown grown{{renumbered(parent, place), {}}, {}};
    for (const Leaf& leaf : leaves) {
        grown.shape.leaf_parent.push_back(leaf.node);
        grown.feature.push_back(leaf.feature);
    }
    return grown;
}

Grown grow_shape(const GrowthRule& rule, const Features& features, Random& random,
                 Random& of_features, LeafSampler* sampler) {
    if (!rule.sets.empty() && rule.n_weights > 0)
        return grow_sets(rule, features, rule.n_weights, random);
    if (rule.n_weights > 0 && !rule.groups.empty())
        return grow_groups_to(rule, features, random, of_features, sampler);
    Grown grown{
        rule.n_weights > 0 ? grow_to(rule, rule.n_weights, random) : grow_between(rule, random),
        {}};
    if (!rule.sets.empty()) {  // the structure says how many weights there are
        const auto n = int64_t(2 * grown.shape.parent.size() + grown.shape.leaf_parent.size());
        return grow_sets(rule, features, n - rule.n_outputs, random);
    }
    grown.feature = sample_features(rule, grown.shape, of_features, sampler);
    return grown;
}

// -- the rest of a tree ---------------------------------------------------------------------

void choose_activations(const GrowthRule& rule, Random random, GrownTree& tree) {
    std::vector<double> weights;
    for (const GrowthRule::Kind& kind : rule.inner) weights.push_back(kind.chance);
    const Chances chances(weights);
    for (int node = 0; node < int(tree.parent.size()); ++node) {
        const GrowthRule::Kind& kind =
            node < rule.n_outputs ? rule.output : rule.inner[chances.draw(random)];
        tree.activation.push_back(kind.code);
        tree.activation_parameters.insert(tree.activation_parameters.end(), kind.parameters.begin(),
                                          kind.parameters.end());
    }
}

// Biases, edges and leaves. The edges of a feature vary together as much as one edge would.
void choose_weights(const GrowthRule& rule, Random random, const Features& features,
                    const Grown& grown, GrownTree& tree) {
    const Shape& shape = grown.shape;
    if (rule.is_uniform) {
        const size_t n = 2 * shape.parent.size() - rule.n_outputs + tree.leaf_parent.size();
        for (size_t i = 0; i < n; ++i) tree.weights.push_back(random.uniform());
        return;
    }
    Ints n_children(shape.parent.size());
    for (const int32_t node : shape.parent)
        if (node >= 0) n_children[node] += 1;
    for (const int32_t node : shape.leaf_parent) n_children[node] += 1;
    const auto spread = [&](int node) { return rule.init_scale / std::sqrt(n_children[node]); };
    tree.weights.assign(shape.parent.size(), 0.0);
    for (size_t node = size_t(rule.n_outputs); node < shape.parent.size(); ++node)
        tree.weights.push_back(random.normal() * spread(shape.parent[node]));
    for (size_t leaf = 0; leaf < grown.feature.size(); ++leaf) {
        const double n_inputs = double(features.inputs(grown.feature[leaf]).size());
        const double scale = spread(shape.leaf_parent[leaf]) / std::sqrt(n_inputs);
        for (int i = 0; i < int(n_inputs); ++i) tree.weights.push_back(random.normal() * scale);
    }
}

}  // namespace

void check_rule(const GrowthRule& rule) {
    const auto require = [](bool ok, const char* what) {
        if (!ok) throw std::invalid_argument(std::string("not a rule of growth: ") + what);
    };
    require(rule.n_inputs > 0 && rule.n_outputs > 0 && rule.n_outputs <= kLargestSize, "counts");
    require(rule.max_depth >= rule.top_depth() && rule.max_depth < INT32_MAX, "max_depth");
    require(rule.min_children >= 1 && rule.max_children >= rule.min_children &&
                rule.max_children <= kLargestSize,
            "children");
    require(rule.leaf_probability >= 0 && rule.leaf_probability <= 1, "leaf_probability");
    require(rule.min_size <= rule.max_size && rule.max_size <= kLargestSize, "sizes");
    require(rule.n_weights <= 4 * kLargestSize, "n_weights");
    require(
        rule.n_weights <= 0 || rule.n_weights >= int64_t(rule.n_outputs) * (1 + rule.min_children),
        "n_weights");
    require(rule.groups.empty() || int(rule.groups.size()) == rule.n_inputs, "groups");
    for (size_t i = 0, last = 0; i < rule.groups.size(); ++i) {
        if (rule.groups[i] < 0) continue;
        require(size_t(rule.groups[i]) >= last, "groups");
        last = size_t(rule.groups[i]);
    }
    require(rule.n_features() > 0, "groups");
    require(rule.chances.empty() || int(rule.chances.size()) == rule.n_features(), "chances");
    double total = 0;
    for (const double chance : rule.chances) {
        require(chance >= 0, "chances");
        total += chance;
    }
    require(rule.chances.empty() || (total > 0 && std::isfinite(total)), "chances");
    for (const Ints& set : rule.sets)
        for (const int32_t feature : set) require(feature >= 0, "sets");
    require(rule.sets.empty() || rule.image.empty(), "sets");
    double n_pixels = 1;
    for (const int32_t n : rule.image) {
        require(n > 0, "image");
        n_pixels *= n;
    }
    require(rule.image.empty() ||
                (n_pixels <= rule.n_features() && rule.n_features() % int(n_pixels) == 0),
            "image");
    require(
        rule.min_spread > 0 && rule.max_spread >= rule.min_spread && std::isfinite(rule.max_spread),
        "spread");
    require(rule.n_ramps.empty() || int(rule.n_ramps.size()) == rule.n_inputs, "n_ramps");
    for (int i = 0; i < int(rule.n_ramps.size()); ++i)
        require(rule.n_ramps[i] >= 0 && rule.n_ramps[i] < rule.n_inputs - i, "n_ramps");
    require(!rule.inner.empty(), "activations");
    double chances = 0;
    for (const GrowthRule::Kind& kind : rule.inner) {
        require(kind.chance >= 0, "activations");
        chances += kind.chance;
    }
    require(chances > 0 && std::isfinite(chances), "activations");
}

int GrowthRule::n_features() const {
    if (groups.empty()) return n_inputs;
    return 1 + *std::max_element(groups.begin(), groups.end());
}

std::vector<int32_t> sample_features(const GrowthRule& rule, uint64_t seed,
                                     const std::vector<int32_t>& parent,
                                     const std::vector<int32_t>& leaf_parent) {
    for (size_t node = 0; node < parent.size(); ++node)
        if (parent[node] < -1 || parent[node] >= int(node))
            throw std::invalid_argument("parent must come before its children");
    for (const int32_t node : leaf_parent)
        if (node < 0 || node >= int(parent.size()))
            throw std::invalid_argument("leaf_parent has the entry " + std::to_string(node));
    Random random(seed, kFeatures);
    return sample_features(rule, {parent, leaf_parent}, random, nullptr);
}

GrownTree grow(const GrowthRule& rule, uint64_t seed, LeafSampler* sampler) {
    const Features features(rule);
    Random structure(seed, kStructure), of_features(seed, kFeatures), ramps(seed, kRamps);
    const Grown grown = grow_shape(rule, features, structure, of_features, sampler);
    GrownTree tree;
    tree.parent = grown.shape.parent;
    tree.trains_activations = rule.trains_activations;
    for (size_t leaf = 0; leaf < grown.feature.size(); ++leaf)
        for (const int32_t input : features.inputs(grown.feature[leaf])) {
            tree.leaf_parent.push_back(grown.shape.leaf_parent[leaf]);
            const int n_ramps = rule.n_ramps.empty() ? 0 : rule.n_ramps[input];
            const bool moves = n_ramps > 0 && ramps.uniform() < rule.ramp_fraction;
            tree.leaf_input.push_back(moves ? input + 1 + int32_t(ramps.below(n_ramps)) : input);
        }
    choose_activations(rule, Random(seed, kActivations), tree);
    choose_weights(rule, Random(seed, kWeights), features, grown, tree);
    if (rule.trains_activations)
        tree.weights.insert(tree.weights.end(), tree.activation_parameters.begin(),
                            tree.activation_parameters.end());
    return tree;
}

}  // namespace bnt
