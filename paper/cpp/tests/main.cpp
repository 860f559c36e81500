// Tests of the kernel without Python: `make test-core`, `make test-arm`.
#include "../mlp_dispatch.hpp"
#include "tests/check.hpp"

int main() {
    return bnt::tests::run_all(bnt::mlp_trainings().names(),
                               [](const std::string& name) { bnt::mlp_trainings().use(name); });
}
