// Functions that add the bindings of each file to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace bnt {

void bind_registry(nanobind::module_& m);
void bind_structure(nanobind::module_& m);
void bind_forward(nanobind::module_& m);
void bind_attributions(nanobind::module_& m);
void bind_settings(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_job(nanobind::module_& m);
void bind_training(nanobind::module_& m);
void bind_csv(nanobind::module_& m);
void bind_growth(nanobind::module_& m);

}  // namespace bnt
