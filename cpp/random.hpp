// Orders of rows. Compiled once, for every processor.
#pragma once

#include <cstdint>

#include "engine.hpp"

namespace bnt {

// The order of examples in an epoch: a permutation that depends on (seed, epoch, n, block_rows) and
// on nothing else. Blocks of `block_rows` neighbours are put in random order, and the rows of each
// window of kBlocksPerWindow blocks are shuffled, so that reading a table in a file needs memory
// for one window only. With 0, all rows are one block.
constexpr int64_t kBlocksPerWindow = 64;
// Billions of rows take a minute: false if the caller interrupted it, with rows in any order.
bool epoch_order(uint64_t seed, uint64_t epoch, int64_t n, int64_t block_rows, int32_t* order,
                 const Hooks& hooks = {});

// Sorts rows so that those of the highest cost come first; equal ones keep their order. No cost is
// NaN.
void most_costly_first(const double* cost, int64_t n, int32_t* rows);

// Writes the k positions of the lowest values, the lowest first; of equal ones the earlier. No
// value is NaN.
void lowest_first(const double* value, int n, int k, int32_t* positions);

// A number in [0, 1) that depends on (seed, i) and on nothing else.
double uniform(uint64_t seed, uint64_t i);
// n such numbers, from i = first on.
void uniforms(uint64_t seed, uint64_t first, int n, double* out);

}  // namespace bnt
