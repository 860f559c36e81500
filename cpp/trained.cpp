#include "trained.hpp"

#include <algorithm>
#include <cmath>

namespace bnt {

namespace {

struct Interval {
    double low = 0, high = 0;

    double span() const { return high - low; }
    void add(Interval other) {
        low += other.low;
        high += other.high;
    }
    Interval times(double weight) const {
        const double a = weight * low, b = weight * high;
        return a <= b ? Interval{a, b} : Interval{b, a};
    }
};

// The values of an activation between two weighted sums. All activations are monotone, apart from
// an extremum at 0 or at their first parameter; other places are values of it, too.
Interval values_between(int code, const double* parameters, int n_parameters, Interval sum) {
    const double turn = n_parameters ? parameters[0] : 0.0;
    double values[4] = {sum.low, sum.high, std::clamp(0.0, sum.low, sum.high),
                        std::clamp(turn, sum.low, sum.high)};
    activation_values(code, parameters, 4, values);
    if (!(sum.low <= sum.high) || std::any_of(values, values + 4, [](double v) { return v != v; }))
        return {-INFINITY, INFINITY};
    const auto [least, most] = std::minmax_element(values, values + 4);
    return {*least, *most};
}

}  // namespace

template <class T>
ExtendedTree<T> with_output_leaves(const Tree& t, const T* theta, double factor,
                                   const OutputLeaves& leaves) {
    const int k = t.n_outputs, n = t.n_nodes, n_leaves = t.n_leaves + leaves.n;
    const T *edge = theta + n, *leaf_weight = edge + n - k, *phi = leaf_weight + t.n_leaves;
    ExtendedTree<T> result;
    result.theta.reserve(size_t(n_parameters(t) + leaves.n));
    const auto scaled = [&](int node, T weight) {  // node: whose sum the weight belongs to
        return node < k ? factor * double(weight) : double(weight);
    };
    for (int j = 0; j < n; ++j)
        result.theta.push_back(T(scaled(j, theta[j]) + (j < k ? leaves.bias[j] : 0.0)));
    for (int j = k; j < n; ++j) result.theta.push_back(T(scaled(t.parent[j], edge[j - k])));
    std::vector<int32_t> leaf_parent, leaf_input;
    leaf_parent.reserve(n_leaves);
    leaf_input.reserve(n_leaves);
    const auto append = [&](int parent, int input, double weight) {
        leaf_parent.push_back(parent);
        leaf_input.push_back(input);
        result.theta.push_back(T(weight));
    };
    for (int j = 0; j < n; ++j) {
        for (int l = t.leaf_start[j]; l < t.leaf_start[j + 1]; ++l)
            append(j, t.leaf_input[l], scaled(j, leaf_weight[l]));
        for (int i = 0; j < k && i < leaves.n; ++i)
            if (leaves.output[i] == j) append(j, leaves.input[i], leaves.weight[i]);
    }
    if (t.phi_is_trained) result.theta.insert(result.theta.end(), phi, phi + t.n_phi);
    result.structure = std::make_unique<Structure>(
        t.n_inputs, k, std::vector<int32_t>(t.parent, t.parent + n),
        std::vector<uint8_t>(t.activation, t.activation + n), std::move(leaf_parent),
        std::move(leaf_input), std::vector<double>(t.phi64, t.phi64 + t.n_phi), t.phi_is_trained);
    return result;
}

template <class T>
IdleBranches idle_branches(const Tree& t, const T* theta, const double* low, const double* high,
                           double tolerance) {
    const int k = t.n_outputs, n = t.n_nodes;
    const T *edge = theta + n, *leaf_weight = edge + n - k, *phi = leaf_weight + t.n_leaves;
    const std::vector<double> trained(phi, phi + (t.phi_is_trained ? t.n_phi : 0));
    const double* parameters = t.phi_is_trained ? trained.data() : t.phi64;
    std::vector<Interval> sum(n), contribution(n - k + t.n_leaves);
    std::vector<double> spans(n);
    for (int j = 0; j < n; ++j) sum[j] = {double(theta[j]), double(theta[j])};
    const auto contribute = [&](int place, int parent, Interval values) {
        contribution[place] = values;
        sum[parent].add(values);
        spans[parent] += values.span();
    };
    for (int l = 0; l < t.n_leaves; ++l) {
        const int input = t.leaf_input[l];
        contribute(n - k + l, t.leaf_parent[l],
                   Interval{low[input], high[input]}.times(leaf_weight[l]));
    }
    for (int j = n - 1; j >= k; --j) {  // children come after their parents
        const int first = t.phi_start[j];
        const Interval values =
            values_between(t.activation[j], parameters + first, t.phi_start[j + 1] - first, sum[j]);
        contribute(j - k, t.parent[j], values.times(edge[j - k]));
    }
    IdleBranches idle;
    for (int i = 0; i < int(contribution.size()); ++i) {
        const double of_sum = spans[i < n - k ? t.parent[k + i] : t.leaf_parent[i - (n - k)]];
        if (!std::isfinite(of_sum) || !(contribution[i].span() <= tolerance * of_sum)) continue;
        idle.place.push_back(i);
        idle.middle.push_back((contribution[i].low + contribution[i].high) / 2);
    }
    return idle;
}

template ExtendedTree<float> with_output_leaves(const Tree&, const float*, double,
                                                const OutputLeaves&);
template ExtendedTree<double> with_output_leaves(const Tree&, const double*, double,
                                                 const OutputLeaves&);
template IdleBranches idle_branches(const Tree&, const float*, const double*, const double*,
                                    double);
template IdleBranches idle_branches(const Tree&, const double*, const double*, const double*,
                                    double);

}  // namespace bnt
