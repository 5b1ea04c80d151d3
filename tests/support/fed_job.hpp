#pragma once

#include "tests/support/cluster_job.hpp"
#include "tests/support/live_pipe.hpp"

// Jobs of several processes whose pipelines have feeds, and what one process hands over in their
// place.

namespace leat::test {

inline const std::string batches_of_fed = ".batch(24, lanes=24, end=\"mask\")";
/// It looks at contents: a record that has another one's content moves all that follow.
inline const std::string by_content = ".filter(\"field_hash@1\", field=\"text\", keep=80)";

/// What a job is, apart from what happens to it.
struct fed_plan {
  /// With FEED for what differs in one process.
  std::string pipeline;
  words options;
  /// Of an elastic job: how many processes there are at most.
  std::uint64_t world_size;
  bool is_elastic;
  /// "stdin", which is its name in ids of a process alone, too; and perhaps others.
  words feeds;
  /// Feeds read a pipe, where a record is once; otherwise files.
  bool is_piped;
  /// The rate of pipes. Feeds read some thousand records ahead, and so all at once if they can.
  std::size_t bytes_per_ms;
  bool has_worker;
  bool is_secured;

  /// What the ranks run, and what one process runs that reads standard input itself.
  std::string text_of_job() const { return filled_in("feed(\"stdin\")"); }
  std::string text_alone() const { return filled_in("standard_input()"); }

  std::string text() const {
    std::string result =
        text_of_job()
        + (is_piped ? " pipes with " + std::to_string(bytes_per_ms) + " bytes per ms" : " files")
        + (has_worker ? " worker" : "") + (is_secured ? " with" : " without") + " certificates";
    for (const auto& x : options)
      result += " " + x;
    return result + (is_elastic ? " elastic up to " : " world ") + std::to_string(world_size);
  }

private:
  std::string filled_in(const std::string& source) const {
    const std::string mark = "FEED";
    auto result = pipeline;
    return result.replace(result.find(mark), mark.size(), source) + batches_of_fed;
  }
};

/// The files and processes of one job, which ends with its owner.
class fed_job {
public:
  explicit fed_job(const fed_plan& plan)
      : job(plan.text_of_job(), 1, plan.world_size,
            plan.options + words{"--feeds-at", "127.0.0.1:0"}
                + (plan.has_worker ? words{"--workers-at", "127.0.0.1:0"} : words{})),
        plan_(plan) {
    if (plan.is_secured) {
      job.bench.succeed({"certs", "init", authority()});
      issue();
    }
    for (const auto& feed : plan.feeds) {
      std::string text;
      for (unsigned i = 0; i < (feed == "stdin" ? 4200U : 2000U); ++i)
        text += feed + " " + std::to_string(i) + "\n";
      std::ofstream{lines_of(feed)} << text;
      if (plan.is_piped)
        pipes_[feed] = std::make_unique<live_pipe>(text, plan.bytes_per_ms);
    }
    std::ofstream false_lines{job.bench.at / "false"};
    for (int i = 0; i < 2000; ++i)
      false_lines << "false " << i << "\n";
  }

  /// Lets records come, if feeds read pipes.
  void pour() const {
    for (const auto& [feed, pipe] : pipes_)
      pipe->pour();
  }
  /// Renews certificates.
  void issue() const {
    job.bench.succeed({"certs", "issue", authority(), "all", "--role", "coordinator", "--role",
                       "rank", "--role", "feed", "--role", "worker", "--host", "127.0.0.1"});
  }
  bool has_sets() const {
    const std::filesystem::path sets = job.bench.at / "sets";
    return std::filesystem::exists(sets)
           && std::filesystem::directory_iterator{sets} != std::filesystem::directory_iterator{};
  }

  // -- processes: `process` is the name of its files, and `join` the coordinator's address

