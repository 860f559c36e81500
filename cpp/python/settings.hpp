// Settings and losses from Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include "../engine.hpp"

namespace bnt {

LossSettings as_loss(nanobind::handle name, nanobind::handle parameters);

}  // namespace bnt
