// From the user's table to what a kernel reads: a block of R rows, column by column.
#pragma once

#include "engine.hpp"
#include "memory.hpp"

namespace bnt::BNT_ISA {

template <class F>
BNT_INLINE void with_dtype(Dtype dtype, F&& f) {
    switch (dtype) {
        case Dtype::uint8: f(uint8_t{}); break;
        case Dtype::float32: f(float{}); break;
        case Dtype::float64: f(double{}); break;
    }
}

// x[column * R + lane]; lanes from count on repeat the first row, so that they hold valid numbers.
template <class T, int R>
void load_block(const Table& table, const int32_t* rows, int64_t first_row, int count, T* x) {
    with_dtype(table.dtype, [&](auto sample) {
        using S = decltype(sample);
        const S* source[R];
        for (int r = 0; r < R; ++r) {
            const int lane = r < count ? r : 0;
            const int64_t row = rows ? rows[lane] : first_row + lane;
            source[r] = static_cast<const S*>(table.data) + row * table.n_columns;
        }
        for (int c = 0; c < table.n_columns; ++c, x += R) {
            S value[R];
            for (int r = 0; r < R; ++r) value[r] = source[r][c];
            if (table.offset) {
                // in double: a float32 difference of large numbers would lose what matters
                const double offset = table.offset[c], factor = table.factor[c];
                for (int r = 0; r < R; ++r) x[r] = T((double(value[r]) - offset) * factor);
            } else {
                for (int r = 0; r < R; ++r) x[r] = T(value[r]);
            }
        }
    });
}

template <class T>
void load_row(const Table& table, int64_t row, T* x) {
    with_dtype(table.dtype, [&](auto sample) {
        using S = decltype(sample);
        const S* source = static_cast<const S*>(table.data) + row * table.n_columns;
        const int n = table.n_columns;
        if (table.offset) {
            for (int c = 0; c < n; ++c)
                x[c] = T((double(source[c]) - table.offset[c]) * table.factor[c]);
        } else {
            for (int c = 0; c < n; ++c) x[c] = T(source[c]);
        }
    });
}

// Whether all of x[0..n) is finite; n is rounded up to whole vectors.
template <class T>
bool all_finite(const T* x, int n) {
    Vec<T> zero{};
    for (int i = 0; i < n; i += Simd<T>::lanes) zero += load(x + i) * T(0);
    for (int i = 0; i < Simd<T>::lanes; ++i)
        if (!(zero[i] == 0)) return false;
    return true;
}

}  // namespace bnt::BNT_ISA
