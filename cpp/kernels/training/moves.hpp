// Moving leaves: those of little weight get an input with a larger gradient at their node.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../random.hpp"
#include "../../threads.hpp"
#include "../interrupts.hpp"
#include "../passes/backward.hpp"
#include "../passes/forward.hpp"
#include "../passes/sample.hpp"

namespace bnt::BNT_ISA {

// Chooses which leaves move, and where to.
//
// The worth of a leaf is its weight times the deviation of its input; those of the smallest worth
// move. A new input is drawn with a probability proportional to the fourth power of the gradient of
// a leaf of weight 0 at that node, for inputs scaled to deviation 1. (With the square, the many
// small gradients of noise add up to more than the large gradient of a relevant input.) With many
// rows, the ramps of a column have a smaller chance.
template <class T>
class LeafMover {
    static constexpr int R = 32, kBlocks = 8, W = Simd<T>::lanes, D = Simd<double>::lanes;
    // A tile of products is kTileNodes x 4 vectors, as many as there are registers for.
    static constexpr int kTileNodes = BNT_VECTOR_BYTES == 64 ? 6 : 2;
    static constexpr int kGroup = 32;  // columns whose chances are added up together
    static constexpr int64_t kManyRows = 10'000;

  public:
    LeafMover(const Tree& t, const Layout& layout, const SampleView<T>& sample,
              const LossRule<T>& rule, ThreadTeam& team, Interrupts& interrupts,
              const uint8_t* may_move_to, bool moves_by_node)
        : t_(t), layout_(layout), sample_(sample), rule_(rule), team_(team),
          interrupts_(interrupts), may_move_to_(may_move_to), moves_by_node_(moves_by_node),
          n_inputs_(sample.table().n_inputs()) {}

    // The number of rows used to score candidate inputs, at most n. `share` is the number of leaves
    // that move relative to the first time: fewer leaves need fewer rows. Training uses
    // `rows_between` rows between two moves; a quarter of them keeps the cost of moving small.
    static int64_t rows_needed(int64_t n, int n_columns, double rows_between, double share) {
        const int64_t enough = std::clamp<int64_t>(32 * int64_t(n_columns), 1024, 16384);
        const auto between = int64_t(std::min(rows_between, double(1 << 20)));  // more is enough
        const int64_t affordable = std::max<int64_t>(512, between * std::max(100, n_columns) / 400);
        const double rows = share * double(std::min(n, std::min(enough, affordable)));
        return std::min(n, std::max<int64_t>(256, std::llround(rows)));
    }

    // Chooses n_moving leaves, scores inputs on the rows at these positions, and calls
    // moved(leaf, new input) for each that moves; for none if the training is interrupted.
    template <class F>
    void run(const T* theta, const int32_t* positions, int64_t n, int n_moving, uint64_t seed,
             F&& moved) {
        if (deviation_.size() == 0) prepare(positions, n);
        const Weights<const T> w = layout_.of(t_, theta);
        for (int l = 0; l < t_.n_leaves; ++l)
            worth_[l] = std::abs(double(w.leaf[l])) * deviation_[t_.leaf_input[l]];
        lowest_first(worth_.get(), t_.n_leaves, n_moving, which_.get());
        const int n_nodes = number_nodes(n_moving);
        sum_products(w, positions, n, n_nodes);
        if (!interrupts_.stopped()) draw(n_moving, seed, moved);
    }

  private:
    // Gives each node that loses a leaf a row in the table of products. Their deltas follow from
    // those of the nodes above.
    int number_nodes(int n_moving) {
        int n = 0;
        for (int j = 0; j < t_.n_nodes; ++j) slot_[j] = -1, wanted_[j] = 0;
        for (int i = 0; i < n_moving; ++i) slot_[t_.leaf_parent[which_[i]]] = 0;
        for (int j = 0; j < t_.n_nodes; ++j)
            if (slot_[j] == 0) wanted_[j] = 1, slot_[j] = n++;
        for (int j = t_.n_nodes - 1; j >= t_.n_outputs; --j)
            if (wanted_[j]) wanted_[t_.parent[j]] = 1;
        return n;
    }

    // Memory, and mean and deviation of the columns: when leaves move for the first time.
    void prepare(const int32_t* positions, int64_t n) {
        mean_ = Buffer<double>(n_inputs_);
        deviation_ = Buffer<double>(n_inputs_);
        inverse_ = Buffer<double>(n_inputs_);
        chance_ = Buffer<double>((n_inputs_ + kGroup - 1) / kGroup * kGroup);
        worth_ = Buffer<double>(t_.n_leaves);
        slot_ = Buffer<int32_t>(t_.n_nodes);
        wanted_ = Buffer<uint8_t>(t_.n_nodes);
        which_ = Buffer<int32_t>(t_.n_leaves);
        x_ = Buffer<T>(size_t(kBlocks) * n_inputs_ * R);
        learn_columns(positions, n);
    }

