// Tests of the core without Python, for processors that run in an emulator: `make test-core`,
// `make test-arm`. The tests in Python are the thorough ones.
#include "../dispatch.hpp"
#include "check.hpp"

int main() {
    using namespace bnt::tests;
    for (const std::string& name : bnt::engine_names()) {
        bnt::use_engine(name);
        const int before = n_failures();
        for (const Test& test : all_tests()) test.run();
        std::printf("%s: %zu tests, %d failed checks\n", name.c_str(), all_tests().size(),
                    n_failures() - before);
    }
    return n_failures() == 0 ? 0 : 1;
}
