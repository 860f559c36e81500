#include "csv.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bnt {

namespace {

bool is_blank(uint8_t c) { return c == ' ' || c == '\t'; }

// The number of a cell; false if it has none that is finite.
bool parse_number(const char* first, const char* last, double& value) {
    if (*first == '+') {
        ++first;
        if (first == last || *first == '-' || *first == '+') return false;
    }
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    const auto [stop, error] = std::from_chars(first, last, value);
    return error == std::errc() && stop == last && std::isfinite(value);
#else
    for (const char* c = first; c != last; ++c)  // strtod also reads hexadecimal numbers
        if (!std::strchr("0123456789+-.eE", *c)) return false;
    const std::string copy(first, last);
    char* stop = nullptr;
    value = std::strtod(copy.c_str(), &stop);
    return stop == copy.c_str() + copy.size() && std::isfinite(value);
#endif
}

}  // namespace

CsvCells scan_csv(const uint8_t* text, size_t n, uint8_t delimiter, int32_t width, bool is_end) {
    CsvCells cells;
    cells.width = width;
    cells.start.reserve(n / 8);
    cells.end.reserve(n / 8);
    size_t at = 0;
    int32_t line = 1;
    const auto is_line_end = [](uint8_t c) { return c == '\n' || c == '\r'; };
    const auto stop = [&](CsvProblem problem, size_t n_cells) {
        cells.problem = problem;
        cells.problem_line = line;
        cells.problem_cells = int32_t(n_cells);
    };
    while (at < n) {
        const size_t first_cell = cells.start.size();
        bool is_complete = false;
        for (bool more = true; more;) {
            while (at < n && (text[at] == ' ' || (text[at] == '\t' && delimiter != '\t'))) ++at;
            size_t start = at, end;
            if (at < n && text[at] == '"') {
                start = ++at;
                bool is_copied = false;
                size_t copied = 0;
                for (;;) {
                    while (at < n && text[at] != '"') {
                        if (text[at] == '\n' ||
                            (text[at] == '\r' && (at + 1 >= n || text[at + 1] != '\n')))
                            ++line;
                        ++at;
                    }
                    if (at >= n) break;
                    if (at + 1 >= n || text[at + 1] != '"') break;
                    if (!is_copied) copied = cells.unquoted.size();
                    cells.unquoted.append(reinterpret_cast<const char*>(text) + start,
                                          at + 1 - start);
                    is_copied = true;
                    at += 2;
                    start = at;
                }
                if (at >= n) {
                    if (is_end) stop(CsvProblem::open_quote, 0);
                    cells.start.resize(first_cell);
                    cells.end.resize(first_cell);
                    return cells;
                }
                end = at++;
                if (is_copied) {
                    cells.unquoted.append(reinterpret_cast<const char*>(text) + start, end - start);
                    start = n + copied;
                    end = n + cells.unquoted.size();
                }
                while (at < n && text[at] != delimiter && is_blank(text[at])) ++at;
                if (at < n && text[at] != delimiter && !is_line_end(text[at])) {
                    stop(CsvProblem::text_behind_quote, 0);
                    return cells;
                }
            } else {
                while (at < n && text[at] != delimiter && !is_line_end(text[at])) ++at;
                end = at;
            }
            const auto byte = [&](size_t i) {
                return i < n ? text[i] : uint8_t(cells.unquoted[i - n]);
            };
            while (start < end && is_blank(byte(start))) ++start;
            while (end > start && is_blank(byte(end - 1))) --end;
            cells.start.push_back(int32_t(start));
            cells.end.push_back(int32_t(end));
            more = at < n && text[at] == delimiter;
            is_complete = at < n && !more;
            if (at < n && text[at] == '\r') {
                is_complete = at + 1 < n;  // a line feed may follow
                if (is_complete && text[at + 1] == '\n') ++at;
            }
            ++at;  // over the delimiter or the line end
        }
        if (!is_complete && !is_end) {
            cells.start.resize(first_cell);
            cells.end.resize(first_cell);
            return cells;
        }
        size_t n_cells = cells.start.size() - first_cell;
        const auto is_empty = [&](size_t i) { return cells.start[i] == cells.end[i]; };
        const bool is_blank_line = n_cells == 1 && is_empty(first_cell);
        if (cells.width == 0 && !is_blank_line) cells.width = int32_t(n_cells);
        while (n_cells > size_t(cells.width) && is_empty(first_cell + n_cells - 1)) --n_cells;
        if (is_blank_line) {
            n_cells = 0;
        } else if (n_cells != size_t(cells.width)) {
            stop(CsvProblem::width, cells.start.size() - first_cell);
            return cells;
        } else {
            cells.line.push_back(line);
        }
        cells.start.resize(first_cell + n_cells);
        cells.end.resize(first_cell + n_cells);
        cells.used = at < n ? at : n;
        cells.n_lines = line++;
    }
    return cells;
}

