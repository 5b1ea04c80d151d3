#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/json_members.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/places.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <cstdio>

// Runs the leat command and reads its output as a user's script would. Nothing here calls leat's
// own code, so that the two cannot be wrong in the same way.

namespace leat::test {

using nlohmann::json;
using words = std::vector<std::string>;

inline words operator+(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The words of a command line, without quotes.
inline words words_of(const std::string& line) {
  std::istringstream in{line};
  return {std::istream_iterator<std::string>{in}, {}};
}

inline const words policy_names{"on_demand", "round_robin", "by_lane"};

inline constexpr std::array fault_names{"lost", "repeated", "moved", "changed", "extra"};

struct outcome {
  int code;
  std::string output;
  std::string errors;
};

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

/// Every line of `text` as the JSON object that it must be.
inline std::vector<json> json_lines(const std::string& text) {
  std::vector<json> result;
  REQUIRE((text.empty() || text.back() == '\n'));
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) {
    CAPTURE(line);
    result.push_back(json::parse(line, nullptr, false));
    REQUIRE(result.back().is_object());
  }
  return result;
}

/// A 128-bit sum of XXH3-128 hashes, straight from libxxhash.
class hash_sum {
public:
  hash_sum& add(const std::string& bytes) {
    const auto hash = XXH3_128bits(bytes.data(), bytes.size());
    return add(hash.high64, hash.low64);
  }
  hash_sum& add(std::uint64_t high, std::uint64_t low) {
    low_ += low;
    high_ += high + (low_ < low ? 1 : 0);
    return *this;
  }
  std::string text() const {
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                  static_cast<unsigned long long>(high_), static_cast<unsigned long long>(low_));
    return digits.data();
  }

private:
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

inline std::string little_endian(std::uint64_t x) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(x >> (8 * i) & 0xff);
  return bytes;
}

struct logged_row {
  std::uint64_t position;
  std::string id;
  std::string pixels;

  bool operator==(const logged_row&) const = default;
};

inline std::ostream& operator<<(std::ostream& to, const logged_row& x) {
  return to << x.position << ' ' << x.id << ' ' << x.pixels;
}

/// A line of `leat run` or `leat order`, checked on its own: its digest is that of its rows.
struct logged_batch {
  std::uint64_t epoch;
  std::uint64_t step;
  std::uint64_t rank;
  std::uint64_t world_size;
  std::vector<logged_row> rows;
  json bad;

  explicit logged_batch(const json& x)
      : epoch(x.at("epoch")), step(x.at("step")), rank(x.value("rank", std::uint64_t{0})),
        world_size(x.at("world_size")), bad(x.value("bad", json::array())) {
    REQUIRE(x.at("positions").size() == x.at("ids").size());
    REQUIRE((!x.contains("pixels") || x["pixels"].size() == x["ids"].size()));
    hash_sum digest;
    for (std::size_t i = 0; i < x["ids"].size(); ++i) {
      rows.push_back({x["positions"][i], x["ids"][i], x.contains("pixels") ? x["pixels"][i] : ""});
      digest.add(little_endian(epoch) + little_endian(rows[i].position) + rows[i].id);
    }
    REQUIRE(x.at("digest") == digest.text());
  }
};

using step_key = std::pair<std::uint64_t, std::uint64_t>;
/// The rows of whole global batches, by rising position.
using batch_table = std::map<step_key, std::vector<logged_row>>;

struct logged_attempt {
  json header;
  std::vector<logged_batch> batches = {};
};

inline std::vector<logged_attempt> attempts_of(const std::string& file) {
  std::vector<logged_attempt> result;
  for (const auto& x : json_lines(read_file(file)))
    if (!x.contains("step"))
      result.push_back({x});
    else {
      REQUIRE(!result.empty());
      result.back().batches.emplace_back(x);
    }
  return result;
}

inline std::vector<logged_batch> batches_of(const std::string& file) {
  std::vector<logged_batch> result;
  for (const auto& attempt : attempts_of(file))
    result.insert(result.end(), attempt.batches.begin(), attempt.batches.end());
  return result;
}

/// Merges the ranks. A position that occurs twice must be the same both times.
inline batch_table table_of(const std::vector<logged_batch>& batches) {
  std::map<step_key, std::map<std::uint64_t, logged_row>> rows;
  for (const auto& batch : batches) {
    auto& step = rows[{batch.epoch, batch.step}];
    for (const auto& row : batch.rows) {
      REQUIRE(row.position % batch.world_size == batch.rank);
      REQUIRE(step.try_emplace(row.position, row).first->second == row);
    }
  }
  batch_table result;
  for (const auto& [key, step] : rows)
    for (const auto& [position, row] : step)
      result[key].push_back(row);
  return result;
}

/// Commands and files of one test.
class command_bench {
public:
  /// `before`: shell text, such as limits of the process.
  outcome leat(const words& arguments, const std::string& before = "") const {
    const auto errors = at / "stderr";
    auto finished = run_process(
        words{"/bin/sh", "-c", before + " exec \"$@\" 2>'" + errors + "'", "sh", leat_command}
            + arguments,
        at / "stdout");
    return {finished.code, finished.output, read_file(errors)};
  }

