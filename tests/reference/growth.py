"""Random trees as `GrowingNode` objects, drawn with the generator of the core."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["GrowingNode", "Random", "grow"]

LARGEST_SIZE = 20_000_000
MAX_TRIES = 1000
ENOUGH_WEIGHTS = 0.97
GROUP_TRIES = 16
DIRECT_SHARE = 0.15
NESTED = 0.35
MAX_MISSES = 8

STRUCTURE, FEATURES, RAMPS, ACTIVATIONS, WEIGHTS = range(5)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip


def log(x: float) -> float:
    """Return the logarithm, as the core computes it."""
    m, k = math.frexp(x)
    if m < math.sqrt(0.5):
        m, k = 2 * m, k - 1
    f = m - 1
    s = f / (2 + f)
    z, half = s * s, 0.5 * f * f
    w = z * z
    odd = w * (LOG[1] + w * (LOG[3] + w * LOG[5]))
    even = z * (LOG[0] + w * (LOG[2] + w * (LOG[4] + w * LOG[6])))
    low = s * (half + (odd + even)) + k * LN2_LOW
    return k * LN2_HIGH - ((half - low) - f)


def exp(x: float) -> float:
    """Return the exponential, as the core computes it."""
    if x < -700:
        return 0.0
    n = math.floor(x * 1.44269504088896340736 + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    total = 1.0
    for i in range(13, 0, -1):
        total = 1 + total * r / i
    return math.ldexp(total, n)


def mixed(state: int) -> tuple[int, int]:
    """Return the next state of SplitMix64, and its number."""
    mask = 2**64 - 1
    state = z = (state + 0x9E3779B97F4A7C15) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return state, z ^ (z >> 31)


class Random:
    """A stream of random numbers."""

    def __init__(self, seed: int, stream: int) -> None:
        _, start = mixed(seed)
        _, self.state = mixed((start + stream) % 2**64)
        self.spare: float | None = None

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        self.state, number = mixed(self.state)
        return (number >> 11) * 2.0**-53

    def below(self, n: int) -> int:
        """Return a number of 0, ..., n - 1."""
        return int(self.uniform() * n)

    def normal(self) -> float:
        """Return a normal number by Marsaglia's polar method."""
        if self.spare is not None:
            number, self.spare = self.spare, None
            return number
        while True:
            a, b = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            square = a * a + b * b
            if 2.0**-100 <= square < 1:
                factor = math.sqrt(-2 * log(square) / square)
                self.spare = b * factor
                return a * factor

    def position(self, weights: list[float]) -> int:
        """Return a position, with probabilities in proportion to the weights."""
        sums = [weights[0]]
        for weight in weights[1:]:
            sums.append(sums[-1] + weight)
        number = min(self.uniform() * sums[-1], math.nextafter(sums[-1], 0.0))
        return next(i for i, total in enumerate(sums) if total > number)

    def distinct(self, features: list[int], chances: list[float], n: int) -> list[int]:
        """Return n different features."""
        left, drawn = [chances[feature] for feature in features], []
        for _ in range(n):
            place = self.position(left)
            drawn.append(features[place])
            left[place] = 0.0
        return drawn


@dataclass(eq=False)
class GrowingNode:
    """A function node (`children` and `leaves`) of a tree that grows."""

    depth: int
    children: list[GrowingNode] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)  # their features, -1 as long as there is none

    @property
    def n_children(self) -> int:
        """Number of children, leaves included."""
        return len(self.children) + len(self.leaves)


Rule = dict[str, Any]


def breadth_first(outputs: list[GrowingNode]) -> list[GrowingNode]:
    """Return all nodes, level by level."""
    nodes, level = [], outputs
    while level:
        nodes += level
        level = [child for node in level for child in node.children]
    return nodes


def new_outputs(rule: Rule) -> list[GrowingNode]:
    """Return outputs without children: class nodes are below a root that is not stored."""
    return [GrowingNode(0 if rule["n_outputs"] == 1 else 1) for _ in range(rule["n_outputs"])]


def n_children(rule: Rule, random: Random) -> int:
    """Draw a number of children."""
    low, high = rule["min_children"], rule["max_children"]
    return low + random.below(high - low + 1)


