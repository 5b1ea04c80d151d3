#pragma once

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace leat {

/// Elements of a pack, and of a document, are numbered by int32.
inline constexpr std::uint64_t longest_pack = std::numeric_limits<std::int32_t>::max();

/// The options of a pack (docs/iterators.md).
struct pack_plan {
  std::string field;
  std::uint64_t length = 1;
  std::uint64_t bins = 1;
  bool split = false;
  std::vector<std::uint64_t> delimiter = {};
  std::uint64_t pad = 0;
  pack_fit fit = pack_fit::first;
  /// `never` with `split`.
  pack_cut cut = pack_cut::never;
  bool labels = false;
  std::int64_t ignore_index = -100;
  bool cu_seqlens = false;
  bool segment = true;
  bool offset = true;
  /// Number of the sample that documents are made in (sample_maker::side_sample).
  std::size_t side = 0;

  /// Whether parts of documents can be in a pack.
  bool cuts() const noexcept { return split || cut == pack_cut::above; }
};

} // namespace leat