  /// Runs a command that must succeed. Returns its output.
  std::string succeed(const words& arguments) const {
    auto x = leat(arguments, input.empty() ? "" : "exec <'" + input + "';");
    CAPTURE(arguments, x.errors);
    REQUIRE(x.code == 0);
    return x.output;
  }

  /// Runs a command that must end with this code, and whose errors must have all these parts.
  outcome says(const words& arguments, int code, const words& parts = {},
               const std::string& before = "") const {
    auto x = leat(arguments, before);
    CAPTURE(arguments, x.output, x.errors);
    REQUIRE(x.code == code);
    REQUIRE((code != 2 || x.output.empty()));
    for (const auto& part : parts) {
      CAPTURE(part);
      REQUIRE(contains(x.errors, part));
    }
    return x;
  }

  /// Runs a command with --json; returns the only line of its output.
  json ask(const words& arguments) const {
    auto lines = json_lines(succeed(arguments + words{"--json"}));
    REQUIRE(lines.size() == 1);
    return lines.front();
  }

  /// Writes the order of `epochs` epochs to `file`.
  batch_table order(const words& arguments, std::uint64_t epochs, const std::string& file) const {
    std::string text;
    for (std::uint64_t e = 0; e < epochs; ++e)
      text += succeed(words{"order"} + arguments + words{"--epoch", std::to_string(e)});
    std::ofstream{file} << text;
    std::vector<logged_batch> lines;
    for (const auto& x : json_lines(text))
      if (x.contains("step"))
        lines.emplace_back(x);
    return table_of(lines);
  }

  /// Checks logs and returns the report. The exit code must be 1 exactly if there are faults.
  json verify(const words& order_and_logs) const {
    auto x = leat(words{"verify"} + order_and_logs + words{"--json"});
    CAPTURE(x.errors);
    auto lines = json_lines(x.output);
    REQUIRE(lines.size() == 1);
    std::uint64_t faults = 0;
    for (const auto* kind : fault_names)
      faults += lines[0].at(kind).get<std::uint64_t>();
    REQUIRE(x.code == (faults == 0 ? 0 : 1));
    return lines[0];
  }

  /// The same for logs without a fault.
  json verify_good(const words& order_and_logs) const {
    auto report = verify(order_and_logs);
    CAPTURE(report);
    for (const auto* kind : fault_names)
      REQUIRE(report.at(kind) == 0);
    return report;
  }

  /// The step from which a resume would continue, as `inspect` says; the beginning if there is no
  /// set.
  step_key next_step(const std::string& directory) const {
    const auto x = leat({"inspect", directory, "--json"});
    if (x.code == 1)
      return {0, 0};
    REQUIRE(x.code == 0);
    const auto state = json_lines(x.output).at(0);
    return {state["epoch"], state["step"]};
  }

  /// A text in which DIR stands for the directory of this bench.
  std::string filled_in(std::string text) const {
    for (auto dir = text.find("DIR"); dir != std::string::npos; dir = text.find("DIR"))
      text.replace(dir, 3, at.path());
    return text;
  }

  /// Writes such a text to a file. Returns the file's path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{at / name, std::ios::binary} << filled_in(text);
    return at / name;
  }

  /// Options for a job with this pipeline.
  words pipeline(const std::string& text) const { return {"--pipeline", write("job.leat", text)}; }

  void make_photos(const std::string& directory, std::uint64_t samples,
                   std::uint64_t shards) const {
    succeed({"make-data", directory, "--samples", std::to_string(samples), "--shards",
             std::to_string(shards)});
  }

  temporary_directory at;
  /// A file for the standard input of `succeed` and `ask`; empty: that of the test.
  std::string input = {};
};

/// Checks that the attempt has the order's steps one after the other, from `first` to the end of
/// the table or of the attempt, each as the parts of ranks 0, 1, ... that own its positions.
/// Returns the step after the last one, or the table's end.
inline batch_table::const_iterator check_sequence(const std::vector<logged_batch>& attempt,
                                                  const batch_table& order, step_key first,
                                                  std::uint64_t world_size) {
  auto due = order.find(first);
  std::uint64_t rank = 0;
  for (const auto& batch : attempt) {
    CAPTURE(batch.epoch, batch.step, batch.rank, world_size);
    REQUIRE(due != order.end());
    REQUIRE(step_key{batch.epoch, batch.step} == due->first);
    REQUIRE(batch.rank == rank);
    REQUIRE(batch.world_size == world_size);
    std::vector<std::pair<std::uint64_t, std::string>> expected;
    std::vector<std::pair<std::uint64_t, std::string>> got;
    for (const auto& row : due->second)
      if (row.position % world_size == rank)
        expected.emplace_back(row.position, row.id);
    for (const auto& row : batch.rows)
      got.emplace_back(row.position, row.id);
    REQUIRE(got == expected);
    if (++rank == world_size) {
      rank = 0;
      ++due;
    }
  }
  REQUIRE(rank == 0);
  return due;
}

/// The hash that a row of `count:N:BYTES` must have: its content is its number, repeated.
inline std::string count_pixels(const logged_row& row, std::size_t bytes) {
  const auto number = little_endian(std::stoull(row.id.substr(std::strlen("count/"))));
  auto content = little_endian(row.position);
  for (std::size_t i = 0; i < bytes; ++i)
    content += number[i % 8];
  return hash_sum{}.add(content).text();
}

} // namespace leat::test
