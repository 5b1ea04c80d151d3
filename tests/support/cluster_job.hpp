#pragma once

#include "tests/support/command.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/places.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Jobs of several processes. By their logs and digests: what the ranks have handed over in the end
// is what a single process would hand over.

namespace leat::test {

/// The sum of the digests that the ranks report.
inline std::string sum_of(const std::vector<std::string>& digests) {
  hash_sum sum;
  for (const auto& x : digests)
    sum.add(std::stoull(x.substr(0, 16), nullptr, 16), std::stoull(x.substr(16), nullptr, 16));
  return sum.text();
}

/// The ranks of one job, each in a process of its own, or in several, one after another. All
/// processes of a rank write to one log.
class cluster_job {
public:
  /// `length`: "--epochs" or "--steps", with a number.
  cluster_job(const std::string& pipeline, words length, std::uint64_t world_size, words options)
      : world_size_(world_size), length_(std::move(length)), options_(std::move(options)) {
    std::ofstream{bench.at / "job.leat"} << pipeline << '\n';
  }
  cluster_job(const std::string& pipeline, std::uint64_t epochs, std::uint64_t world_size,
              words options)
      : cluster_job(pipeline, words{"--epochs", std::to_string(epochs)}, world_size,
                    std::move(options)) {}

  /// Starts a rank; the coordinator is in rank 0.
  void start(std::uint64_t rank, const words& more = {}) {
    start_process(rank, with_coordinator(rank) + more);
  }
  /// Options of a rank in a job whose rank 0 has the coordinator.
  words with_coordinator(std::uint64_t rank) const {
    return words{"--cluster", "127.0.0.1:0", "--state", bench.at / "state", "--beat", "100"}
           + seat(rank);
  }
  words seat(std::uint64_t rank) const {
    return {"--rank", std::to_string(rank), "--world-size", std::to_string(world_size_)};
  }
  /// The same for a rank that knows only the coordinator's address.
  words seat(std::uint64_t rank, const coordinator_process& coordinator) const {
    return at(coordinator) + seat(rank);
  }
  static words at(const coordinator_process& x) {
    return {"--cluster", x.address(), "--beat", "100"};
  }

  /// A coordinator in a process of its own, which waits for nobody for long.
  coordinator_process coordinator(const std::string& name, const words& more = {}) const {
    return {bench, name,
            words{"--state", bench.at / "state"}
                + words_of("--lost-after 3 --lease 5 --last-call 1") + more};
  }

  /// Starts a process with this number and these options.
  void start_process(std::uint64_t number, const words& more) {
    ranks_.insert_or_assign(number, launch(std::to_string(number), log_of(number), more));
  }
  /// `name` is that of its files, `before` is shell text, such as further variables, and `within`
  /// is a command that runs another one.
  std::unique_ptr<other_program> launch(const std::string& name, const std::string& log,
                                        const words& more, const std::string& before = "",
                                        const words& within = {}) const {
    return std::make_unique<other_program>(
        words{"/bin/sh", "-c",
              before + " LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'" + errors_of(name) + "'", "sh"}
            + within + words{leat_command, "run", "--pipeline", bench.at / "job.leat"} + length_
            + words{"--snapshot-dir", bench.at / "sets", "--log", log, "--workers", "1", "--json"}
            + options_ + more,
        output_of(name));
  }
  /// Takes a process that `launch` made as a rank that `check_end` checks.
  void take(std::uint64_t number, std::unique_ptr<other_program> process) {
    ranks_.insert_or_assign(number, std::move(process));
  }
  /// Kills a rank that does not come back.
  void lose(std::uint64_t rank) {
    ranks_.at(rank)->kill();
    ranks_.erase(rank);
  }
  void start_all() {
    for (std::uint64_t rank = 0; rank < world_size_; ++rank)
      start(rank);
  }
  other_program& rank(std::uint64_t number) { return *ranks_.at(number); }
  std::uint64_t world_size() const { return world_size_; }

