#pragma once

#include <leat/order.hpp>

#include "tools/leat/verify/log_line.hpp"

namespace leat::command {

/// The batches that are due in an epoch from a step on: an `order_preview` whose errors name the
/// command's options.
order_preview due_batches(const pipeline& job, const preview_options& from);

/// A global batch as `leat order` prints it.
batch_line line_of(due_batch x);

} // namespace leat::command
