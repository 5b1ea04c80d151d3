#pragma once

#include <leat/bad_sample.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// The side log of bad samples: one JSON line each, {"epoch", "step", "rank", "position", "id",
/// "cause", "text", "substitute" (id or null)}, appended when its batch is handed over.
class bad_sample_log {
public:
  /// Empty path: nothing is written.
  explicit bad_sample_log(std::string path) : path_(std::move(path)) {}

  /// Removes what a later run of the same job will write again: lines at or behind (epoch, step),
  /// and a torn last line. Throws `errc::io`.
  void cut(std::uint64_t epoch, std::uint64_t step);

  /// Throws `errc::io`.
  void append(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank,
              const std::vector<bad_row>& rows);

private:
  std::string path_;
};

/// Text between JSON's quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_escaped(std::string_view text);

} // namespace leat
