#pragma once

#include <leat/sample.hpp>

#include "python/module/python.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat::python {

// Interpret the results of Python functions. Each throws `bad_sample` for a result without meaning,
// such as a generator, which nothing would run. They require the GIL.

/// For a function that changes a sample: None or the sample, or a dict, whose entries become
/// fields.
void take_result(sample& x, nb::handle lent, nb::handle result);
/// For a function that changes several samples: None or their list, for which this returns 0; or a
/// list with a result for each, whose length this returns.
std::size_t num_results(nb::handle lent, nb::handle result);
/// For a filter: anything but None.
bool is_kept(nb::handle result);
/// For a function that returns whether it has more.
bool is_true(nb::handle result);
std::uint64_t count_in(nb::handle result);
/// bytes, or a str.
std::string bytes_from(nb::handle result);

} // namespace leat::python