    void learn_columns(const int32_t* positions, int64_t n) {
        Buffer<double> square(n_inputs_);
        for (int64_t first = 0; first < n; first += R) {
            const int count = int(std::min<int64_t>(R, n - first));
            sample_.template load<R>(positions + first, count, x_.get());
            for (int c = 0; c < n_inputs_; ++c) {
                T* x = x_.get() + size_t(c) * R;
                for (int r = count; r < R; ++r) x[r] = 0;
                double sum[8] = {}, squares[8] = {};  // so that no addition waits for another
                for (int r = 0; r < R; r += 8)
                    for (int k = 0; k < 8; ++k) {
                        sum[k] += double(x[r + k]);
                        squares[k] += double(x[r + k]) * double(x[r + k]);
                    }
                mean_[c] += sum_of_eight(sum);
                square[c] += sum_of_eight(squares);
            }
        }
        for (int c = 0; c < n_inputs_; ++c) {
            mean_[c] /= double(n);
            square[c] /= double(n);
            const double variance = square[c] - mean_[c] * mean_[c];
            deviation_[c] = variance > 1e-6 * square[c] ? std::sqrt(variance) : 0.0;
            inverse_[c] = deviation_[c] > 0 ? 1 / deviation_[c] : 0.0;
        }
        if (sample_.size() >= kManyRows) let_ramps_share();
    }

    // Gives the further inputs of a column, its ramps, together the chance of one input. They
    // resemble the number, and with many rows the number itself fits smooth effects better.
    void let_ramps_share() {
        const Lines* lines = sample_.lines();
        for (int c = 0; lines && c < lines->n_columns; ++c) {
            const int first = lines->first[c] + 1, end = lines->first[c + 1];
            for (int i = first; i < end; ++i) inverse_[i] *= std::pow(1.0 / (end - first), 0.25);
        }
    }

    // products_[node][column]: the sum of delta * x over the rows; delta_sum_[node]: of delta.
    // Rows are taken in panels of kBlocks blocks. Each product is summed by one thread, in the
    // order of the rows, so their number changes nothing.
    void sum_products(Weights<const T> w, const int32_t* positions, int64_t n, int n_nodes) {
        const int room = t_.n_nodes * (t_.keeps_sums ? 2 : 1) + t_.n_outputs;
        const int n_tiles = (n_nodes + kTileNodes - 1) / kTileNodes;
        const int64_t most_blocks = std::min<int64_t>(kBlocks, (n + R - 1) / R);
        const size_t n_products = size_t(n_nodes) * n_inputs_;
        std::memset(at_least(products_, n_products), 0, n_products * sizeof(T));
        std::memset(at_least(delta_sum_, n_nodes), 0, n_nodes * sizeof(double));
        T* scratch = at_least(scratch_, size_t(room) * R * team_.size());
        T* deltas = at_least(deltas_, size_t(most_blocks) * n_nodes * R);
        for (int64_t first = 0; first < n && !interrupts_.interrupted(); first += kBlocks * R) {
            const int64_t left = std::min<int64_t>(kBlocks * R, n - first);
            const int n_blocks = int((left + R - 1) / R);
            team_.each(n_blocks, [&](int b, int thread) {
                FlushDenormals flush;
                T* slopes = scratch + size_t(thread) * room * R;
                T* h = slopes + size_t(t_.n_outputs) * R;
                T* sums = t_.keeps_sums ? h + size_t(t_.n_nodes) * R : nullptr;
                T* x = x_.get() + size_t(b) * n_inputs_ * R;
                const int32_t* block_rows = positions + first + b * R;
                const int count = int(std::min<int64_t>(R, left - b * R));
                sample_.template load<R>(block_rows, count, x);
                forward_block<T, R>(t_, w, x, h, sums);
                const OutputBlock<T, R> out{t_.n_outputs, sample_.targets(), block_rows, count};
                rule_.template slopes<R>(out, h, T(1) / T(n), slopes);
                deltas_block<T, R>(t_, w, slopes, h, sums, wanted_.get());
                for (int j = 0; j < t_.n_nodes; ++j)
                    if (slot_[j] >= 0)
                        std::memcpy(deltas + (size_t(b) * n_nodes + slot_[j]) * R,
                                    h + size_t(j) * R, sizeof(T) * R);
            });
            team_.each(n_tiles, [&](int tile, int) {
                FlushDenormals flush;
                const int node = tile * kTileNodes;
                for (int c = 0; c < n_inputs_; c += 4) add_tile(deltas, n_nodes, node, c, n_blocks);
                for (int i = node; i < std::min(n_nodes, node + kTileNodes); ++i)
                    delta_sum_[i] += sum_of_deltas(deltas, n_nodes, i, n_blocks);
            });
        }
    }

    // Memory is kept from one move to the next: to get it from the system costs more than its use.
    template <class U>
    static U* at_least(Buffer<U>& buffer, size_t n) {
        if (buffer.size() < n) buffer = Buffer<U>(n);
        return buffer.get();
    }