  std::string log_of(std::uint64_t rank) const {
    return bench.at / ("log." + std::to_string(rank));
  }
  std::string errors_of(const std::string& name) const { return bench.at / ("errors." + name); }
  std::string errors_of(std::uint64_t rank) const { return errors_of(std::to_string(rank)); }
  std::string output_of(const std::string& name) const { return bench.at / ("output." + name); }
  /// Lines in a rank's log, which has one for each batch.
  std::size_t batches_of(std::uint64_t rank) const {
    return count_of(read_file(log_of(rank)), "\n");
  }
  void wait_for_batches(std::uint64_t number, std::size_t batches) {
    while (batches_of(number) < batches && rank(number).is_running())
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  /// Waits for the end of a rank, and checks its exit code and that its errors have these parts.
  void check_rank(std::uint64_t number, int code, const words& parts = {}) {
    const auto found = rank(number).wait();
    const auto errors = read_file(errors_of(number));
    CAPTURE(number, errors);
    CHECK(found == code);
    for (const auto& part : parts)
      CHECK(contains(errors, part));
  }

  /// Waits for all, and checks that they ended well and handed over what one process does.
  void check_end() {
    check_digests();
    check_logs();
  }
  void check_digests() {
    std::vector<std::string> digests;
    for (const auto& [number, process] : ranks_) {
      check_rank(number, 0);
      if (auto digest = digest_of(std::to_string(number)))
        digests.push_back(*digest);
    }
    if (digests.size() == ranks_.size())
      CHECK(sum_of(digests) == whole_digest());
  }
  /// The digest reported by a rank that ended well; nothing if it was killed when all had ended,
  /// before it could report one. Then its log tells.
  std::optional<std::string> digest_of(const std::string& name) const {
    if (contains(read_file(errors_of(name)), "this job is over"))
      return std::nullopt;
    return json_lines(read_file(output_of(name))).at(0).at("digest").get<std::string>();
  }
  /// The digest of a single process that hands over everything.
  std::string whole_digest() const {
    return bench.ask(words{"run", "--pipeline", bench.at / "job.leat"} + length_).at("digest");
  }

  /// The data are the lines of this file, from standard input. They are kept in a journal, as the
  /// next process cannot read them again.
  void read_lines(const std::string& file) {
    bench.input = file;
    has_journals_ = true;
  }
  words journal_of(std::uint64_t rank) const {
    return has_journals_ ? words{"--journal", bench.at / ("journal." + std::to_string(rank))}
                         : words{};
  }

  /// Checks that each rank's log has its batches one after the other without a gap. What was handed
  /// over before the ranks went back does not count.
  void check_logs() { check_logs(order_of_job()); }
  /// The same for an order that is also in the file "order" of the bench. With contents it has the
  /// hashes of rows as the log of a job has them.
  void check_logs(const batch_table& order, bool with_contents = false) {
    std::vector<logged_batch> all;
    std::string logs;
    for (std::uint64_t number = 0; number < world_size_; ++number) {
      logs += (logs.empty() ? "" : ",") + log_of(number);
      std::map<step_key, logged_batch> mine;
      json term;
      for (const auto& attempt : attempts_of(log_of(number))) {
        const bool is_of_term = term == attempt.header.at("term");
        term = attempt.header.at("term");
        if (attempt.batches.empty())
          continue;
        const auto from = attempt.header.value("resumed_at", json());
        const step_key begin =
            from.is_null() ? step_key{0, 0} : step_key{from.at("epoch"), from.at("step")};
        if (!is_of_term) // all went back; a rank that came back alone would hand over nothing twice
          mine.erase(mine.lower_bound(begin), mine.end());
        auto due = order.find(begin);
        for (const auto& batch : attempt.batches) {
          CAPTURE(number, batch.epoch, batch.step);
          REQUIRE(due != order.end());
          REQUIRE(step_key{batch.epoch, batch.step} == due->first);
          REQUIRE(mine.emplace(due->first, batch).second);
          ++due;
        }
      }
      REQUIRE(mine.size() == order.size());
      for (const auto& [key, batch] : mine)
        all.push_back(batch);
    }
    for (auto& batch : all)
      for (auto& row : batch.rows)
        if (!with_contents)
          row.pixels.clear(); // `leat order` prints none
    CHECK((table_of(all) == order));
    bench.verify_good({bench.at / "order", logs});
  }

  /// The same for an elastic job, whose processes, so many, had any rank: what the terms have left
  /// is what one process hands over.
  void check_elastic_logs(const batch_table& order, std::uint64_t processes) {
    std::map<std::uint64_t, std::vector<logged_attempt>> terms;
    for (std::uint64_t number = 0; number < processes; ++number)
      for (auto& attempt : attempts_of(log_of(number)))
        terms[attempt.header.at("term").get<std::uint64_t>()].push_back(std::move(attempt));
    std::multimap<step_key, logged_batch> all;
    for (const auto& [term, attempts] : terms) {
      std::optional<step_key> begin;
      for (const auto& attempt : attempts) {
        const auto from = attempt.header.value("resumed_at", json());
        const step_key own =
            from.is_null() ? step_key{0, 0} : step_key{from.at("epoch"), from.at("step")};
        CAPTURE(term, own, begin.value_or(own));
        REQUIRE(begin.value_or(own) == own); // all go back to one set
        if (!begin)
          all.erase(all.lower_bound(own), all.end());
        begin = own;
        for (const auto& batch : attempt.batches)
          all.emplace(step_key{batch.epoch, batch.step}, batch);
      }
    }
    std::vector<logged_batch> left;
    std::size_t rows = 0;
    for (auto& [key, batch] : all) {
      rows += batch.rows.size();
      left.push_back(std::move(batch));
    }
    const auto found = table_of(left);
    CHECK((found == order));
    for (const auto& [key, batch] : found)
      rows -= batch.size();
    CHECK(rows == 0); // none was handed over twice
  }

  /// Checks that a job of another world size that resumes from any stored set comes to the same
  /// end. `least`: how many sets there must be.
  void check_sets(const words& worlds = {"1", "3"}, std::size_t least = 1) {
    const auto whole = whole_digest();
    std::size_t sets = 0;
    for (const auto& entry : std::filesystem::directory_iterator{bench.at / "sets"}) {
      const auto copy = bench.at / ("copy." + std::to_string(sets++));
      std::filesystem::create_directory(copy);
      std::filesystem::copy_file(entry.path(),
                                 std::filesystem::path{copy} / entry.path().filename());
      for (const auto& world : worlds) {
        auto job = words{"run", "--pipeline", bench.at / "job.leat"} + length_
                   + words{"--world-size",     world,    "--workers", "1", "--snapshot-dir", copy,
                           "--snapshot-every", "100000", "--resume"};
        if (has_journals_) {
          const auto journal = copy + ".journal." + world;
          std::filesystem::copy(bench.at / "journal.0", journal,
                                std::filesystem::copy_options::recursive);
          job = job + words{"--journal", journal};
          bench.input = "/dev/null"; // the journal has everything
        }
        CHECK(bench.ask(job).at("digest") == whole);
      }
    }
    CHECK(sets >= least);
  }

  command_bench bench;

private:
  batch_table order_of_job() const {
    const words job{"--pipeline", bench.at / "job.leat"};
    if (length_.front() == "--epochs")
      return bench.order(job, std::stoull(length_.back()), bench.at / "order");
    return bench.order(job + length_, 1, bench.at / "order");
  }

  std::uint64_t world_size_;
  words length_;
  words options_;
  bool has_journals_ = false;
  std::map<std::uint64_t, std::unique_ptr<other_program>> ranks_;
};

} // namespace leat::test
