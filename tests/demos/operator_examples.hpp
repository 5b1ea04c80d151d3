#pragma once

#include "tests/support/standard.hpp"

#include <leat/pipeline.hpp>

namespace leat::test {

/// The C++ of docs/operators by the pages' names: what each gives as `data`.
std::map<std::string, std::function<pipeline()>> operator_examples();

} // namespace leat::test