  std::unique_ptr<other_program> feed(const std::string& process, const std::string& name,
                                      const std::string& join) const {
    words arguments{"feed", name, "--join", join, "--journal", journal_of(name)};
    if (!plan_.is_piped)
      arguments.insert(arguments.begin() + 2, lines_of(name));
    return command(process, arguments + certificate(),
                   plan_.is_piped ? pipes_.at(name)->redirection() : "");
  }
  /// It serves the name from other records.
  std::unique_ptr<other_program> false_feed(const std::string& process, const std::string& name,
                                            const std::string& join) const {
    return command(process, words{"feed", name, job.bench.at / "false", "--join", join, "--journal",
                                  job.bench.at / ("journal." + process)}
                                + certificate());
  }
  std::unique_ptr<other_program> rank(const std::string& process, std::uint64_t number,
                                      const std::string& join, const words& more) const {
    return job.launch(
        process, job.log_of(number),
        words{"--cluster", join, "--beat", "100"}
            + (plan_.is_elastic ? words{"--elastic", elastic_ranks()} : job.seat(number))
            + certificate() + more);
  }
  std::unique_ptr<other_program> worker(const std::string& process, const std::string& join) const {
    return command(process, words{"worker", "--join", join, "--cores", "1"} + certificate());
  }
  std::unique_ptr<other_program> coordinator(const std::string& process) const {
    return command(process, words{"coordinator", "--state", job.bench.at / "state", "--lost-after",
                                  "3", "--lease", "5", "--last-call", "1", "--bind", "127.0.0.1:0"}
                                + certificate());
  }

  /// Checks what the ranks have handed over, and that jobs that resume come to the same end. The
  /// processes have ended; `digests` are those of the ranks that could report one.
  void check(const std::vector<std::string>& digests) {
    const auto order = order_alone();
    if (plan_.is_elastic) {
      job.check_elastic_logs(order, plan_.world_size);
    } else {
      if (digests.size() == plan_.world_size)
        CHECK(sum_of(digests) == digest_alone_);
      job.check_logs(order, true);
    }
    check_records(order);
    for (const auto& entry : std::filesystem::directory_iterator{job.bench.at.path()})
      if (entry.path().filename().native().starts_with("errors.false"))
        CHECK_FALSE(contains(read_file(entry.path().native()), "serves rank"));
    check_sets();
  }

  /// What all processes have said.
  std::string errors() const {
    std::string result;
    for (const auto& entry : std::filesystem::directory_iterator{job.bench.at.path()})
      if (entry.path().filename().native().starts_with("errors."))
        result += entry.path().filename().native() + ":\n" + read_file(entry.path().native());
    return result;
  }

  cluster_job job;

private:
  std::string lines_of(const std::string& feed) const { return job.bench.at / (feed + ".lines"); }
  std::string journal_of(const std::string& feed) const {
    return job.bench.at / ("journal." + feed);
  }
  std::string elastic_ranks() const { return "2:" + std::to_string(plan_.world_size); }
  std::string authority() const { return job.bench.at / "ca"; }
  words certificate() const {
    return plan_.is_secured ? words{"--certs", authority() + "/all"} : words{};
  }
  std::unique_ptr<other_program> command(const std::string& process, const words& arguments,
                                         const std::string& before = "") const {
    return std::make_unique<other_program>(
        words{"/bin/sh", "-c",
              before + " LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'" + job.errors_of(process) + "'",
              "sh", leat_command}
            + arguments,
        job.output_of(process));
  }
  /// What one process hands over, with the contents. It reads the lines itself, if there is one
  /// feed; with several, feeds serve it that nothing happens to.
  batch_table order_alone() {
    const auto log = job.bench.at / "alone.log";
    if (plan_.feeds.size() > 1) {
      digest_alone_ = served_alone("alone", {"--log", log}, false);
    } else {
      job.bench.input = lines_of("stdin");
      digest_alone_ =
          job.bench.ask({"run", "--pipeline", job.bench.write("alone.leat", plan_.text_alone()),
                         "--epochs", "1", "--workers", "1", "--log", log})["digest"];
    }
    std::ofstream order{job.bench.at / "order"}; // as `leat order` prints it
    std::istringstream from{read_file(log)};
    for (std::string line; std::getline(from, line);)
      if (contains(line, "\"step\""))
        order << line << '\n';
    return table_of(batches_of(log));
  }

