#include "random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "generator.hpp"

namespace bnt {

namespace {

// Rows shuffled between two looks for an interruption: some 20 ms.
constexpr int64_t kStride = int64_t(1) << 20;

bool shuffle(SplitMix64& random, int32_t* entries, int64_t n, const Hooks& hooks) {
    for (int64_t last = n - 1; last > 0; last -= kStride) {
        if (n > kStride && hooks.interrupted && hooks.interrupted(hooks.context)) return false;
        for (int64_t i = last; i > std::max<int64_t>(0, last - kStride); --i) {
            const int64_t j = int64_t(((random.next() >> 32) * uint64_t(i + 1)) >> 32);
            std::swap(entries[i], entries[j]);
        }
    }
    return true;
}

}  // namespace

bool epoch_order(uint64_t seed, uint64_t epoch, int64_t n, int64_t block_rows, int32_t* order,
                 const Hooks& hooks) {
    SplitMix64 mixer{seed};
    SplitMix64 random{mixer.next() + epoch * 0xd1342543de82ef95ull};
    if (block_rows <= 0 || block_rows > n) block_rows = std::max<int64_t>(n, 1);
    std::vector<int32_t> blocks((n + block_rows - 1) / block_rows);
    std::iota(blocks.begin(), blocks.end(), 0);
    if (!shuffle(random, blocks.data(), int64_t(blocks.size()), hooks)) {
        std::iota(order, order + n, 0);
        return false;
    }
    int32_t* next = order;
    for (const int32_t block : blocks)
        for (int64_t i = block * block_rows; i < std::min(n, (block + 1) * block_rows); ++i)
            *next++ = int32_t(i);
    const int64_t window = std::min(n, block_rows * kBlocksPerWindow);
    for (int64_t first = 0; first < n; first += window)
        if (!shuffle(random, order + first, std::min(window, n - first), hooks)) return false;
    return true;
}

void most_costly_first(const double* cost, int64_t n, int32_t* rows) {
    std::stable_sort(rows, rows + n, [&](int32_t a, int32_t b) { return cost[a] > cost[b]; });
}

void lowest_first(const double* value, int n, int k, int32_t* positions) {
    for (int i = 0; i < n; ++i) positions[i] = i;
    const auto is_before = [&](int32_t a, int32_t b) {
        return value[a] < value[b] || (value[a] == value[b] && a < b);
    };
    if (k < n) std::nth_element(positions, positions + k, positions + n, is_before);
    std::sort(positions, positions + k, is_before);
}

void uniforms(uint64_t seed, uint64_t first, int n, double* out) {
    SplitMix64 mixer{seed};
    const uint64_t start = mixer.next();
    for (int i = 0; i < n; ++i) {
        SplitMix64 random{start + (first + uint64_t(i)) * 0xd1342543de82ef95ull};
        out[i] = double(random.next() >> 11) * 0x1p-53;
    }
}

double uniform(uint64_t seed, uint64_t i) {
    double number;
    uniforms(seed, i, 1, &number);
    return number;
}

}  // namespace bnt
