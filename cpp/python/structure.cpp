// The structure of a tree, and a structure with weights, as Python objects.
#include <nanobind/stl/shared_ptr.h>

#include "../trained.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "weighted_tree.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

// A read-only view of an array that the structure owns.
template <class T>
nb::object view(nb::handle self, const T* data, size_t n) {
    return nb::cast(nb::ndarray<nb::numpy, const T>(data, {n}, self));
}

template <class Get>
auto array_of(Get get) {
    return [get](nb::handle self) {
        const auto [data, n] = get(nb::cast<const Structure&>(self).tree());
        return view(self, data, size_t(n));
    };
}

// f of the weights of a tree, of their type.
template <class F>
auto with_weights(const WeightedTree& tree, F&& f) {
    return tree.is_single() ? f(tree.theta<float>()) : f(tree.theta<double>());
}

std::shared_ptr<Structure> with_leaf_inputs(const Structure& structure, nb::handle leaf_input) {
    const Tree& t = structure.tree();
    return std::make_shared<Structure>(
        t.n_inputs, t.n_outputs, std::vector<int32_t>(t.parent, t.parent + t.n_nodes),
        std::vector<uint8_t>(t.activation, t.activation + t.n_nodes),
        std::vector<int32_t>(t.leaf_parent, t.leaf_parent + t.n_leaves),
        as_vector<int32_t>(leaf_input, "leaf_input"),
        std::vector<double>(t.phi64, t.phi64 + t.n_phi), t.phi_is_trained);
}

nb::tuple extended(const WeightedTree& tree, nb::handle factor, nb::handle output, nb::handle input,
                   nb::handle weight, nb::handle bias) {
    const Tree& t = tree.tree();
    const In<int32_t> outputs = as_array<int32_t>(output, "output");
    const In<int32_t> inputs = as_array<int32_t>(input, "input", outputs.size());
    const In<double> weights = as_array<double>(weight, "weight", outputs.size());
    const In<double> biases = as_array<double>(bias, "bias", size_t(t.n_outputs));
    for (size_t i = 0; i < outputs.size(); ++i)
        if (outputs.data()[i] < 0 || outputs.data()[i] >= t.n_outputs)
            fail("output has a number that is not one of an output");
    const OutputLeaves leaves{int(outputs.size()), outputs.data(), inputs.data(), weights.data(),
                              biases.data()};
    return with_weights(tree, [&](const auto* theta) {
        auto result = with_output_leaves(t, theta, as_number(factor, "factor"), leaves);
        return nb::make_tuple(std::shared_ptr<Structure>(std::move(result.structure)),
                              new_array(result.theta.data(), {result.theta.size()}));
    });
}

nb::tuple idle(const WeightedTree& tree, nb::handle low, nb::handle high, nb::handle tolerance) {
    const size_t n_inputs = size_t(tree.tree().n_inputs);
    const In<double> lows = as_array<double>(low, "low", n_inputs);
    const In<double> highs = as_array<double>(high, "high", n_inputs);
    const IdleBranches found = with_weights(tree, [&](const auto* theta) {
        return idle_branches(tree.tree(), theta, lows.data(), highs.data(),
                             as_number(tolerance, "tolerance"));
    });
    return nb::make_tuple(new_array(found.place.data(), {found.place.size()}),
                          new_array(found.middle.data(), {found.middle.size()}));
}

}  // namespace

