#pragma once

#include "runtime/job/rank_job.hpp"
#include "runtime/lending/row_lender.hpp"

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace leat {

/// `workers_at` for a port of the system's choice: at loopback, or at the first address that other
/// machines can use, if they may.
inline constexpr std::string_view any_place = ":0";

struct chosen_port {
  guard_config guard = {};
  /// What other machines are told.
  std::string host = {};
};

/// Where a rank listens for other processes of its job: `at` is a value of this option. Throws
/// `errc::invalid_argument` for an address that is not this machine's.
chosen_port port_for(const std::string& at, const std::string& option, const helper_access& access);

struct listening_lender {
  std::shared_ptr<row_lender> lender = {};
  /// "host:port" for other machines.
  std::string address = {};
};

/// Listens for helpers where the options say so; null where they do not, and for a job whose rows
/// cannot be lent, which a notice says. `data` is the job's pipeline, whose fields are known.
/// Throws what row_lender throws, and `errc::invalid_argument` for an address that is not this
/// machine's.
listening_lender make_lender(const pipeline& data, const rank_job& job,
                             const loader_options& options);

helper_stats stats_of(const row_lender& x);

} // namespace leat
