#include "actors/make_lender.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/pipeline/lendable.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view lends_none = "none";
constexpr std::string_view lends_items = "items";
constexpr std::string_view lends_records = "records";

/// What is known of a row's bytes before any was made.
std::int64_t bytes_of_row(const batch_layout& layout) {
  std::int64_t bytes = 256;
  for (const auto& field : layout.fields())
    bytes += static_cast<std::int64_t>(field.row_bytes());
  return bytes;
}

} // namespace

chosen_port port_for(const std::string& at, const std::string& option,
                     const helper_access& access) {
  listen_wish wish{.is_insecure = access.insecure, .is_secured = !access.certificates.empty()};
  if (at != any_place)
    wish.address = {parse_address(at, option, port_rule::any), option};
  const auto place = choose_listen_place(wish, read_machine_interfaces(), resolve);
  return {{.at = place.at,
           .port = place.told.port,
           .certificates = certificates_in(access.certificates, {link_role::rank}),
           .is_insecure = true, // whoever chose the place has asked for that
           .rules = {.token = secret{access.token}}},
          place.told.host};
}

listening_lender make_lender(const pipeline& data, const rank_job& job,
                             const loader_options& options) {
  if (options.workers_at.empty())
    return {};
  if (const auto why = reason_against_lending(data); !why.empty()) {
    notice("loader: helpers are not let in: the pipeline has " + why);
    return {};
  }
  const auto access = options.helpers.value_or(helper_access{});
  if (access.lend == lends_none) {
    notice("loader: helpers are not let in: loader.helpers.lend is \"none\"");
    return {};
  }
  const bool can_send = can_send_records(data) && access.lend != lends_items;
  if (access.lend == lends_records && !can_send)
    refuse_argument("loader.helpers.lend",
                    "records of a pipeline that does not read all of them by "
                    "number from its sources",
                    "\"auto\" or \"items\"");
  auto told = lent_job_of(data, job.facts, *job.plan);
  told.sends_records = access.lend == lends_records;
  if (!can_send)
    told.sources.clear();
  auto lent = encode(told);
  if (lent.size() > most_bulk_payload) {
    notice("loader: helpers are not let in: the job, told to another process, has "
           + std::to_string(lent.size()) + " bytes, at most " + std::to_string(most_bulk_payload)
           + " are sent");
    return {};
  }
  auto place = port_for(options.workers_at, "loader.workers_at", access);
  auto lender = std::make_shared<row_lender>(
      row_lender_config{.guard = std::move(place.guard),
                        .settings = {.row_bytes = bytes_of_row(*job.plan->layout),
                                     .weighs_costs = access.lend == "auto"},
                        .job = std::move(lent),
                        .plan = job.plan,
                        .data = can_send ? std::optional{data} : std::nullopt,
                        .log = [](const std::string& text) { notice("loader: " + text); }});
  const auto address = to_string(network_address{place.host, lender->port()});
  notice("loader: helpers join at " + address);
  return {lender, address};
}

helper_stats stats_of(const row_lender& x) {
  const auto all = x.stats();
  return {all.helpers,          all.cores,         all.rows_lent,  all.rows_received,
          all.rows_dealt_again, all.rows_declined, all.bytes_sent, all.bytes_received,
          all.not_lent};
}

} // namespace leat
