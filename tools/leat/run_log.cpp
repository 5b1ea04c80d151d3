#include "tools/leat/run_log.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/whole_file.hpp"

#include <unistd.h>

#include <set>
#include <utility>
#include <variant>

namespace leat::command {

namespace {

/// Far longer than the line of any batch: about ten million rows.
constexpr std::size_t max_line_bytes = std::size_t{1} << 30;
constexpr std::size_t block_bytes = std::size_t{1} << 16;

} // namespace

log_reader::log_reader(std::filesystem::path file)
    : file_(std::move(file)), from_(open_input(file_.string())) {}

std::optional<log_line> log_reader::next() {
  if (!read_line())
    return std::nullopt;
  ++number_;
  try {
    return parse_log_line(text_);
  } catch (const std::exception& problem) {
    fail(problem.what());
  }
}

/// Reads the next line into `text_`. False if there is none, or only one without a line end.
bool log_reader::read_line() {
  text_.clear();
  while (at_ < block_.size() || refill()) {
    const char c = block_[at_++];
    if (c == '\n')
      return true;
    // Stops early in a file that is not a log at all, and may be endless.
    if ((text_.empty() && c != '{') || text_.size() >= max_line_bytes) {
      ++number_;
      fail(text_.empty() ? "it does not begin with {"
                         : "longer than " + std::to_string(max_line_bytes) + " bytes");
    }
    text_ += c;
  }
  return false;
}

/// Reads the next block; false at the end.
bool log_reader::refill() {
  block_.resize(block_bytes);
  at_ = 0;
  const auto n = uninterrupted([&] { return ::read(from_.get(), block_.data(), block_.size()); });
  if (n < 0)
    throw_errno("log", file_.string(), "a readable file");
  block_.resize(static_cast<std::size_t>(n));
  return n > 0;
}

void log_reader::fail(const std::string& why) const {
  throw_file_error(errc::torn_file, "log", file_.string(),
                   "line " + std::to_string(number_) + ": " + why,
                   "a JSON object of `leat run` or `leat order`");
}

std::uint64_t steps_in_log(const std::string& file, const resume_point& at,
                           std::uint64_t cluster_term) {
  if (file.empty() || !std::filesystem::exists(file))
    return 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> steps;
  std::optional<std::uint64_t> term;
  log_reader log{file};
  while (const auto line = log.next())
    if (const auto* batch = std::get_if<batch_line>(&*line)) {
      if (std::pair{batch->epoch, batch->step} >= std::pair{at.epoch, at.step})
        steps.emplace(batch->epoch, batch->step);
    } else {
      const auto& start = std::get<attempt_start>(*line);
      const bool goes_back = start.continues || !start.term || start.term != term;
      const auto from = start.resumed_at.value_or(job_position{});
      if (goes_back) // all ranks did, or this one resumed where its trainer was
        steps.erase(steps.lower_bound({from.epoch, from.step}), steps.end());
      term = start.term;
    }
  // If the log does not end in this term, its process was killed before it wrote a header, and
  // handed over nothing in the term.
  return term == cluster_term ? steps.size() : 0;
}

} // namespace leat::command
