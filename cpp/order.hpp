// Orders of rows. Compiled once, for every processor.
#pragma once

#include <cstdint>

namespace bnt {

// The order of examples in an epoch: a permutation that depends on (seed, epoch, n) and on nothing
// else.
void epoch_order(uint64_t seed, uint64_t epoch, int64_t n, int32_t* order);

// Sorts rows so that those of the highest cost come first; equal ones keep their order. No cost is
// NaN.
void most_costly_first(const double* cost, int64_t n, int32_t* rows);

}  // namespace bnt
