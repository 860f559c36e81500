// Rules of growth, and trees that are grown by them.
#include "../growth.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <stdexcept>

#include "bindings.hpp"
#include "gil.hpp"
#include "job.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

constexpr int64_t kMost = INT32_MAX;

template <class T>
std::vector<T> vector_or_none(Fields& fields, const char* name) {
    const nb::object value = fields.optional(name);
    return value.is_none() ? std::vector<T>() : as_vector<T>(value, name);
}

// The fields of a rule by name, as GrowthRule has them.
GrowthRule as_rule(Fields fields) {
    const auto whole = [&](const char* name, int64_t low) {
        return as_whole(fields.optional(name), name, low, kMost);
    };
    const auto number = [&](const char* name) { return as_number(fields.optional(name), name); };
    const auto truth = [&](const char* name) { return as_bool(fields.optional(name), name); };
    const auto items = [&](nb::handle values, const char* name) {
        nb::object list = nb::steal(PySequence_List(values.ptr()));
        if (!list.is_valid()) {
            PyErr_Clear();
            fail_type(std::string(name) + " must be a list");
        }
        return list;
    };
    // (code, chance, parameters) of an activation
    const auto kind = [&](nb::handle value, const char* name) {
        const nb::object parts = items(value, name);
        if (nb::len(parts) != 3) fail(std::string(name) + " needs code, chance and parameters");
        GrowthRule::Kind result;
        result.code =
            uint8_t(as_whole(parts[0], name, 0, int64_t(registry().activations.size()) - 1));
        result.chance = as_number(parts[1], name);
        for (nb::handle parameter : items(parts[2], name))
            result.parameters.push_back(as_number(parameter, name));
        if (result.parameters.size() != registry().activations[result.code].parameters.size())
            fail(std::string(name) + " has another number of parameters");
        return result;
    };
    GrowthRule rule;
    rule.n_inputs = int(whole("n_inputs", 1));
    rule.n_outputs = int(whole("n_outputs", 1));
    rule.max_depth = int(whole("max_depth", 0));
    rule.min_children = int(whole("min_children", 1));
    rule.max_children = int(whole("max_children", 1));
    rule.n_weights = whole("n_weights", 0);
    rule.deepen = truth("deepen");
    rule.leaf_probability = number("leaf_probability");
    rule.min_size = whole("min_size", 1);
    rule.max_size = whole("max_size", 1);
    rule.mean_size = number("mean_size");
    rule.groups = vector_or_none<int32_t>(fields, "groups");
    rule.chances = vector_or_none<double>(fields, "chances");
    if (const nb::object sets = fields.optional("sets"); !sets.is_none())
        for (nb::handle set : items(sets, "sets"))
            rule.sets.push_back(as_vector<int32_t>(set, "sets"));
    rule.image = vector_or_none<int32_t>(fields, "image");
    if (!rule.image.empty()) {
        rule.min_spread = number("min_spread");
        rule.max_spread = number("max_spread");
        rule.field_depth = int(whole("field_depth", 0));
    }
    rule.n_ramps = vector_or_none<int32_t>(fields, "n_ramps");
    if (!rule.n_ramps.empty()) rule.ramp_fraction = number("ramp_fraction");
    rule.output = kind(fields.optional("output"), "output");
    for (nb::handle inner : items(fields.optional("inner"), "inner"))
        rule.inner.push_back(kind(inner, "inner"));
    rule.trains_activations = truth("trains_activations");
    rule.is_uniform = truth("is_uniform");
    rule.init_scale = number("init_scale");
    for (const char* name : {"min_spread", "max_spread", "field_depth", "ramp_fraction"})
        fields.optional(name);  // they may be there
    fields.require_no_other();
    check_rule(rule);
    return rule;
}

// A callable of Python that chooses features.
class PythonSampler : public LeafSampler {
  public:
    explicit PythonSampler(nb::handle function) : function_(function) {}
    std::vector<int32_t> sample(const std::vector<int32_t>& parent,
                                const std::vector<int32_t>& leaf_parent) override {
        return as_vector<int32_t>(function_(new_array(leaf_parent.data(), {leaf_parent.size()}),
                                            new_array(parent.data(), {parent.size()})),
                                  "the result of feature_sampling");
    }

  private:
    nb::handle function_;
};

template <class T>
nb::object new_vector(const std::vector<T>& values) {
    return new_array(values.data(), {values.size()});
}

nb::tuple grow_tree(const GrowthRule& rule, nb::handle seed, nb::handle sampler) {
    const uint64_t from = as_seed(seed);
    GrownTree tree;
    if (sampler.is_none()) {
        GilRelease release;
        tree = grow(rule, from);
    } else {
        PythonSampler python(sampler);
        tree = grow(rule, from, &python);
    }
    nb::object weights = new_vector(tree.weights);
    auto structure = std::make_shared<Structure>(
        rule.n_inputs, rule.n_outputs, std::move(tree.parent), std::move(tree.activation),
        std::move(tree.leaf_parent), std::move(tree.leaf_input),
        std::move(tree.activation_parameters), tree.trains_activations);
    return nb::make_tuple(std::move(structure), weights);
}

}  // namespace

void bind_growth(nb::module_& m) {
    nb::class_<GrowthRule>(m, "GrowthRule", "A distribution of trees; see cpp/growth.hpp.")
        .def(
            "__init__",
            [](GrowthRule* self, const nb::kwargs& fields) {
                new (self) GrowthRule(as_rule(Fields(fields)));
            },
            nb::sig("def __init__(self, **fields: typing.Any) -> None"));
    m.def(
        "sample_features",
        [](const GrowthRule& rule, nb::handle seed, nb::handle parent, nb::handle leaf_parent) {
            return new_vector(sample_features(rule, as_seed(seed),
                                              as_vector<int32_t>(parent, "parent"),
                                              as_vector<int32_t>(leaf_parent, "leaf_parent")));
        },
        "rule"_a, "seed"_a, "parent"_a, "leaf_parent"_a,
        "Return the feature of each leaf of a structure.",
        nb::sig("def sample_features(rule: GrowthRule, seed: int, "
                "parent: numpy.typing.NDArray[typing.Any], "
                "leaf_parent: numpy.typing.NDArray[typing.Any]) -> "
                "numpy.typing.NDArray[numpy.int32]"));
    m.def("grow", &grow_tree, "rule"_a, "seed"_a, "sampler"_a = nb::none(),
          "Return structure and weights of a random tree, a function of the rule and the seed.\n\n"
          "`sampler` is called with leaf_parent and parent, and returns the feature of each leaf.",
          nb::sig("def grow(rule: GrowthRule, seed: int, "
                  "sampler: collections.abc.Callable[..., numpy.typing.NDArray[numpy.int32]] | "
                  "None = None) -> tuple[Structure, numpy.typing.NDArray[numpy.float64]]"));
}

}  // namespace bnt
