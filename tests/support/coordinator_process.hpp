#pragma once

#include "tests/support/command.hpp"
#include "tests/support/places.hpp"

namespace leat::test {

/// `leat coordinator` as a process.
class coordinator_process {
public:
  /// `within`: a command that runs another one.
  coordinator_process(const command_bench& bench, const std::string& name, const words& arguments,
                      const words& within = {})
      : output_(bench.at / (name + ".out")), errors_(bench.at / (name + ".err")) {
    std::filesystem::remove(errors_); // what a former process said is not taken for this one's
    child_.emplace(
        words{"/bin/sh", "-c", "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>'" + errors_ + "'", "sh"}
            + within + words{leat_command, "coordinator"} + arguments,
        output_);
  }

  /// Polls: only its files show what it does.
  template <class Condition>
  void wait_until(Condition is_so) const {
    while (!is_so()) {
      CAPTURE(read_file(errors_));
      REQUIRE(child_->is_running());
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  void wait_for_log(const std::string& text) const {
    wait_until([&] { return contains(errors(), text); });
  }
  /// Waits until it listens; false if it ends instead.
  bool listens() const {
    while (!contains(read_file(output_), "\n")) {
      if (!child_->is_running())
        return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
  }
  /// The address that it prints once it listens.
  std::string address() const {
    const std::string before = "LEAT_CLUSTER_ADDRESS=";
    wait_until([&] { return contains(read_file(output_), "\n"); });
    const auto text = read_file(output_);
    REQUIRE(text.starts_with(before));
    REQUIRE(count_of(text, "\n") == 1);
    return text.substr(before.size(), text.size() - before.size() - 1);
  }
  std::uint16_t port() const {
    const auto text = address();
    return static_cast<std::uint16_t>(std::stoul(text.substr(text.rfind(':') + 1)));
  }
  pid_t pid() const { return child_->pid(); }
  void signal(int x) const { child_->signal(x); }
  void kill() { child_->kill(); }
  /// Waits for its end; returns the exit code.
  int end() { return child_->wait(); }
  std::string errors() const { return read_file(errors_); }

private:
  std::string output_;
  std::string errors_;
  std::optional<other_program> child_;
};

} // namespace leat::test
