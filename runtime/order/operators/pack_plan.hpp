#pragma once

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace leat {

/// Elements of a pack, and of a document, are numbered by int32.
inline constexpr std::uint64_t longest_pack = std::numeric_limits<std::int32_t>::max();

/// A pack at work (docs/iterators.md). `cut` is `never` with `split`.
struct pack_plan : pack_options {
  std::string field = {};
  std::uint64_t length = 1;
  /// Number of the sample that documents are made in (sample_maker::side_sample).
  std::size_t side = 0;

  /// Whether parts of documents can be in a pack.
  bool cuts() const noexcept { return split || cut == pack_cut::above; }
  /// Elements that follow every document.
  std::uint64_t delimiters() const noexcept { return delimiter ? 1 : 0; }
};

} // namespace leat
