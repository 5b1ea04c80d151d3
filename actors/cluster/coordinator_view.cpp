#include "actors/cluster/coordinator_view.hpp"

#include "actors/cluster/dialer.hpp"
#include "actors/cluster/report_of.hpp"
#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace leat {

coordinator_view::coordinator_view(config x)
    : config_(std::move(x)), on_(network_system::of_process()), self_(on_.system()),
      dialer_(spawn_in_thread(
          on_.system(), on_.threads(), "dialer", tell_failure, dialer,
          dialer_config{.role = config_.role,
                        .token = secret{config_.token},
                        .certificates = certificates_in(config_.certificates, config_.role),
                        .stop = stop_},
          gate_token{lives_})) {}

coordinator_view::~coordinator_view() {
  leave();
  stop_->set();
  caf::anon_send_exit(dialer_, caf::exit_reason::user_shutdown);
}

cluster_report coordinator_view::look() {
  wait(std::chrono::nanoseconds{0}); // takes in what has happened to the connection meanwhile
  if (!coordinator_)
    connect();
  cluster_status found;
  caf::error problem;
  self_->request(coordinator_, config_.limit, look_atom_v, config_.token)
      .receive([&](cluster_status& x) { found = std::move(x); },
               [&](caf::error& x) { problem = std::move(x); });
  if (!problem)
    return report_of(to_string(config_.to), found);
  leave();
  fail(problem == caf::sec::request_timeout
           ? "a coordinator that has not answered within " + limit_text()
           : "a coordinator that has closed the connection");
}

void coordinator_view::wait(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  bool is_over = false;
  while (!is_over) {
    const auto left = std::max<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now(),
                                                         std::chrono::nanoseconds{0});
    self_->receive(
        [&](const caf::down_msg& x) {
          if (!coordinator_ || x.source != coordinator_.address())
            return;
          coordinator_ = nullptr;
          is_over = true;
        },
        caf::after(caf::timespan{left}) >> [&] { is_over = true; });
  }
}

void coordinator_view::connect() {
  dial_answer found{.problem = "no answer within " + limit_text()};
  self_->request(dialer_, config_.limit, dial_atom_v, config_.to.host, config_.to.port)
      .receive([&](dial_answer& x) { found = std::move(x); }, [](caf::error&) {});
  if (!found.link && found.is_unanswered)
    throw_error(errc::mismatch, "cluster", found.problem,
                "LEAT_CLUSTER_TOKEN as the coordinator has it");
  if (!found.link)
    fail(found.problem);
  coordinator_ = found.link;
  self_->monitor(coordinator_);
}

void coordinator_view::leave() {
  if (const auto link = std::exchange(coordinator_, nullptr))
    self_->send_exit(link, caf::exit_reason::user_shutdown);
}

void coordinator_view::fail(const std::string& got) const {
  const auto here = to_string(config_.to);
  throw_error(errc::io, "cluster", got.find(here) == std::string::npos ? here + ": " + got : got,
              "the coordinator of the job, at the address that it has printed");
}

} // namespace leat
