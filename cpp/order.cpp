#include "order.hpp"

#include <algorithm>

namespace bnt {

namespace {

// SplitMix64 (Steele, Lea and Flood 2014): a counter passed through a mixer.
struct SplitMix64 {
    uint64_t state;
    uint64_t next() {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

}  // namespace

void epoch_order(uint64_t seed, uint64_t epoch, int64_t n, int32_t* order) {
    SplitMix64 mixer{seed};
    SplitMix64 random{mixer.next() + epoch * 0xd1342543de82ef95ull};
    for (int64_t i = 0; i < n; ++i) order[i] = int32_t(i);
    for (int64_t i = n - 1; i > 0; --i) {
        const int64_t j = int64_t(((random.next() >> 32) * uint64_t(i + 1)) >> 32);
        const int32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

void most_costly_first(const double* cost, int64_t n, int32_t* rows) {
    std::stable_sort(rows, rows + n, [&](int32_t a, int32_t b) { return cost[a] > cost[b]; });
}

void lowest_first(const double* value, int n, int k, int32_t* positions) {
    for (int i = 0; i < n; ++i) positions[i] = i;
    std::partial_sort(positions, positions + k, positions + n, [&](int32_t a, int32_t b) {
        return value[a] < value[b] || (value[a] == value[b] && a < b);
    });
}

double uniform(uint64_t seed, uint64_t i) {
    SplitMix64 mixer{seed};
    SplitMix64 random{mixer.next() + i * 0xd1342543de82ef95ull};
    return double(random.next() >> 11) * 0x1p-53;
}

}  // namespace bnt
