#pragma once

#include "runtime/sources/records_in_files.hpp"

#include <leat/sources.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// A window of tokens in a file.
struct token_window {
  std::size_t file = 0;
  /// Number of its first token in the file.
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// The windows that `tokens` gives, as a function of their number: docs/operators/tokens.md.
/// Immutable.
class token_windows {
public:
  /// `tokens`: how many each file has. `length` is at least 1.
  /// Throws `errc::invalid_argument` if windows are drawn, and no file is as long as one.
  token_windows(std::vector<std::string> names, const std::vector<std::uint64_t>& tokens,
                std::uint64_t length, const token_options& options);

  std::uint64_t size() const noexcept { return drawn_ > 0 ? drawn_ : windows_.size(); }
  /// A window that exists.
  token_window at(std::uint64_t number) const;
  void append_id(std::uint64_t number, std::string& to) const;
  std::vector<std::uint64_t> per_file() const;
  /// Those of the files.
  const std::vector<std::string>& names() const noexcept { return windows_.names(); }

private:
  std::vector<std::uint64_t> tokens_;
  std::uint64_t length_;
  std::uint64_t stride_;
  /// How many windows are drawn; 0: they stand in the files' order.
  std::uint64_t drawn_;
  std::uint64_t stream_;
  /// All windows of each file, or the places where one can begin.
  records_in_files windows_;
};

} // namespace leat
