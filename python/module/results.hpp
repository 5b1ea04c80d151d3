#pragma once

#include <leat/sample.hpp>

#include "python/module/python.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace leat::python {

// What functions of Python return, and what it means. Each throws `bad_sample` for a result that
// means nothing, such as a generator, which nothing would run. They hold the GIL.

/// For a function that changes a sample: None, or the sample; a dict, whose entries become fields.
void take_result(sample& x, nb::handle lent, nb::handle result);
/// For one that changes several: None, or their list; or a list with a result for each, whose
/// number this returns: 0 for the others.
std::size_t num_results(nb::handle lent, nb::handle result);
/// For a filter: not None.
bool is_kept(nb::handle result);
/// For a function that says whether it has more.
bool is_true(nb::handle result);
std::uint64_t count_in(nb::handle result);
/// bytes, or a str.
std::string bytes_from(nb::handle result);

} // namespace leat::python
