// Conversion of rows of the user's table to the inputs of a tree: R rows, input by input.
#pragma once

#include <type_traits>
#include <utility>

#include "../../engine.hpp"
#include "../mathematics/memory.hpp"

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

// A limited line. NaN stays NaN.
struct Line {
    double offset, factor, low, high;

    Line(const Lines& lines, int i)
        : offset(lines.offset[i]), factor(lines.factor[i]), low(lines.low[i]), high(lines.high[i]) {
    }
    BNT_INLINE double operator()(double value) const {
        double line = (value - offset) * factor;
        line = line < low ? low : line;
        return line > high ? high : line;
    }
};

// The scaling of an input that is a limited line or a sum of them.
struct LineScale {
    double shift = 0, scale = 1;

    LineScale(const Table& table, int input) {
        if (table.offset) shift = table.offset[input], scale = table.factor[input];
    }
    BNT_INLINE double operator()(double value) const { return (value - shift) * scale; }
};

// The input of R rows that is a sum of limited lines.
template <class T, int R, class S>
BNT_NOINLINE void load_sum(const Table& table, int input, const S* value, T* to) {
    double sum[R] = {};
    for (int l = table.lines->begin(input); l < table.lines->end(input); ++l) {
        const Line line(*table.lines, l);
        for (int r = 0; r < R; ++r) sum[r] += line(double(value[r]));
    }
    const LineScale scaled(table, input);
    for (int r = 0; r < R; ++r) to[r] = T(scaled(sum[r]));
}

// The input of R rows that is a limited line, or a sum of them. The first input of a column shows
// infinite numbers, which limits must not hide: it is NaN for them.
template <class T, int R, class S>
BNT_INLINE void load_line(const Table& table, int input, const S* value, bool is_first, T* to) {
    const Line line(*table.lines, table.lines->begin(input));
    const LineScale scaled(table, input);
    const bool is_scaled = scaled.shift != 0 || scaled.scale != 1;
    if (table.lines->end(input) - table.lines->begin(input) > 1) {
        load_sum<T, R>(table, input, value, to);
    } else if (line.offset == 0 && line.factor == 1 && !is_scaled) {
        for (int r = 0; r < R; ++r) {
            double x = double(value[r]);
            x = x < line.low ? line.low : x;
            x = x > line.high ? line.high : x;
            to[r] = T(is_first ? x + double(value[r]) * 0.0 : x);
        }
        return;
    } else {
        for (int r = 0; r < R; ++r) to[r] = T(scaled(line(double(value[r]))));
    }
    if (is_first)
        for (int r = 0; r < R; ++r) to[r] += T(value[r] * S(0));
}

// The inputs of one column of R rows, to x[input * R + lane]. `used`, if there is one, says which
// inputs are needed.
template <class T, int R, class S>
BNT_INLINE void load_column(const Table& table, int column, const S* value, T* x,
                            const uint8_t* used) {
    if (table.lines) {
        const int first = table.lines->first[column], end = table.lines->first[column + 1];
        for (int i = first; i < end; ++i)
            if (!used || used[i]) load_line<T, R>(table, i, value, i == first, x + size_t(i) * R);
        return;
    }
    T* to = x + size_t(column) * R;
    if (table.offset) {
        const Scale<T, S> scale(table, column);
        for (int r = 0; r < R; ++r) to[r] = scale(value[r]);
    } else {
        for (int r = 0; r < R; ++r) to[r] = T(value[r]);
    }
}

// The same, compiled once for all ways to load a block.
template <class T, int R, class S>
BNT_NOINLINE void load_block_column(const Table& table, int column, const S* value, T* x,
                                    const uint8_t* used) {
    load_column<T, R>(table, column, value, x, used);
}

// Two vectors as one, the first in the lower half.
template <class Half, size_t... I>
BNT_INLINE auto joined(Half low, Half high, std::index_sequence<I...>) {
    return __builtin_shufflevector(low, high, I...);
}

// N entries from `column` on of rows 0, N, 2N, ..., G of them, side by side and as U.
template <class S, class U, int N, int G>
BNT_INLINE typename VectorOf<U, N * G>::type every_nth_row(const S* const* rows, int column) {
    if constexpr (G == 1) {
        typename VectorOf<S, N>::type entries;
        std::memcpy(&entries, rows[0] + column, sizeof entries);
        return __builtin_convertvector(entries, typename VectorOf<U, N>::type);
    } else {
        return joined(every_nth_row<S, U, N, G / 2>(rows, column),
                      every_nth_row<S, U, N, G / 2>(rows + N * G / 2, column),
                      std::make_index_sequence<N * G>());
    }
}

