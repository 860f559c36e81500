// Bindings of the CSV scanner.
#include "../csv.hpp"

#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "gil.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

uint8_t as_character(nb::handle object, const char* name) {
    const int64_t code = as_whole(object, name, 1, 127);
    if (code == '"' || code == '\r' || code == '\n' || code == ' ')
        fail(std::string(name) + " must not be a quote, a blank or a line end");
    return uint8_t(code);
}

nb::object scan(nb::handle data, nb::handle delimiter) {
    const In<uint8_t> text = as_array<uint8_t>(data, "data");
    const uint8_t separator = as_character(delimiter, "delimiter");
    CsvCells cells;
    bool is_plain;
    {
        GilRelease release;
        is_plain = scan_csv(text.data(), text.size(), separator, cells);
    }
    if (!is_plain || cells.line.empty()) return nb::none();
    const size_t rows = cells.line.size(), width = size_t(cells.width);
    return nb::make_tuple(new_array(cells.start.data(), {rows, width}),
                          new_array(cells.end.data(), {rows, width}),
                          new_array(cells.line.data(), {rows}));
}

nb::object parse(nb::handle data, nb::handle starts, nb::handle ends, nb::handle decimal) {
    const In<uint8_t> text = as_array<uint8_t>(data, "data");
    const In<int32_t> given_start = as_array<int32_t>(starts, "starts");
    const In<int32_t> given_end = as_array<int32_t>(ends, "ends", given_start.size());
    const uint8_t point = as_character(decimal, "decimal");
    // Copied before they are checked: another thread may change the arrays.
    const size_t n = given_start.size();
    const std::vector<int32_t> start(given_start.data(), given_start.data() + n);
    const std::vector<int32_t> end(given_end.data(), given_end.data() + n);
    for (size_t i = 0; i < n; ++i)
        if (start[i] < 0 || end[i] < start[i] || size_t(end[i]) > text.size())
            fail("starts and ends must be places in data, in ascending order");
    ParsedNumbers numbers;
    {
        GilRelease release;
        numbers = parse_numbers(text.data(), start.data(), end.data(), n, char(point));
    }
    return nb::make_tuple(new_array(numbers.value.data(), {numbers.value.size()}),
                          new_array(numbers.odd.data(), {numbers.odd.size()}), numbers.all_digits,
                          numbers.leading_zero);
}

}  // namespace

void bind_csv(nb::module_& m) {
    m.def("scan_csv", &scan, "data"_a, "delimiter"_a,
          "Return start, end (rows by columns) and line of the cells of a plain CSV file, or None.",
          nb::sig("def scan_csv(data: numpy.typing.NDArray[numpy.uint8], delimiter: int) -> "
                  "tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32], "
                  "numpy.typing.NDArray[numpy.int32]] | None"));
    m.def("parse_numbers", &parse, "data"_a, "starts"_a, "ends"_a, "decimal"_a,
          "Return the numbers of cells, the cells that have none, whether all cells are digits, "
          "and whether one has a leading zero.",
          nb::sig("def parse_numbers(data: numpy.typing.NDArray[numpy.uint8], "
                  "starts: numpy.typing.NDArray[numpy.int32], "
                  "ends: numpy.typing.NDArray[numpy.int32], decimal: int) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.int32], "
                  "bool, bool]"));
}

}  // namespace bnt
