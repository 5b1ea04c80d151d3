#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tar/tar_manifest.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace leat;

namespace {

/// Whatever the head says: indexes lie in the object, one after the other, and what was read is
/// written again as it was.
void visit(const std::vector<manifest_entry>& entries, std::uint64_t head, std::uint64_t all) {
  auto end = head;
  for (const auto& x : entries) {
    check(!x.name.empty());
    check(x.begin >= end && x.begin <= all && x.bytes <= all - x.begin && x.begin % 8 == 0);
    end = x.begin + x.bytes;
    const auto name = name_by_manifest(x.name, "s3://b/d/all.leat-manifest");
    check(name_by_manifest(name_in_manifest(name, "s3://b/d/all.leat-manifest"),
                           "s3://b/d/all.leat-manifest")
          == name);
    touch(x.version.tag);
  }
}

void read(std::span<const std::byte> bytes, std::uint64_t all) {
  const auto head = manifest_head_bytes(bytes, all);
  if (head == 0 || head > bytes.size())
    return;
  if (const auto entries = read_manifest_head(bytes.first(static_cast<std::size_t>(head)), all))
    visit(*entries, head, all);
}

/// The input is a head. What tells it from other files, its size and its checksum are corrected, so
/// that the checks after them are reached.
void read_sealed(std::span<const std::byte> input) {
  if (input.size() < manifest_prefix_bytes)
    return;
  std::vector<std::byte> head(input.begin(), input.end());
  head.resize(head.size() / 8 * 8);
  std::memcpy(head.data(), "leatman1", 8);
  const std::uint64_t size = head.size();
  std::memcpy(head.data() + 16, &size, sizeof size);
  std::uint64_t all = 0;
  std::memcpy(&all, head.data() + 24, sizeof all);
  const auto sum = xxh3_64(std::span{head}.subspan(16));
  std::memcpy(head.data() + 8, &sum, sizeof sum);
  read(head, all);
}

/// The input is the shards of a manifest: each a name, a tag and an index.
void write_and_read(std::span<const std::byte> input) {
  auto taken = [&] {
    const auto size = input.empty() ? 0 : std::to_integer<std::size_t>(input[0]);
    input = input.subspan(std::min<std::size_t>(1, input.size()));
    const auto part = input.first(std::min(size, input.size()));
    input = input.subspan(part.size());
    return part;
  };
  std::vector<manifest_shard> shards;
  while (!input.empty()) {
    const auto name = taken();
    const auto tag = taken();
    const auto index = taken();
    shards.push_back(
        {.name = "n" + std::string{reinterpret_cast<const char*>(name.data()), name.size()},
         .version = {.size = tag.size(),
                     .mtime_ns = object_version::no_time,
                     .tag = {reinterpret_cast<const char*>(tag.data()), tag.size()}},
         .records = name.size(),
         .index = {index.begin(), index.end()}});
  }
  const auto bytes = write_manifest(shards, "x");
  const auto head = manifest_head_bytes(bytes, bytes.size());
  const auto entries = read_manifest_head(std::span{bytes}.first(head), bytes.size());
  check(entries && entries->size() == shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& x = (*entries)[i];
    check(x.name == shards[i].name && x.version == shards[i].version
          && x.records == shards[i].records);
    check(std::ranges::equal(std::span{bytes}.subspan(x.begin, x.bytes), shards[i].index));
    check(x.digest == xxh3_128(shards[i].index));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read(input, size);
  read_sealed(input);
  write_and_read(input);
  return 0;
}
