"""C source text of the program that predicts the rows of a CSV file, with placeholders."""

from __future__ import annotations

MAIN = """\
/* Predicts the rows of a CSV file: $program [FILE.csv], by default the standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "$header"

#define N_COLUMNS $n_columns
#define MOST_CELLS 4096
enum { NUMBER, CATEGORY, DATE };

static const char *const column_names[N_COLUMNS] = {
$column_names};
static const int column_kind[N_COLUMNS] = {$column_kinds};
static const int column_feature[N_COLUMNS] = {$column_features};
$date_tables
static char line[1 << 20];
static char *cells[MOST_CELLS];

/* Splits a line into cells without blanks around them; quotes may enclose a cell. */
static int split(char *text)
{
    int n = 0;
    for (;;) {
        char *to, *end;
        int quoted;
        while (*text == ' ' || *text == '\\t')
            text++;
        quoted = *text == '"';
        text += quoted;
        if (n == MOST_CELLS)
            return -1;
        cells[n++] = to = end = text;
        while (*text && *text != '\\n' && *text != '\\r' && (quoted || *text != ',')) {
            if (quoted && *text == '"') {
                if (text[1] != '"') {
                    quoted = 0;
                    text++;
                    continue;
                }
                text++;
            }
            *to++ = *text++;
            end = to;
        }
        while (end > cells[n - 1] && (end[-1] == ' ' || end[-1] == '\\t'))
            end--;
        if (*text != ',') {
            *end = '\\0';
            return n;
        }
        text++;
        *end = '\\0';
    }
}

static int is_missing(const char *text)
{
    static const char *const words[] = {"",     "?",   "na",   "n/a",  "#n/a",
                                        "<na>", "nan", "-nan", "null", "none"};
    char lower[8];
    size_t i;
    if (strlen(text) >= sizeof lower)
        return 0;
    for (i = 0; text[i]; i++)
        lower[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    lower[i] = '\\0';
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(lower, words[i]) == 0)
            return i + 1 < sizeof words / sizeof *words || strcmp(text, "None") == 0;
    return 0;
}

static double number(const char *text, long row, int column)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end) {
        fprintf(stderr, "row %ld: column \\"%s\\" has \\"%s\\", a number is needed\\n", row,
                column_names[column], text);
        exit(1);
    }
    return value;
}
$category_code$date_code
static void read_row(const int *place, int n, long row, double *values)
{
    const double missing = strtod("nan", NULL);
    int i;
    for (i = 0; i < N_COLUMNS; i++) {
        char *text = place[i] < n ? cells[place[i]] : cells[0];
        double *value = values + column_feature[i];
        if (place[i] >= n) {
            fprintf(stderr, "row %ld: column \\"%s\\" has no cell\\n", row, column_names[i]);
            exit(1);
        }
        if (column_kind[i] == NUMBER)
            *value = is_missing(text) ? missing : number(text, row, i);
$read_category$read_date    }
}

$print_textint main(int argc, char **argv)
{
    static int place[N_COLUMNS];
    static double values[${UPPER}_N_FEATURES + 1];
    static ${NAME}_input x[${UPPER}_N_FEATURES + 1];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : stdin;
    int i, j, n, found = 0;
    long row = 0;
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    for (i = 0; i < N_COLUMNS; i++)
        place[i] = i;
    while (fgets(line, sizeof line, file)) {
        n = split(line);
        if (n < 0 || (strchr(line, '\\0') == line + sizeof line - 1)) {
            fprintf(stderr, "row %ld is too long\\n", row + 1);
            return 1;
        }
        if (n == 1 && cells[0][0] == '\\0')
            continue;
        if (row == 0 && !found) { /* columns are found by name if there is a header */
            for (i = 0; i < N_COLUMNS; i++)
                for (j = 0; j < n; j++)
                    if (strcmp(column_names[i], cells[j]) == 0) {
                        found++;
                        place[i] = j;
                        break;
                    }
            if (found == N_COLUMNS)
                continue;
            for (i = 0; i < N_COLUMNS; i++)
                place[i] = i;
            found = 1;
        }
        row++;
        read_row(place, n, row, values);
        for (i = 0; i < ${UPPER}_N_FEATURES; i++)
            x[i] = $convert;
        {
$predict
        }
        putchar('\\n');
    }
    return 0;
}
"""

CATEGORY = """\

/* The position of a category; 3.0 and 3 are the same. */
static double category(int feature, char *text)
{
    const size_t sign = *text == '-' || *text == '+';
    const size_t digits = strspn(text + sign, "0123456789");
    char *point = text + sign + digits;
    if (digits && *point == '.' && strspn(point + 1, "0") == strlen(point + 1))
        *point = '\\0';
    return ${NAME}_category(feature, text);
}
"""

READ_CATEGORY = """\
        else if (column_kind[i] == CATEGORY)
            *value = is_missing(text) ? missing : category(column_feature[i], text);
"""

DATE = """\

/* Year, month, weekday (0 is Monday) and hour of a date such as 2024-05-31 14:30. */
static void read_date(const char *text, long row, int column, double *parts)
{
    static const int shift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
    int year, month, day, hour = 0, early;
    char between;
    const int n = sscanf(text, "%d%*1[-/]%d%*1[-/]%d%c%d", &year, &month, &day, &between, &hour);
    if ((n != 3 && n != 5) || month < 1 || month > 12 || year < 1) {
        fprintf(stderr, "row %ld: column \\"%s\\" has \\"%s\\", a date is needed\\n", row,
                column_names[column], text);
        exit(1);
    }
    early = year - (month < 3);
    parts[0] = year;
    parts[1] = month;
    parts[2] = (early + early / 4 - early / 100 + early / 400 + shift[month - 1] + day + 6) % 7;
    parts[3] = hour;
}
"""

READ_DATE = """\
        else if (column_kind[i] == DATE) {
            double parts[4] = {missing, missing, missing, missing};
            int k;
            if (!is_missing(text))
                read_date(text, row, i, parts);
            for (k = 0; k < date_n_parts[i]; k++)
                value[k] = parts[date_parts[i][k]];
        }
"""

PRINT_TEXT = """\
static void print_text(const char *text)
{
    if (strpbrk(text, ",\\"\\n\\r") == NULL) {
        printf("%s", text);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

"""
