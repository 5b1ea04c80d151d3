#include "runtime/sources/tar/tar_index.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/seal_index.hpp"

#include <algorithm>
#include <cstring>

using namespace leat;

namespace {

/// Touches everything that an index gives access to, and checks that it lies inside.
void visit(const tar_index& index) {
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    touch(index.key(i));
    for (const auto& field : index.fields(i)) {
      touch(index.name(field));
      for (const auto kind : {place_kind::rows, place_kind::work}) {
        std::vector<std::byte> places(index.places().place_bytes(kind, index.number_of(field)));
        check(places.empty() || index.places().read_places(kind, index.number_of(field), places));
        touch(places);
      }
      check(field.offset() + field.size <= index.shard().size && field.offset() >= 512);
    }
  }
  touch(index.tear());
  for (const auto& x : index.others().entries()) {
    touch(x.first);
    touch(name_of(x.why, x.count));
  }
}

std::optional<tar_index> adopt(std::vector<std::byte> bytes, object_version stamp) {
  return tar_index::adopt(test::held(std::move(bytes)), stamp);
}

/// The input is an archive: its walk ends, and gives a valid index.
void walk_archive(std::span<const std::byte> archive) {
  auto read = [archive](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
    if (offset >= archive.size())
      return 0;
    auto part =
        archive.subspan(offset, std::min<std::size_t>(into.size(), archive.size() - offset));
    std::copy(part.begin(), part.end(), into.begin());
    return part.size();
  };
  const object_version stamp{archive.size(), 1};
  try {
    auto bytes = build_tar_index(tar_reader{"fuzz", archive.size(), read}, stamp, true);
    visit(adopt(std::move(bytes), stamp).value());
  } catch (const error&) {
    // Sparse members and the like.
  }
}

/// The index of an empty archive of this version.
std::vector<std::byte> empty_index(object_version shard) {
  auto read = [](std::uint64_t offset, std::span<std::byte> into) {
    const auto part = into.first(
        std::min<std::size_t>(into.size(), 1024 - std::min<std::uint64_t>(offset, 1024)));
    std::fill(part.begin(), part.end(), std::byte{0});
    return part.size();
  };
  return build_tar_index(tar_reader{"fuzz", 1024, read}, shard, false);
}

/// The input is an index file. What tells it from others, and its checksums, are corrected, so that
/// the checks after them are reached.
void read_index(std::span<const std::byte> input) {
  if (input.empty())
    return;
  const object_version shard{std::to_integer<std::uint64_t>(input.back()) << 10, 1};
  std::vector<std::byte> bytes(input.begin(), input.end() - 1);
  test::seal_index(bytes, empty_index(shard));
  if (auto index = adopt(std::move(bytes), shard))
    visit(*index);
}

/// The input is the sections of an index, each after its length in two bytes.
void read_sections(std::span<const std::byte> input) {
  const object_version shard{1 << 16, 1};
  auto taken = [&] {
    if (input.size() < 2)
      return std::span<const std::byte>{};
    const auto length =
        std::to_integer<std::size_t>(input[0]) << 8 | std::to_integer<std::size_t>(input[1]);
    const auto part = input.subspan(2).first(std::min(length, input.size() - 2));
    input = input.subspan(2 + part.size());
    return part;
  };
  hash128 subject;
  const auto right = empty_index(shard);
  std::memcpy(&subject, right.data() + 16, sizeof subject);
  index_writer to{subject};
  for (const auto* name : {"fields", "headers", "records", "names", "text", "others", "tear"})
    to.hold(name, taken());
  if (!input.empty()) {
    to.hold("row-ends", taken());
    to.hold("work-end", taken());
    const auto rows = taken();
    to.leave("rows", std::vector<std::vector<std::byte>>{{rows.begin(), rows.end()}});
    to.leave("work", std::vector<std::vector<std::byte>>{{input.begin(), input.end()}});
  }
  if (auto index = adopt(std::move(to).finish(), shard))
    visit(*index);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read_index(input);
  read_sections(input);
  walk_archive(input);
  const auto sealed = with_checksums({reinterpret_cast<const char*>(data), size});
  walk_archive(std::as_bytes(std::span{sealed}));
  return 0;
}
