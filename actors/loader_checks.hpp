#pragma once

#include "runtime/rows/job_plan.hpp"

#include <leat/loader.hpp>

#include <optional>
#include <string>

namespace leat {

/// Throws `errc::invalid_argument` for options that no loader can have.
void check_options(const loader_options& x);

/// Throws `errc::invalid_argument` for options that a loader of this pipeline cannot have. `limit`:
/// see `lane_limit`.
void check_options(const loader_options& x, const job_plan& plan,
                   const std::optional<std::string>& limit);

/// Throws `errc::invalid_argument` in the child of a process that has had loaders: what its
/// parent's threads held at the fork stays locked there.
void check_process();

/// Throws what every call of a loader throws in the child of a fork.
[[noreturn]] void refuse_child();

} // namespace leat
