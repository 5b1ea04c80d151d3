#pragma once

#include <leat/mix_counts.hpp>

#include "python/module/python.hpp"

#include <vector>

namespace leat::python {

/// What the inputs of mixes gave, as a list of dicts.
nb::list list_of(const std::vector<mix_counts>& mixes);

} // namespace leat::python
