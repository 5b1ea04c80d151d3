#include "actors/cluster/coordinator_view.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/network/launcher_environment.hpp"
#include "runtime/network/process_environment.hpp"

#include <leat/cluster_observer.hpp>
#include <leat/error.hpp>

namespace leat {

namespace {

network_address address_in(const observer_options& x, const cluster_settings& environment) {
  if (!x.address.empty())
    return parse_address(x.address, "address");
  if (!environment.coordinator)
    refuse_argument("address", "none",
                    "that of the coordinator, host:port: --join or LEAT_CLUSTER_ADDRESS");
  return environment.coordinator->value;
}

coordinator_view::config config_of(const observer_options& x, const cluster_settings& environment) {
  return {.to = address_in(x, environment),
          .role = link_role::observer,
          .token = x.token.empty() ? environment.token : x.token,
          .certificates = x.certificates.empty() ? environment.certificates : x.certificates,
          .limit = x.limit};
}

} // namespace

class cluster_observer::inside : public coordinator_view {
public:
  using coordinator_view::coordinator_view;
};

cluster_observer::cluster_observer(const observer_options& options) {
  const logger_release released;
  constexpr std::chrono::hours longest{1};
  if (options.limit < std::chrono::seconds{1} || options.limit > longest)
    refuse_argument("limit", std::to_string(options.limit.count()) + " s", "1 to 3600 s");
  inside_ =
      std::make_unique<inside>(config_of(options, read_cluster_settings(variable_of_process)));
}

cluster_observer::~cluster_observer() {
  const logger_release released;
  inside_.reset();
}

cluster_report cluster_observer::look() {
  const logger_release released;
  return inside_->look();
}

void cluster_observer::wait(std::chrono::nanoseconds time) {
  const logger_release released;
  inside_->wait(time);
}

} // namespace leat
