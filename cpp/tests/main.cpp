// Tests of the core without Python, for processors that run in an emulator: `make test-core`,
// `make test-arm`. The tests in Python are the thorough ones.
#include "../dispatch.hpp"
#include "check.hpp"

int main() { return bnt::tests::run_all(bnt::engine_names(), &bnt::use_engine); }
