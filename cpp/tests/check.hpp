// A test is a function that registers itself; a check that fails is reported, and the tests
// continue.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace bnt::tests {

struct Test {
    const char* name;
    void (*run)();
};

inline std::vector<Test>& all_tests() {
    static std::vector<Test> tests;
    return tests;
}

inline int& n_failures() {
    static int n = 0;
    return n;
}

struct Registration {
    Registration(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

inline void check(bool ok, const char* what, const char* file, int line) {
    if (ok) return;
    std::printf("%s:%d: %s\n", file, line, what);
    n_failures() += 1;
}

inline void check_close(double value, double expected, double tolerance, const char* what,
                        const char* file, int line) {
    const double scale = std::fmax(1, std::fabs(expected));
    if (std::fabs(value - expected) <= tolerance * scale) return;  // false for NaN
    std::printf("%s:%d: %s is %.17g, expected %.17g\n", file, line, what, value, expected);
    n_failures() += 1;
}

// Runs all tests with each instruction set; returns the exit code of the program.
template <class Use>
int run_all(const std::vector<std::string>& sets, Use use) {
    for (const std::string& name : sets) {
        use(name);
        const int before = n_failures();
        for (const Test& test : all_tests()) test.run();
        std::printf("%s: %zu tests, %d failed checks\n", name.c_str(), all_tests().size(),
                    n_failures() - before);
    }
    return n_failures() == 0 ? 0 : 1;
}

#define BNT_TEST(name)                                                         \
    static void name();                                                        \
    static const ::bnt::tests::Registration registration_##name(#name, &name); \
    static void name()
#define CHECK(condition) ::bnt::tests::check(condition, #condition, __FILE__, __LINE__)
#define CHECK_CLOSE(value, expected, tolerance) \
    ::bnt::tests::check_close(value, expected, tolerance, #value, __FILE__, __LINE__)

}  // namespace bnt::tests