ParsedNumbers parse_numbers(const uint8_t* text, const int32_t* start, const int32_t* end, size_t n,
                            char decimal) {
    ParsedNumbers numbers;
    numbers.value.resize(n);
    std::string buffer;
    for (size_t i = 0; i < n; ++i) {
        const char* first = reinterpret_cast<const char*>(text) + start[i];
        const char* last = reinterpret_cast<const char*>(text) + end[i];
        numbers.value[i] = std::numeric_limits<double>::quiet_NaN();
        if (first == last) continue;
        bool digits = true;
        for (const char* c = first; c != last; ++c) digits &= *c >= '0' && *c <= '9';
        numbers.all_digits &= digits;
        numbers.leading_zero |= *first == '0' && last - first > 1 && digits;
        double value = 0.0;
        bool valid;
        if (decimal == '.') {
            valid = parse_number(first, last, value);
        } else {
            buffer.assign(first, last);
            valid = buffer.find('.') == std::string::npos;
            for (char& c : buffer) c = c == decimal ? '.' : c;
            valid = valid && parse_number(buffer.data(), buffer.data() + buffer.size(), value);
        }
        if (valid) numbers.value[i] = value;
        else numbers.odd.push_back(int32_t(i));
    }
    return numbers;
}

CodedCells code_cells(const uint8_t* text, const int32_t* start, const int32_t* end, size_t n) {
    CodedCells coded;
    coded.code.resize(n);
    std::unordered_map<std::string_view, int32_t> codes;
    for (size_t i = 0; i < n; ++i) {
        const std::string_view cell(reinterpret_cast<const char*>(text) + start[i],
                                    size_t(end[i] - start[i]));
        const auto [entry, is_new] = codes.try_emplace(cell, int32_t(codes.size()));
        if (is_new) coded.first.push_back(int32_t(i));
        coded.code[i] = entry->second;
    }
    return coded;
}

bool read_quantity(const char* first, const char* last, const Quantity& form, double& value) {
    const std::string& unit = form.unit;
    const auto skip_blanks = [&] {
        while (first < last && *first == ' ') ++first;
    };
    const auto skip_unit = [&] {
        if (unit.empty() || size_t(last - first) < unit.size() ||
            std::memcmp(first, unit.data(), unit.size()) != 0)
            return false;
        first += unit.size();
        return true;
    };
    const auto is_digit = [&](const char* c) { return c < last && *c >= '0' && *c <= '9'; };
    if (first == last || last - first > 40 || *first == ' ' || last[-1] == ' ') return false;
    char number[48];
    size_t size = 0;
    if (first < last && *first == '-') number[size++] = *first++;
    skip_blanks();
    const bool is_in_front = form.may_precede && skip_unit();
    if (is_in_front) skip_blanks();
    if (!is_digit(first)) return false;
    size_t n_group = 0;
    bool is_grouped = false;
    for (;; ++first) {
        if (is_digit(first)) {
            number[size++] = *first;
            ++n_group;
        } else if (form.thousands && first < last && *first == form.thousands &&
                   is_digit(first + 1)) {
            if (is_grouped ? n_group != 3 : n_group > 3) return false;
            is_grouped = true;
            n_group = 0;
        } else {
            break;
        }
    }
    if (is_grouped && n_group != 3) return false;
    if (first < last && *first == form.decimal && is_digit(first + 1)) {
        number[size++] = '.';
        for (++first; is_digit(first); ++first) number[size++] = *first;
    }
    skip_blanks();
    if (first != last && (is_in_front || !skip_unit() || first != last)) return false;
    return parse_number(number, number + size, value);
}

}  // namespace bnt
