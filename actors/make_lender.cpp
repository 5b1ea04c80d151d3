#include "actors/make_lender.hpp"

#include "runtime/lending/lent_job.hpp"
#include "runtime/network/listen_place.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

/// What is known of a row's bytes before any was made.
std::int64_t bytes_of_row(const batch_layout& layout) {
  std::int64_t bytes = 256;
  for (const auto& field : layout.fields())
    bytes += static_cast<std::int64_t>(field.row_bytes());
  return bytes;
}

guard_config guard_for(const loader_options& options) {
  const auto& access = options.helpers;
  const listen_wish wish{
      .address = found_value<network_address>{parse_address(options.workers_at, "loader.workers_at",
                                                            port_rule::any),
                                              "loader.workers_at"},
      .is_insecure = access.insecure,
      .is_secured = !access.certificates.empty()};
  const auto place = choose_listen_place(wish, read_machine_interfaces(), resolve);
  return {.at = place.at,
          .port = place.told.port,
          .certificates = certificates_in(access.certificates, {link_role::rank}),
          .is_insecure = true, // whoever chose the place has asked for that
          .rules = {.token = secret{access.token}}};
}

} // namespace

std::shared_ptr<row_lender> make_lender(const pipeline& data, const rank_job& job,
                                        const loader_options& options) {
  if (options.workers_at.empty())
    return nullptr;
  if (const auto why = reason_against_lending(data); !why.empty()) {
    notice("loader: helpers are not let in: the pipeline has " + why);
    return nullptr;
  }
  auto lender = std::make_shared<row_lender>(
      row_lender_config{.guard = guard_for(options),
                        .settings = {.row_bytes = bytes_of_row(*job.plan->layout)},
                        .job = encode(lent_job_of(data, job.facts, *job.plan)),
                        .plan = job.plan,
                        .data = can_send_records(data) ? std::optional{data} : std::nullopt,
                        .log = [](const std::string& text) { notice("loader: " + text); }});
  const auto host = parse_address(options.workers_at, "loader.workers_at", port_rule::any).host;
  notice("loader: helpers join at " + to_string(network_address{host, lender->port()}));
  return lender;
}

helper_stats stats_of(const row_lender& x) {
  const auto all = x.stats();
  return {all.helpers,          all.cores,         all.rows_lent,  all.rows_received,
          all.rows_dealt_again, all.rows_declined, all.bytes_sent, all.bytes_received};
}

} // namespace leat
