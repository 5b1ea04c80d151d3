#pragma once

#include "runtime/base/value_bytes.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"
#include "runtime/sample/batch_layout.hpp"
#include "runtime/sample/sample_access.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

// Rows as bytes, for a process that runs the same version of leat with the same job plan. What
// comes from there is not trusted: whatever does not fit is refused, before any memory is taken
// for it. What only speeds up the rows of this process stays here: samples that were kept with
// their items, and with what was found in them.

/// The largest row.
inline constexpr std::size_t most_row_bytes = std::size_t{256} << 20;

/// Whether a row can be made in another process: it is not the turn of a lane, which has its state
/// here, and the content of its item that no source can read again is a sample.
bool can_travel(const row_request& row);

/// Only for a row that can travel.
std::string encode(const row_request& row);
/// Nothing if the bytes are not such a row, or not one of this job.
std::optional<row_request> decode_request(std::string_view bytes, const job_plan& plan);

/// Where the bytes of a row's field lie.
using row_bytes = std::function<std::span<const std::byte>(std::size_t field)>;

/// A result, and the fields if it is a good row of a batch, all of which are on the host. `row` is
/// called for them.
std::string encode(const row_result& result, const batch_layout& layout, const row_bytes& row);
/// The result of a probe, which has no fields.
std::string encode(const row_result& result);
/// Reads a result, and writes its fields, if it has any, to `target`; without one, fields are
/// refused. False if the bytes are not such a result; what was written until then is not defined.
/// Throws std::bad_alloc.
bool decode_result(std::string_view bytes, const row_target* target, row_result& result);

// Parts of these, for other messages about rows:
void write_bad(value_writer& to, const bad_row& x);
bad_row read_bad(value_reader& from);
void write_error(value_writer& to, const error& x);
error read_error(value_reader& from);

} // namespace leat
