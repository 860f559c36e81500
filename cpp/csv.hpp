// The cells of a plain CSV file, and the numbers in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bnt {

struct CsvCells {
    std::vector<int32_t> start, end;  // of each cell, row by row, without blanks and quotes
    std::vector<int32_t> line;        // on which each row is, counted from 1
    int32_t width = 0;                // cells of a row
};

// Finds the cells of a file of less than 2 GiB. Returns false for files that are not plain: rows of
// different widths, quotes that are doubled or hold line ends, line ends of a single CR, or NUL.
bool scan_csv(const uint8_t* text, size_t n, uint8_t delimiter, CsvCells& cells);

struct ParsedNumbers {
    std::vector<double> value;  // NaN for cells that are empty or no finite number
    std::vector<int32_t> odd;   // cells that are neither empty nor a finite number
    bool all_digits = true;     // whether all cells that are not empty consist of digits
    bool leading_zero = false;  // whether one of them begins with 0 and has more digits
};

// Parses n cells; the decimal point is '.' or ','.
ParsedNumbers parse_numbers(const uint8_t* text, const int32_t* start, const int32_t* end, size_t n,
                            char decimal);

}  // namespace bnt
