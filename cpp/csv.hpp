// The cells of CSV files, the numbers in them, and their different texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bnt {

enum class CsvProblem { none, width, open_quote, text_behind_quote };

struct CsvCells {
    std::vector<int32_t> start, end;  // of each cell, row by row, without blanks and quotes
    std::vector<int32_t> line;        // on which each row ends, counted from 1
    std::string unquoted;  // cells with doubled quotes, whose places are behind the text
    int32_t width = 0;  // cells of a row
    size_t used = 0;  // bytes of complete rows
    int32_t n_lines = 0;  // lines of complete rows
    CsvProblem problem = CsvProblem::none;
    int32_t problem_line = 0, problem_cells = 0;
};

// Finds the cells of at most 1 GiB of text. Blank lines are left out, and so are empty cells beyond
// the width of the first row. Rows end in LF, CR or both. Unless the text is the end of a file, a
// row that may go on is left out. `width` is 0 if it is not known yet.
CsvCells scan_csv(const uint8_t* text, size_t n, uint8_t delimiter, int32_t width, bool is_end);

struct ParsedNumbers {
    std::vector<double> value;  // NaN for cells that are empty or no finite number
    std::vector<int32_t> odd;  // cells that are neither empty nor a finite number
    bool all_digits = true;  // whether all cells that are not empty consist of digits
    bool leading_zero = false;  // whether one of them begins with 0 and has more digits
};

// Parses n cells; the decimal point is '.' or ','.
ParsedNumbers parse_numbers(const uint8_t* text, const int32_t* start, const int32_t* end, size_t n,
                            char decimal);

struct CodedCells {
    std::vector<int32_t> code;  // of each cell: the position of its text among the different ones
    std::vector<int32_t> first;  // the first cell of each different text
};

// Finds the different texts of n cells, in the order in which they occur.
CodedCells code_cells(const uint8_t* text, const int32_t* start, const int32_t* end, size_t n);

struct Quantity {
    char decimal, thousands;  // the separators; 0: there is none of thousands
    std::string unit;
    bool may_precede;  // whether the unit may be in front of the number
};

// Reads a number with separators and a unit, which may be absent. False: the text is not of the
// usual form, so that only a slower reader can tell whether it is a number.
bool read_quantity(const char* first, const char* last, const Quantity& form, double& value);

}  // namespace bnt