// Transposes N columns of N * G rows, N entries being 128 bits once they are of type U: each 128
// bits of the vectors hold a tile of N x N entries, transposed by interleaving the halves log2(N)
// times. Column k of the result goes to out + k * stride.
template <class S, class U, int N, int G>
BNT_INLINE void transpose(const S* const* rows, int column, U* out, int stride) {
    using All = std::make_index_sequence<N * G>;
    typename VectorOf<U, N * G>::type a[N], b[N];
    for (int i = 0; i < N; ++i) a[i] = every_nth_row<S, U, N, G>(rows + i, column);
    for (int done = 1; done < N; done *= 2) {
        for (int i = 0; i < N / 2; ++i) {
            b[2 * i] = interleaved<0, N>(a[i], a[i + N / 2], All());
            b[2 * i + 1] = interleaved<1, N>(a[i], a[i + N / 2], All());
        }
        for (int i = 0; i < N; ++i) a[i] = b[i];
    }
    for (int k = 0; k < N; ++k) std::memcpy(out + k * stride, &a[k], sizeof a[k]);
}

// Whether an input of the N columns from `column` on is needed.
template <int N>
BNT_INLINE bool any_used(const Table& table, int column, const uint8_t* used) {
    const int32_t* first = table.lines ? table.lines->first + column : nullptr;
    const int begin = first ? first[0] : column, end = first ? first[N] : column + N;
    uint8_t any = 0;
    for (int i = begin; i < end; ++i) any |= used[i];
    return any;
}

// All columns of R rows by transposing tiles; entries become U on the way, and T at the end. Tiles
// side by side are taken together, so that each line of the cache is read once.
template <class T, class U, int R, class S>
void load_tiles(const Table& table, const S* const* source, T* x, const uint8_t* used) {
    constexpr int N = 16 / sizeof(U), most = BNT_VECTOR_BYTES / 16, kTiles = 4;
    constexpr int G = R / N < most ? R / N : most;
    const int n = table.n_columns;
    const bool is_plain = std::is_same_v<T, U> && !table.offset && !table.lines;
    for (int next = 0; next < n; next += kTiles * N) {
        int column[kTiles], n_tiles = 0;
        for (int c = next; c < n && c < next + kTiles * N; c += N) {
            column[n_tiles] = c + N <= n ? c : n - N;  // the last tile may overlap the one before
            if (!used || any_used<N>(table, column[n_tiles], used)) ++n_tiles;
        }
        U columns[kTiles * N * R];
        for (int r = 0; r < R; r += N * G)
            for (int i = 0; i < n_tiles; ++i) {
                U* to = columns + i * N * R;
                if constexpr (std::is_same_v<T, U>)
                    if (is_plain) to = x + size_t(column[i]) * R;
                transpose<S, U, N, G>(source + r, column[i], to + r, R);
            }
        if (is_plain) continue;
        for (int i = 0; i < n_tiles; ++i)
            for (int k = 0; k < N; ++k)
                load_block_column<T, R>(table, column[i] + k, columns + (i * N + k) * R, x, used);
    }
}

// x[input * R + lane]; lanes from count on repeat the first row, so that they hold valid numbers.
// `used`: the inputs that are needed, null for all; see `load_column`.
template <class T, int R>
BNT_NOINLINE void load_block(const Table& table, const int32_t* rows, int64_t first_row, int count,
                             T* x, const uint8_t* used = nullptr) {
    with_dtype(table.dtype, [&](auto sample) {
        using S = decltype(sample);
        const S* source[R];
        for (int r = 0; r < R; ++r) {
            const int lane = r < count ? r : 0;
            const int64_t row = rows ? rows[lane] : first_row + lane;
            source[r] = static_cast<const S*>(table.data) + row * table.n_columns;
        }
        if (table.n_columns * sizeof(S) < 16 || table.n_columns * sizeof(T) < 16) {
            for (int c = 0; c < table.n_columns; ++c) {
                S value[R];
                for (int r = 0; r < R; ++r) value[r] = source[r][c];
                load_block_column<T, R>(table, c, value, x, used);
            }
        } else if (sizeof(S) > sizeof(T) && !table.offset && !table.lines) {
            load_tiles<T, T, R>(table, source, x, used);
        } else {
            load_tiles<T, S, R>(table, source, x, used);
        }
    });
}

template <class T>
BNT_NOINLINE void load_row(const Table& table, int64_t row, T* x) {
    with_dtype(table.dtype, [&](auto sample) {
        using S = decltype(sample);
        const S* source = static_cast<const S*>(table.data) + row * table.n_columns;
        const int n = table.n_columns;
        if (table.lines) {
            for (int c = 0; c < n; ++c) load_column<T, 1>(table, c, source + c, x, nullptr);
        } else if (table.offset) {
            for (int c = 0; c < n; ++c) x[c] = Scale<T, S>(table, c)(source[c]);
        } else {
            for (int c = 0; c < n; ++c) x[c] = T(source[c]);
        }
    });
}

// Whether all of x[0..n) is finite; n is rounded up to whole vectors.
template <class T>
bool all_finite(const T* x, int64_t n) {
    constexpr int W = Simd<T>::lanes;
    Vec<T> zero[4] = {};  // four sums, so that none waits for the one before
    int64_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W)
        for (int k = 0; k < 4; ++k) zero[k] += load(x + i + k * W) * T(0);
    for (; i < n; i += W) zero[0] += load(x + i) * T(0);
    const Vec<T> all = (zero[0] + zero[1]) + (zero[2] + zero[3]);
    for (int k = 0; k < W; ++k)
        if (!(all[k] == 0)) return false;
    return true;
}

}  // namespace bnt::BNT_ISA
