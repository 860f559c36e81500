#include "csv.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

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

bool scan_csv(const uint8_t* text, size_t n, uint8_t delimiter, CsvCells& cells) {
    if (n >= size_t(std::numeric_limits<int32_t>::max()) || std::memchr(text, 0, n)) return false;
    cells.start.reserve(n / 8);
    cells.end.reserve(n / 8);
    size_t at = 0;
    for (int32_t line = 1; at < n; ++line) {
        const size_t first_cell = cells.start.size();
        for (bool more = true; more;) {
            while (at < n && is_blank(text[at]) && text[at] != delimiter) ++at;
            size_t start = at, end;
            if (at < n && text[at] == '"') {
                start = at + 1;
                const void* quote = std::memchr(text + start, '"', n - start);
                if (!quote) return false;
                end = size_t(static_cast<const uint8_t*>(quote) - text);
                if (std::memchr(text + start, '\n', end - start) ||
                    std::memchr(text + start, '\r', end - start))
                    return false;
                at = end + 1;
                while (at < n && is_blank(text[at]) && text[at] != delimiter) ++at;
                if (at < n && text[at] != delimiter && text[at] != '\n' && text[at] != '\r')
                    return false;
                while (start < end && is_blank(text[start])) ++start;
            } else {
                while (at < n && text[at] != delimiter && text[at] != '\n' && text[at] != '\r')
                    ++at;
                end = at;
            }
            while (end > start && is_blank(text[end - 1])) --end;
            cells.start.push_back(int32_t(start));
            cells.end.push_back(int32_t(end));
            more = at < n && text[at] == delimiter;
            if (at < n && text[at] == '\r') {
                if (at + 1 >= n || text[at + 1] != '\n') return false;
                ++at;
            }
            ++at;  // over the delimiter or the line end
        }
        const size_t n_cells = cells.start.size() - first_cell;
        if (n_cells == 1 && cells.start.back() == cells.end.back()) {  // a blank line
            cells.start.pop_back();
            cells.end.pop_back();
            continue;
        }
        if (cells.width == 0) cells.width = int32_t(n_cells);
        if (n_cells != size_t(cells.width)) return false;
        cells.line.push_back(line);
    }
    return true;
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

}  // namespace bnt
