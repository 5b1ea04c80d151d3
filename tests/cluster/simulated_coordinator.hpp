#pragma once

#include "runtime/cluster/coordinator.hpp"
#include "tests/cluster/judge.hpp"
#include "tests/cluster/scenario.hpp"
#include "tests/cluster/simulated_disk.hpp"
#include "tests/cluster/simulated_network.hpp"

#include <leat/error.hpp>

namespace leat::test {

/// What all processes of a run have in common.
struct simulated_cluster {
  simulated_network& net;
  const scenario& with;
  simulated_disk& disk;
  judge& check;
  /// Where a coordinator may stop for long, while another one begins.
  std::function<void()> before_state_is_written = [] {};
  /// For display.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

/// A process with a coordinator, and the file of the set that it collects.
class simulated_coordinator final : public simulated_process {
public:
  simulated_coordinator(simulated_cluster& in, std::uint64_t host);

  void on_hello(connection_id from, const cluster_hello& x);
  void on_beat(connection_id from, cluster_beat x);
  void on_part(connection_id from, const cluster_part& x);
  void on_closed(connection_id x) override;

  const coordinator& value() const { return lead_; }

private:
  void tick();
  /// Ends the process if the state directory cannot be used: what it was about to send is not sent.
  template <class Call>
  void do_or_end(Call call) {
    try {
      call();
    } catch (const error& problem) {
      in_.note(problem.what());
      return exit();
    }
    do_all();
  }
  void do_all();
  void do_with_set(const set_command& x);
  void finish_set(const job_position& at, std::uint64_t term,
                  const std::map<std::uint64_t, std::string>& parts);
  void end_set(const job_position& at, std::uint64_t term,
               const std::map<std::uint64_t, std::string>& parts);
  void check_parts(std::uint64_t world_size) const;
  void alter(cluster_beat& x) const;

  simulated_cluster& in_;
  std::uint64_t life_;
  simulated_memory memory_;
  coordinator lead_;
  /// Parts of the files that are being written.
  std::map<job_position, std::map<std::uint64_t, std::string>> parts_;
};

/// The approximate size of a word as a message.
std::size_t bytes_of(const cluster_word& x);

} // namespace leat::test