    static double sum_of_deltas(const T* deltas, int n_nodes, int node, int n_blocks) {
        double sum[8] = {};  // so that no addition waits for another
        for (int b = 0; b < n_blocks; ++b) {
            const T* delta = deltas + (size_t(b) * n_nodes + node) * R;
            for (int r = 0; r < R; r += 8)
                for (int k = 0; k < 8; ++k) sum[k] += double(delta[r + k]);
        }
        return sum_of_eight(sum);
    }

    static BNT_INLINE double sum_of_eight(const double (&x)[8]) {
        return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    }

    // Adds the products of some nodes and four columns over the rows of a panel.
    void add_tile(const T* deltas, int n_nodes, int node, int column, int n_blocks) {
        const T *delta[kTileNodes], *x[4];
        for (int i = 0; i < kTileNodes; ++i)  // beyond the end: the last one again, not written
            delta[i] = deltas + size_t(std::min(node + i, n_nodes - 1)) * R;
        for (int k = 0; k < 4; ++k)
            x[k] = x_.get() + size_t(std::min(column + k, n_inputs_ - 1)) * R;
        Vec<T> sum[kTileNodes][4] = {};
        for (int b = 0; b < n_blocks; ++b)
            for (int v = 0; v < R; v += W) {
                const size_t d = size_t(b) * n_nodes * R + v, c = size_t(b) * n_inputs_ * R + v;
                const Vec<T> column_values[4] = {load(x[0] + c), load(x[1] + c), load(x[2] + c),
                                                 load(x[3] + c)};
                for (int i = 0; i < kTileNodes; ++i) {
                    const Vec<T> node_delta = load(delta[i] + d);
                    for (int k = 0; k < 4; ++k) sum[i][k] += node_delta * column_values[k];
                }
            }
        for (int i = 0; i < std::min(kTileNodes, n_nodes - node); ++i) {
            T total[4];
            sum_each_of_four<T>(sum[i], total);
            T* to = products_.get() + size_t(node + i) * n_inputs_ + column;
            for (int k = 0; k < std::min(4, n_inputs_ - column); ++k) to[k] += total[k];
        }
    }

    template <class F>
    void draw(int n_moving, uint64_t seed, F&& moved) {
        for (int i = 0; i < n_moving; ++i) {
            const int leaf = which_[i], node = t_.leaf_parent[leaf], slot = slot_[node];
            const T* product = products_.get() + size_t(slot) * n_inputs_;
            const double delta_sum = delta_sum_[slot];
            for (int c = 0; c < n_inputs_; ++c) {
                const double slope = (double(product[c]) - mean_[c] * delta_sum) * inverse_[c];
                const double square = slope * slope;
                chance_[c] = square * square;
            }
            if (const uint8_t* may = may_move_to_) {
                if (moves_by_node_) may += size_t(node) * n_inputs_;
                for (int c = 0; c < n_inputs_; ++c)
                    if (!may[c]) chance_[c] = 0;
            }
            for (int l = t_.leaf_start[node]; l < t_.leaf_start[node + 1]; ++l)
                chance_[t_.leaf_input[l]] = 0;  // it is there already
            const int chosen = drawn_column(uniform(seed, uint64_t(i)));
            if (chosen >= 0) moved(leaf, chosen);
        }
    }

    // The column at this share of the sum of all chances; -1 if there is none. The sum is taken by
    // groups, so that few additions wait for each other.
    int drawn_column(double share) const {
        double total = 0;
        for (int first = 0; first < n_inputs_; first += kGroup) total += chance_of_group(first);
        if (!(total > 0) || !std::isfinite(total)) return -1;
        double left = share * total;
        int first = 0;
        for (; first + kGroup < n_inputs_; first += kGroup) {
            const double group = chance_of_group(first);
            if (left < group) break;
            left -= group;
        }
        int chosen = -1;
        for (int c = first; c < first + kGroup && left >= 0; ++c) {
            if (chance_[c] > 0) chosen = c;
            left -= chance_[c];
        }
        return chosen;
    }

    double chance_of_group(int first) const {
        Vec<double> sum{};
        for (int c = first; c < first + kGroup; c += D) sum += load(chance_.get() + c);
        double total = 0;
        for (int k = 0; k < D; ++k) total += sum[k];
        return total;
    }

    const Tree& t_;
    const Layout& layout_;
    const SampleView<T>& sample_;
    const LossRule<T>& rule_;
    ThreadTeam& team_;
    Interrupts& interrupts_;
    const uint8_t* may_move_to_;
    bool moves_by_node_;
    int n_inputs_;
    Buffer<double> mean_, deviation_, inverse_, worth_, chance_, delta_sum_;
    Buffer<int32_t> slot_, which_;
    Buffer<uint8_t> wanted_;
    Buffer<T> x_, products_, scratch_, deltas_;
};

}  // namespace bnt::BNT_ISA
