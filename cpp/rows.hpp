// From the user's table to what a kernel reads: a block of R rows, column by column.
#pragma once

#include <type_traits>

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

// The scaled value of one entry. In double, since a float32 difference of large numbers would
// lose what matters; bytes are small, so for them one multiply-add in T is as good and faster.
template <class T, class S>
struct Scale {
    using Number = std::conditional_t<std::is_same_v<S, uint8_t>, T, double>;
    Number factor, shift;

    Scale(const Table& table, int column) {
        const double f = table.factor[column], o = table.offset[column];
        factor = Number(f);
        shift = std::is_same_v<S, uint8_t> ? Number(-o * f) : Number(o);
    }
    BNT_INLINE T operator()(S value) const {
        if constexpr (std::is_same_v<S, uint8_t>) return T(value) * factor + shift;
        else return T((double(value) - shift) * factor);
    }
};

template <class T, int R, class S>
BNT_INLINE void load_column(const Table& table, int column, const S* value, T* x) {
    if (table.offset) {
        const Scale<T, S> scale(table, column);
        for (int r = 0; r < R; ++r) x[r] = scale(value[r]);
    } else {
        for (int r = 0; r < R; ++r) x[r] = T(value[r]);
    }
}

// Transposes 16 x 16 bytes: four rounds of interleaving the halves.
BNT_INLINE void transpose_bytes(const uint8_t* const* rows, int column, uint8_t (*out)[16]) {
    using Bytes = VectorOf<uint8_t, 16>::type;
    Bytes a[16], b[16];
    for (int i = 0; i < 16; ++i) std::memcpy(&a[i], rows[i] + column, 16);
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 8; ++i) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                               5, 21, 6, 22, 7, 23);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                   12, 28, 13, 29, 14, 30, 15, 31);
        }
        std::memcpy(a, b, sizeof a);
    }
    std::memcpy(out, a, sizeof a);
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
        int c = 0;
        if constexpr (std::is_same_v<S, uint8_t> && R % 16 == 0) {
            for (; c + 16 <= table.n_columns; c += 16) {
                uint8_t tile[R / 16][16][16], value[R];
                for (int g = 0; g < R / 16; ++g) transpose_bytes(source + 16 * g, c, tile[g]);
                for (int k = 0; k < 16; ++k) {
                    for (int g = 0; g < R / 16; ++g) std::memcpy(value + 16 * g, tile[g][k], 16);
                    load_column<T, R>(table, c + k, value, x + size_t(c + k) * R);
                }
            }
        }
        for (; c < table.n_columns; ++c) {
            S value[R];
            for (int r = 0; r < R; ++r) value[r] = source[r][c];
            load_column<T, R>(table, c, value, x + size_t(c) * R);
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
            for (int c = 0; c < n; ++c) x[c] = Scale<T, S>(table, c)(source[c]);
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