  /// Each record that the filter keeps is there once, whatever other commands think of feeds.
  void check_records(const batch_table& order) {
    std::map<std::string, std::size_t> times;
    for (const auto& [step, rows] : order)
      for (const auto& row : rows)
        if (const auto feed = row.id.substr(0, row.id.find('/'));
            std::count(plan_.feeds.begin(), plan_.feeds.end(), feed) > 0)
          ++times[row.id];
    std::map<std::string, std::size_t> expected;
    for (const auto& feed : plan_.feeds) {
      job.bench.input = lines_of(feed);
      const words kept{"--pipeline", job.bench.write("kept.leat", "standard_input()" + by_content
                                                                      + batches_of_fed)};
      for (const auto& [step, rows] : job.bench.order(kept, 1, job.bench.at / "kept"))
        for (const auto& row : rows)
          ++expected[feed + row.id.substr(row.id.find('/'))];
    }
    CHECK((times == expected));
  }

  /// Jobs of one process that resume from a stored set come to the same end.
  void check_sets() {
    std::size_t sets = 0;
    for (const auto& entry : std::filesystem::directory_iterator{job.bench.at / "sets"}) {
      const auto name = "copy." + std::to_string(sets++);
      const auto copy = job.bench.at / name;
      std::filesystem::create_directory(copy);
      std::filesystem::copy_file(entry.path(),
                                 std::filesystem::path{copy} / entry.path().filename());
      CHECK(served_alone(name, {"--snapshot-dir", copy, "--snapshot-every", "100000", "--resume"},
                         true)
            == digest_alone_);
    }
    CHECK(sets > 0);
  }

  /// The digest of a job of one process with feeds: with the job's journals and without anything
  /// else, or from the lines.
  std::string served_alone(const std::string& name, const words& options, bool by_journals) {
    other_program alone{
        words{"/bin/sh", "-c",
              "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'" + job.errors_of(name) + "'", "sh",
              leat_command, "run", "--pipeline", job.bench.at / "job.leat", "--epochs", "1",
              "--workers", "1", "--json", "--feeds-at", "127.0.0.1:0"}
            + options,
        job.output_of(name)};
    const std::string before = "feeds join at ";
    std::string place;
    while (alone.is_running() && !contains(place, "\n")) {
      const auto text = read_file(job.errors_of(name));
      const auto at = text.find(before);
      place = at == text.npos ? "" : text.substr(at + before.size());
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    place = place.substr(0, place.find('\n'));
    std::vector<std::unique_ptr<other_program>> feeds;
    for (const auto& feed : plan_.feeds) {
      const auto journal = journal_of(feed) + "." + name;
      if (by_journals)
        std::filesystem::copy(journal_of(feed), journal, std::filesystem::copy_options::recursive);
      words arguments{"feed", feed, "--join", place, "--journal", journal};
      if (!plan_.is_piped)
        arguments.insert(arguments.begin() + 2, lines_of(feed));
      const auto input = by_journals ? "/dev/null" : lines_of(feed);
      feeds.push_back(command("feed." + name + "." + feed, arguments, "exec <'" + input + "';"));
    }
    const auto code = alone.wait();
    const auto errors = read_file(job.errors_of(name));
    CAPTURE(name, errors);
    REQUIRE(code == 0);
    return json_lines(read_file(job.output_of(name))).at(0).at("digest").get<std::string>();
  }

  const fed_plan& plan_;
  std::map<std::string, std::unique_ptr<live_pipe>> pipes_;
  std::string digest_alone_;
};

} // namespace leat::test