void bind_structure(nb::module_& m) {
    nb::class_<Structure>(m, "Structure",
                          "The checked structure of a tree, shared by all trees that have it.")
        .def(
            "__init__",
            [](Structure* self, nb::handle n_inputs, nb::handle n_outputs, nb::handle parent,
               nb::handle activation, nb::handle leaf_parent, nb::handle leaf_input,
               nb::handle activation_parameters, nb::handle trains_activations) {
                constexpr int64_t most = (int64_t(1) << 31) - 1;
                new (self)
                    Structure(int(as_whole(n_inputs, "n_inputs", 1, most)),
                              int(as_whole(n_outputs, "n_outputs", 1, most)),
                              as_vector<int32_t>(parent, "parent"),
                              as_vector<uint8_t>(activation, "activation"),
                              as_vector<int32_t>(leaf_parent, "leaf_parent"),
                              as_vector<int32_t>(leaf_input, "leaf_input"),
                              as_vector<double>(activation_parameters, "activation_parameters"),
                              as_bool(trains_activations, "trains_activations"));
            },
            "n_inputs"_a, "n_outputs"_a, "parent"_a, "activation"_a, "leaf_parent"_a,
            "leaf_input"_a, "activation_parameters"_a, "trains_activations"_a,
            nb::sig("def __init__(self, n_inputs: int, n_outputs: int, "
                    "parent: numpy.typing.NDArray[typing.Any], activation: "
                    "numpy.typing.NDArray[typing.Any], "
                    "leaf_parent: numpy.typing.NDArray[typing.Any], "
                    "leaf_input: numpy.typing.NDArray[typing.Any], "
                    "activation_parameters: numpy.typing.NDArray[typing.Any], "
                    "trains_activations: bool) -> None"))
        .def("with_leaf_inputs", &with_leaf_inputs, "leaf_input"_a,
             "Return the structure with other inputs of its leaves.",
             nb::sig("def with_leaf_inputs(self, leaf_input: numpy.typing.NDArray[typing.Any]) -> "
                     "Structure"))
        .def_prop_ro("n_inputs", [](const Structure& s) { return s.tree().n_inputs; })
        .def_prop_ro("n_outputs", [](const Structure& s) { return s.tree().n_outputs; })
        .def_prop_ro("parent",
                     array_of([](const Tree& t) { return std::pair(t.parent, t.n_nodes); }),
                     nb::sig("def parent(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("activation",
                     array_of([](const Tree& t) { return std::pair(t.activation, t.n_nodes); }),
                     nb::sig("def activation(self) -> numpy.typing.NDArray[numpy.uint8]"))
        .def_prop_ro("leaf_parent",
                     array_of([](const Tree& t) { return std::pair(t.leaf_parent, t.n_leaves); }),
                     nb::sig("def leaf_parent(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("leaf_input",
                     array_of([](const Tree& t) { return std::pair(t.leaf_input, t.n_leaves); }),
                     nb::sig("def leaf_input(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("activation_parameters",
                     array_of([](const Tree& t) { return std::pair(t.phi64, t.n_phi); }),
                     nb::sig("def activation_parameters(self) -> "
                             "numpy.typing.NDArray[numpy.float64]"))
        .def_prop_ro("trains_activations",
                     [](const Structure& s) { return s.tree().phi_is_trained; })
        .def_prop_ro("n_parameters", [](const Structure& s) { return n_parameters(s.tree()); })
        .def_prop_ro(
            "output_activation", [](const Structure& s) { return s.tree().output_activation; },
            "Code of the activation that all outputs have, or -1.")
        .def_prop_ro(
            "hidden_activation", [](const Structure& s) { return s.tree().hidden_activation; },
            "Code of the activation that all other nodes have, or -1.")
        .def_prop_ro("n_weights", [](const Structure& s) { return n_weights(s.tree()); })
        .def_prop_ro("child_start", array_of([](const Tree& t) {
                         return std::pair(t.child_start, t.n_nodes + 1);
                     }),
                     nb::sig("def child_start(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("leaf_start",
                     array_of([](const Tree& t) { return std::pair(t.leaf_start, t.n_nodes + 1); }),
                     nb::sig("def leaf_start(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro("level_start", array_of([](const Tree& t) {
                         return std::pair(t.level_start, t.n_levels + 1);
                     }),
                     nb::sig("def level_start(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def_prop_ro(
            "activation_parameter_start",
            array_of([](const Tree& t) { return std::pair(t.phi_start, t.n_nodes + 1); }),
            nb::sig("def activation_parameter_start(self) -> numpy.typing.NDArray[numpy.int32]"));
    nb::class_<WeightedTree>(m, "WeightedTree", "A structure with weights.")
        .def(
            "__init__",
            [](WeightedTree* self, nb::handle structure, nb::handle parameters) {
                new (self) WeightedTree(structure, parameters);
            },
            "structure"_a, "parameters"_a,
            nb::sig("def __init__(self, structure: Structure, "
                    "parameters: numpy.typing.NDArray[typing.Any]) -> None"));
    nb::class_<PlannedTree>(m, "PlannedTree", "A tree that is grown by the thread that trains it.")
        .def(
            "__init__",
            [](PlannedTree* self, nb::handle rule, nb::handle seed, nb::handle is_single) {
                new (self) PlannedTree(rule, as_seed(seed), as_bool(is_single, "is_single"));
            },
            "rule"_a, "seed"_a, "is_single"_a,
            nb::sig("def __init__(self, rule: GrowthRule, seed: int, is_single: bool) -> None"));
    m.def("with_output_leaves", &extended, "tree"_a, "factor"_a, "output"_a, "input"_a, "weight"_a,
          "bias"_a,
          "Return structure and weights of a tree of linear outputs that are multiplied by a "
          "factor, and have more leaves and other biases.",
          nb::sig("def with_output_leaves(tree: WeightedTree, factor: float, "
                  "output: numpy.typing.NDArray[typing.Any], "
                  "input: numpy.typing.NDArray[typing.Any], "
                  "weight: numpy.typing.NDArray[typing.Any], "
                  "bias: numpy.typing.NDArray[typing.Any]) -> "
                  "tuple[Structure, numpy.typing.NDArray[typing.Any]]"));
    m.def("idle_branches", &idle, "tree"_a, "low"_a, "high"_a, "tolerance"_a,
          "Return the edges and leaves that contribute almost the same for all inputs between two "
          "limits, and the middle of what each contributes.",
          nb::sig("def idle_branches(tree: WeightedTree, "
                  "low: numpy.typing.NDArray[typing.Any], "
                  "high: numpy.typing.NDArray[typing.Any], tolerance: float) -> "
                  "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64]]"));
}

}  // namespace bnt
