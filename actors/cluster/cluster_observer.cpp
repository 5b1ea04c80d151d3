#include "actors/caf/network_system.hpp"
#include "actors/cluster/dialer.hpp"
#include "actors/cluster/report_of.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/network/launcher_environment.hpp"
#include "runtime/network/process_environment.hpp"

#include <leat/cluster_observer.hpp>
#include <leat/error.hpp>

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

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

std::string token_in(const observer_options& x, const cluster_settings& environment) {
  return x.token.empty() ? environment.token : x.token;
}

} // namespace

class cluster_observer::inside {
public:
  inside(const observer_options& x, const cluster_settings& environment)
      : to_(address_in(x, environment)), token_(token_in(x, environment)), limit_(x.limit),
        on_(network_system::of_process()), self_(on_.system()),
        dialer_(spawn_in_thread(
            on_.system(), on_.threads(), "dialer", tell_failure, dialer,
            dialer_config{.role = link_role::observer,
                          .token = secret{token_},
                          .certificates = certificates_in(
                              x.certificates.empty() ? environment.certificates : x.certificates,
                              link_role::observer),
                          .stop = stop_},
            gate_token{lives_})) {}
  ~inside() {
    leave();
    stop_->set();
    caf::anon_send_exit(dialer_, caf::exit_reason::user_shutdown);
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

  cluster_report look() {
    wait(std::chrono::nanoseconds{0}); // takes in what has happened to the connection meanwhile
    if (!coordinator_)
      connect();
    cluster_status found;
    caf::error problem;
    self_->request(coordinator_, limit_, look_atom_v, token_)
        .receive([&](cluster_status& x) { found = std::move(x); },
                 [&](caf::error& x) { problem = std::move(x); });
    if (!problem)
      return report_of(to_string(to_), found);
    leave();
    fail(problem == caf::sec::request_timeout
             ? "a coordinator that has not answered within " + limit_text()
             : "a coordinator that has closed the connection");
  }

  void wait(std::chrono::nanoseconds time) {
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

private:
  void connect() {
    dial_answer found{.problem = "no answer within " + limit_text()};
    self_->request(dialer_, limit_, dial_atom_v, to_.host, to_.port)
        .receive([&](dial_answer& x) { found = std::move(x); }, [](caf::error&) {});
    if (!found.link && found.is_unanswered)
      throw_error(errc::mismatch, "cluster", found.problem,
                  "LEAT_CLUSTER_TOKEN as the coordinator has it");
    if (!found.link)
      fail(found.problem);
    coordinator_ = found.link;
    self_->monitor(coordinator_);
  }

  /// Ends the connection, if there is one.
  void leave() {
    if (const auto link = std::exchange(coordinator_, nullptr))
      self_->send_exit(link, caf::exit_reason::user_shutdown);
  }

  [[noreturn]] void fail(const std::string& got) const {
    const auto here = to_string(to_);
    throw_error(errc::io, "cluster", got.find(here) == std::string::npos ? here + ": " + got : got,
                "the coordinator of the job, at the address that it has printed");
  }

  std::string limit_text() const { return std::to_string(limit_.count()) + " s"; }

  network_address to_;
  std::string token_;
  std::chrono::seconds limit_;
  network_system& on_;
  caf::scoped_actor self_;
  const std::shared_ptr<const wake_event> stop_ = std::make_shared<wake_event>();
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  dialer_actor dialer_;
  /// Null while there is no connection.
  coordinator_actor coordinator_;
};

cluster_observer::cluster_observer(const observer_options& options) {
  const logger_release released;
  constexpr std::chrono::hours longest{1};
  if (options.limit < std::chrono::seconds{1} || options.limit > longest)
    refuse_argument("limit", std::to_string(options.limit.count()) + " s", "1 to 3600 s");
  inside_ = std::make_unique<inside>(options, read_cluster_settings(variable_of_process));
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