def grow_levels(rule: Rule, random: Random) -> tuple[int, list[GrowingNode]]:
    """Draw a tree, and its size, which is too large if the tree is not finished."""
    outputs = new_outputs(rule)
    nodes = list(outputs)
    size = outputs[0].depth + len(outputs)
    for node in nodes:  # grows during the loop
        n = n_children(rule, random)
        size += n
        if size > rule["max_size"]:
            break
        for _ in range(n):
            if node.depth == rule["max_depth"] or random.uniform() < rule["leaf_probability"]:
                node.leaves.append(-1)
            else:
                node.children.append(GrowingNode(node.depth + 1))
        nodes += node.children
    return size, outputs


def grow_between(rule: Rule, random: Random) -> list[GrowingNode]:
    """Draw trees until one has a size within the limits."""
    total = 0
    for _ in range(MAX_TRIES):
        size, outputs = grow_levels(rule, random)
        if rule["min_size"] <= size <= rule["max_size"]:
            return outputs
        total += min(size, rule["max_size"] + 1)
        if total >= LARGEST_SIZE:
            break
    raise ValueError("no tree of this size")


def weights_of(output: GrowingNode) -> int:
    """Return the weights of an output: a bias or an edge and a bias for each node, and leaves."""
    nodes = breadth_first([output])
    return 2 * len(nodes) - 1 + sum(len(node.leaves) for node in nodes)


