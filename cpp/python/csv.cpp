// Bindings of the CSV scanner.
#include "../csv.hpp"

#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "gil.hpp"

using namespace nanobind::literals;

namespace bnt {

namespace {

constexpr size_t largest_text = size_t(1) << 30;

uint8_t as_character(nb::handle object, const char* name) {
    const int64_t code = as_whole(object, name, 1, 127);
    if (code == '"' || code == '\r' || code == '\n')
        fail(std::string(name) + " must not be a quote or a line end");
    return uint8_t(code);
}

nb::object scan(nb::handle data, nb::handle delimiter, nb::handle width, bool is_end) {
    const In<uint8_t> text = as_array<uint8_t>(data, "data");
    const uint8_t separator = as_character(delimiter, "delimiter");
    const auto known_width = int32_t(as_whole(width, "width", 0, 1 << 30));
    if (text.size() > largest_text) fail("data must have at most 2**30 bytes");
    CsvCells cells;
    {
        GilRelease release;
        cells = scan_csv(text.data(), text.size(), separator, known_width, is_end);
    }
    const size_t rows = cells.line.size(), columns = size_t(cells.width);
    const nb::tuple problem =
        nb::make_tuple(int(cells.problem), cells.problem_line, cells.problem_cells);
    cells.start.resize(rows * columns);  // without those of a row with a problem
    cells.end.resize(rows * columns);
    return nb::make_tuple(new_array(cells.start.data(), {rows, columns}),
                          new_array(cells.end.data(), {rows, columns}),
                          new_array(cells.line.data(), {rows}),
                          nb::bytes(cells.unquoted.data(), cells.unquoted.size()), cells.used,
                          cells.n_lines, problem);
}

// The places of cells, copied before they are checked: another thread may change the arrays.
struct Places {
    std::vector<int32_t> start, end;

    Places(const In<uint8_t>& text, nb::handle starts, nb::handle ends) {
        const In<int32_t> given_start = as_array<int32_t>(starts, "starts");
        const In<int32_t> given_end = as_array<int32_t>(ends, "ends", given_start.size());
        start.assign(given_start.data(), given_start.data() + given_start.size());
        end.assign(given_end.data(), given_end.data() + given_start.size());
        for (size_t i = 0; i < start.size(); ++i)
            if (start[i] < 0 || end[i] < start[i] || size_t(end[i]) > text.size())
                fail("starts and ends must be places in data, in ascending order");
    }
};

nb::object parse(nb::handle data, nb::handle starts, nb::handle ends, nb::handle decimal) {
    const In<uint8_t> text = as_array<uint8_t>(data, "data");
    const Places places(text, starts, ends);
    const uint8_t point = as_character(decimal, "decimal");
    ParsedNumbers numbers;
    {
        GilRelease release;
        numbers = parse_numbers(text.data(), places.start.data(), places.end.data(),
                                places.start.size(), char(point));
    }
    return nb::make_tuple(new_array(numbers.value.data(), {numbers.value.size()}),
                          new_array(numbers.odd.data(), {numbers.odd.size()}), numbers.all_digits,
                          numbers.leading_zero);
}

nb::object code(nb::handle data, nb::handle starts, nb::handle ends) {
    const In<uint8_t> text = as_array<uint8_t>(data, "data");
    const Places places(text, starts, ends);
    CodedCells coded;
    {
        GilRelease release;
        coded =
            code_cells(text.data(), places.start.data(), places.end.data(), places.start.size());
    }
    return nb::make_tuple(new_array(coded.code.data(), {coded.code.size()}),
                          new_array(coded.first.data(), {coded.first.size()}));
}

nb::object quantities(nb::list texts, nb::handle decimal, const std::string& thousands,
                      const std::string& unit, bool may_precede) {
    const Quantity form{char(as_character(decimal, "decimal")),
                        thousands.size() == 1 ? thousands[0] : '\0', unit, may_precede};
    std::vector<double> values(texts.size());
    std::vector<int32_t> unread;
    for (size_t i = 0; i < texts.size(); ++i) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_Check(texts[i].ptr())
                               ? PyUnicode_AsUTF8AndSize(texts[i].ptr(), &size)
                               : nullptr;
        if (!text) PyErr_Clear();  // not text, or a lone surrogate
        const bool is_read = text && read_quantity(text, text + size, form, values[i]);
        if (!is_read) unread.push_back(int32_t(i));
    }
    return nb::make_tuple(new_array(values.data(), {values.size()}),
                          new_array(unread.data(), {unread.size()}));
}

}  // namespace

#define BNT_INTS "numpy.typing.NDArray[numpy.int32]"

void bind_csv(nb::module_& m) {
    m.def("scan_csv", &scan, "data"_a, "delimiter"_a, "width"_a, "is_end"_a,
          "Return start and end (rows by columns) and last line of the cells of CSV text, cells "
          "with doubled quotes, whose places are behind the text, bytes and lines of complete "
          "rows, and a problem: kind (0 for none), line, and number of cells.",
          nb::sig("def scan_csv(data: numpy.typing.NDArray[numpy.uint8], delimiter: int, "
                  "width: int, is_end: bool) -> tuple[" BNT_INTS ", " BNT_INTS ", " BNT_INTS
                  ", bytes, int, int, tuple[int, int, int]]"));
    m.def("parse_numbers", &parse, "data"_a, "starts"_a, "ends"_a, "decimal"_a,
          "Return the numbers of cells, the cells that have none, whether all cells are digits, "
          "and whether one has a leading zero.",
          nb::sig("def parse_numbers(data: numpy.typing.NDArray[numpy.uint8], starts: " BNT_INTS
                  ", ends: " BNT_INTS ", decimal: int) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], " BNT_INTS ", bool, bool]"));
    m.def("code_cells", &code, "data"_a, "starts"_a, "ends"_a,
          "Return the position of each cell among the different ones, and the first cell of each.",
          nb::sig("def code_cells(data: numpy.typing.NDArray[numpy.uint8], starts: " BNT_INTS
                  ", ends: " BNT_INTS ") -> tuple[" BNT_INTS ", " BNT_INTS "]"));
    m.def(
        "read_quantities", &quantities, "texts"_a, "decimal"_a, "thousands"_a, "unit"_a,
        "may_precede"_a,
        "Return the numbers of texts with separators and a unit, and the texts that are not of "
        "the usual form.",
        nb::sig("def read_quantities(texts: list[str], decimal: int, thousands: str, unit: str, "
                "may_precede: bool) -> tuple[numpy.typing.NDArray[numpy.float64], " BNT_INTS "]"));
}

}  // namespace bnt
