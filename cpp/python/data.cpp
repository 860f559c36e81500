// Tables as Python objects, and functions of rows.
#include "data.hpp"

#include <cmath>

#include "../random.hpp"
#include "bindings.hpp"
#include "gil.hpp"
#include "signals.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

nb::object order_of_epoch(nb::handle seed, nb::handle epoch, nb::handle n_rows,
                          nb::handle block_rows) {
    const int64_t n = as_whole(n_rows, "n_rows", 0, INT32_MAX);
    const uint64_t from = as_seed(seed), number = as_whole(epoch, "epoch", 0, INT64_MAX);
    const int64_t block = as_whole(block_rows, "block_rows", 0, INT32_MAX);
    std::vector<int32_t> order;
    SignalCheck signals;
    {
        GilRelease release;
        order.resize(n);
        epoch_order(from, number, n, block, order.data(), signals.hooks());
    }
    signals.rethrow();
    return new_array(order.data(), {size_t(n)});
}

// (row, column) of the first value that is not finite, or None.
nb::object first_not_finite(nb::handle rows) {
    const AnyArray X = as_rows(rows, "X");
    const auto scan = [&](auto sample) -> int64_t {
        using S = decltype(sample);
        const S* x = static_cast<const S*>(X.data());
        constexpr int64_t kStride = 4096;
        const int64_t n = int64_t(X.size());
        for (int64_t first = 0; first < n; first += kStride) {
            const int64_t last = std::min(n, first + kStride);
            bool bad = false;
            for (int64_t i = first; i < last; ++i) bad |= !(x[i] * S(0) == S(0));
            if (!bad) continue;
            for (int64_t i = first; i < last; ++i)
                if (!std::isfinite(double(x[i]))) return i;
        }
        return -1;
    };
    int64_t at = -1;
    {
        GilRelease release;
        if (X.dtype() == nb::dtype<double>()) at = scan(double{});
        else if (X.dtype() == nb::dtype<float>()) at = scan(float{});
    }
    if (at < 0) return nb::none();
    const int64_t columns = X.ndim() > 1 ? int64_t(X.shape(1)) : 1;
    return nb::make_tuple(at / columns, at % columns);
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<InputLines>(
        m, "InputLines",
        "Inputs that are limited lines of columns, min(max((x - offset) * factor, low), high), or "
        "sums of them. Column c has the inputs from first[c] up to first[c + 1]. Input i is the "
        "sum of the lines from first_line[i] up to first_line[i + 1]; by default it is line i.")
        .def(
            "__init__",
            [](InputLines* self, nb::handle first, nb::handle offset, nb::handle factor,
               nb::handle low, nb::handle high, nb::handle first_line) {
                new (self) InputLines(first, offset, factor, low, high, first_line);
            },
            "first"_a, "offset"_a, "factor"_a, "low"_a, "high"_a, "first_line"_a = nb::none(),
            nb::sig("def __init__(self, first: numpy.typing.NDArray[numpy.int32], "
                    "offset: numpy.typing.NDArray[numpy.float64], "
                    "factor: numpy.typing.NDArray[numpy.float64], "
                    "low: numpy.typing.NDArray[numpy.float64], "
                    "high: numpy.typing.NDArray[numpy.float64], "
                    "first_line: numpy.typing.NDArray[numpy.int32] | None = None) -> None"));
    nb::class_<Data>(m, "Data", "A table with its targets: int32 class labels, or float64 values.")
        .def(
            "__init__",
            [](Data* self, nb::handle X, nb::handle y, nb::handle lines) {
                new (self) Data(X, y, lines);
            },
            "X"_a, "y"_a, "lines"_a = nb::none(),
            nb::sig("def __init__(self, X: numpy.typing.NDArray[typing.Any], "
                    "y: numpy.typing.NDArray[typing.Any], lines: InputLines | None = None) -> "
                    "None"));
    m.def(
        "uniform",
        [](nb::handle seed, nb::handle i) {
            return uniform(as_seed(seed), uint64_t(as_whole(i, "i", 0, INT64_MAX)));
        },
        "seed"_a, "i"_a, "Return the number in [0, 1) that decides the i-th move of a leaf.",
        nb::sig("def uniform(seed: int, i: int) -> float"));
    m.def("epoch_order", &order_of_epoch, "seed"_a, "epoch"_a, "n_rows"_a, "block_rows"_a = 0,
          "Return the order in which training takes the rows in an epoch.",
          nb::sig("def epoch_order(seed: int, epoch: int, n_rows: int, block_rows: int = 0) -> "
                  "numpy.typing.NDArray[numpy.int32]"));
    m.def(
        "first_not_finite", &first_not_finite, "X"_a,
        "Return (row, column) of the first value that is not finite, or None.",
        nb::sig(
            "def first_not_finite(X: numpy.typing.NDArray[typing.Any]) -> tuple[int, int] | None"));
}

}  // namespace bnt