def grow_to(rule: Rule, n_weights: int, random: Random) -> list[GrowingNode]:
    """Grow a tree until it has a number of weights."""
    low, k = rule["min_children"], rule["n_outputs"]
    rule = rule | {"max_children": min(rule["max_children"], n_weights // k - 1)}
    outputs = new_outputs(rule)
    growing: list[list[GrowingNode]] = [[] for _ in outputs]  # a node for each leaf that can grow
    for output, leaves in zip(outputs, growing, strict=True):
        output.leaves = [-1] * n_children(rule, random)
        if output.depth < rule["max_depth"]:
            leaves += [output] * len(output.leaves)
    while True:
        sizes = [weights_of(output) for output in outputs]
        total = sum(sizes)
        able = [(sizes[i], i) for i in range(k) if growing[i]]
        if total + 1 + low > n_weights or not able:
            break
        leaves = growing[min(able)[1]]
        i = random.below(len(leaves))
        above, leaves[i] = leaves[i], leaves[-1]
        leaves.pop()
        n = min(n_children(rule, random), n_weights - total - 1)
        node = GrowingNode(above.depth + 1, leaves=[-1] * n)
        above.leaves.pop()
        above.children.append(node)
        if node.depth < rule["max_depth"]:
            leaves += [node] * n
    if rule["deepen"] and total + 1 + low <= n_weights and total < ENOUGH_WEIGHTS * n_weights:
        return grow_to(rule | {"max_depth": rule["max_depth"] + 1}, n_weights, random)
    return outputs


def inputs_of(rule: Rule) -> list[list[int]]:
    """Return the inputs of each feature."""
    groups = rule.get("groups")
    if groups is None:
        return [[i] for i in range(rule["n_inputs"])]
    return [[i for i, g in enumerate(groups) if g == f] for f in range(max(groups) + 1)]


def edges(inputs: list[list[int]], feature: int) -> list[int]:
    """Return the inputs of a feature; of the next one that has any, if it has none."""
    return next(group for group in inputs[feature:] if group)


def chances_of(rule: Rule, n_features: int) -> list[float]:
    """Return the relative probability of each feature."""
    chances = rule.get("chances")
    return [1.0] * n_features if chances is None else [float(chance) for chance in chances]


def choose_features(rule: Rule, outputs: list[GrowingNode], random: Random) -> None:
    """Choose the feature of each leaf."""
    n_features = len(inputs_of(rule))
    chances = chances_of(rule, n_features)
    if rule.get("image") is not None:
        choose_from_fields(rule, outputs, chances, random)
        return
    for node in breadth_first(outputs):
        for i in range(len(node.leaves)):
            if rule.get("chances") is None:
                node.leaves[i] = random.below(n_features)
            else:
                node.leaves[i] = random.position(chances)


def choose_from_fields(
    rule: Rule, outputs: list[GrowingNode], chances: list[float], random: Random
) -> None:
    """Choose features near the centre of the field of each subtree."""
    shape = [int(n) for n in rule["image"]]
    n_channels = len(chances) // math.prod(shape)

    def pixel(feature: int) -> list[int]:
        place, rest = [], feature // n_channels
        for n in reversed(shape):
            rest, along = divmod(rest, n)
            place.append(along)
        return place

    nodes = breadth_first(outputs)
    starts = [node for node in nodes if node.depth == rule["field_depth"]]
    fields = [breadth_first([start]) for start in starts]
    inside = {id(node) for field in fields for node in field}
    for node in nodes:
        if id(node) not in inside:
            node.leaves = [random.position(chances) for _ in node.leaves]
    for field_nodes in fields:
        if not any(node.leaves for node in field_nodes):
            continue
        centre = pixel(random.position(chances))
        low, high = rule["min_spread"], rule["max_spread"]
        spread = low * exp(random.uniform() * log(high / low))
        near = []
        for feature, chance in enumerate(chances):
            pairs = zip(pixel(feature), centre, strict=True)
            distance = float(sum((a - b) ** 2 for a, b in pairs))
            near.append(chance * exp(-0.5 * distance / (spread * spread)))
        for node in nodes:
            if any(node is other for other in field_nodes):
                node.leaves = [random.position(near) for _ in node.leaves]


def total_edges(inputs: list[list[int]], outputs: list[GrowingNode]) -> int:
    """Return the number of edges of all leaves."""
    nodes = breadth_first(outputs)
    return sum(len(edges(inputs, feature)) for node in nodes for feature in node.leaves)


def grow_groups_to(rule: Rule, random: Random, of_features: Random) -> list[GrowingNode]:
    """Grow trees whose features have several weights; return the one nearest to `n_weights`."""
    inputs, wanted, k = inputs_of(rule), rule["n_weights"], rule["n_outputs"]
    least = k * (1 + rule["min_children"])
    best, best_total, n_grown = [], 0, wanted
    for i in range(GROUP_TRIES):
        outputs = grow_to(rule, n_grown, random)
        choose_features(rule, outputs, of_features)
        total = 2 * len(breadth_first(outputs)) - k + total_edges(inputs, outputs)
        if i == 0 or best_total < total <= wanted or wanted < best_total > total:
            best, best_total = outputs, total
        if ENOUGH_WEIGHTS * wanted <= best_total <= wanted:
            break
        n_grown = max(least, min(wanted, int(n_grown * wanted / total)))
    return best


def rounds(sets: list[list[int]], chances: list[float], random: Random) -> Iterator[list[int]]:
    """Yield sets without end; in each round, a set comes as often as its chances say."""
    ends, total = [], 0.0
    for group in sets:
        share = 0.0
        for feature in group:
            share += chances[feature]
        total += share
        ends.append(total)
    n = len(sets)
    while True:
        offset = random.uniform()
        chosen = []
        for i in range(n):
            place = (i + offset) / n * total
            chosen.append(next((j for j, end in enumerate(ends) if end >= place), n - 1))
        for i in range(n - 1, 0, -1):
            j = random.below(i + 1)
            chosen[i], chosen[j] = chosen[j], chosen[i]
        for i in reversed(chosen):
            yield sets[i]


def grow_sets(rule: Rule, n_weights: int, random: Random) -> list[GrowingNode]:
    """Grow many small subtrees, each with the features of one set."""
    inputs, budget = inputs_of(rule), n_weights // rule["n_outputs"]
    chances = [
        chance if group else 0.0
        for chance, group in zip(chances_of(rule, len(inputs)), inputs, strict=True)
    ]
    possible = [feature for feature, chance in enumerate(chances) if chance > 0]
    sets = [[int(f) for f in group if f in possible] for group in rule["sets"]]
    series = rounds([group for group in sets if group], chances, random)
    outputs = new_outputs(rule)
    lowest = rule["max_depth"]
    for output in outputs:
        n_direct = max(1, min(len(possible), int(DIRECT_SHARE * budget)))
        output.leaves = random.distinct(possible, chances, n_direct)
        n_misses = 0
        while n_misses < MAX_MISSES:
            group = next(series)
            top = GrowingNode(output.depth + 1)
            nodes = [top]
            for node in nodes:  # grows during the loop
                n = min(n_children(rule, random), len(group))
                for feature in random.distinct(group, chances, n):
                    if len(group) > 1 and node.depth < lowest and random.uniform() < NESTED:
                        node.children.append(GrowingNode(node.depth + 1))
                    else:
                        node.leaves.append(feature)
                nodes += node.children
            cost = 2 * len(nodes) + total_edges(inputs, [top])
            before = 2 * len(breadth_first([output])) - 1 + total_edges(inputs, [output])
            if before + cost > budget or output.depth == lowest:
                n_misses += 1
            else:
                output.children.append(top)
                n_misses = 0
    return outputs


def grow_outputs(rule: Rule, random: Random, of_features: Random) -> list[GrowingNode]:
    """Draw structure and features by the rule."""
    n_weights, sets = rule["n_weights"], rule.get("sets")
    if n_weights and sets:
        return grow_sets(rule, n_weights, random)
    if n_weights and rule.get("groups") is not None:
        return grow_groups_to(rule, random, of_features)
    outputs = grow_to(rule, n_weights, random) if n_weights else grow_between(rule, random)
    if sets:
        nodes = breadth_first(outputs)
        n_drawn = 2 * len(nodes) - len(outputs) + sum(len(node.leaves) for node in nodes)
        return grow_sets(rule, n_drawn, random)
    choose_features(rule, outputs, of_features)
    return outputs


def grow(rule: Rule, seed: int) -> dict[str, list[Any]]:
    """Return the arrays of the tree that the core draws by a rule with a seed.

    Parameters
    ----------
    rule : dict
        The fields of `_core.GrowthRule`.
    seed : int
    """
    streams = [Random(seed, stream) for stream in range(5)]
    outputs = grow_outputs(rule, streams[STRUCTURE], streams[FEATURES])
    nodes, inputs, k = breadth_first(outputs), inputs_of(rule), len(outputs)
    number = {id(node): i for i, node in enumerate(nodes)}
    parent = [-1] * len(nodes)
    for node in nodes:
        for child in node.children:
            parent[number[id(child)]] = number[id(node)]
    leaf_parent, leaf_input, n_together = [], [], []
    n_ramps = rule.get("n_ramps")
    for node in nodes:
        for feature in node.leaves:
            group = edges(inputs, feature)
            for i in group:
                leaf_parent.append(number[id(node)])
                n_together.append(len(group))
                ramps = 0 if n_ramps is None else n_ramps[i]
                moves = ramps > 0 and streams[RAMPS].uniform() < rule["ramp_fraction"]
                leaf_input.append(i + 1 + streams[RAMPS].below(ramps) if moves else i)
    activation, numbers = [], []
    chances = [chance for _, chance, _ in rule["inner"]]
    for i in range(len(nodes)):
        code, _, values = (
            rule["output"] if i < k else rule["inner"][streams[ACTIVATIONS].position(chances)]
        )
        activation.append(code)
        numbers += values
    random, weights = streams[WEIGHTS], [0.0] * len(nodes)
    if rule["is_uniform"]:
        weights = [random.uniform() for _ in range(2 * len(nodes) - k + len(leaf_parent))]
    else:
        scale = rule["init_scale"]
        spread = [scale / math.sqrt(node.n_children) for node in nodes]
        weights += [random.normal() * spread[above] for above in parent[k:]]
        for above, n in zip(leaf_parent, n_together, strict=True):
            weights.append(random.normal() * (spread[above] / math.sqrt(n)))
    return {
        "parent": parent,
        "activation": activation,
        "leaf_parent": leaf_parent,
        "leaf_input": leaf_input,
        "parameters": weights + (numbers if rule["trains_activations"] else []),
        "activation_parameters": numbers,
    }
