#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tar/tar_index.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace leat;

namespace {

/// Touches everything that an index gives access to, and checks that it lies inside.
void visit(const tar_index& index) {
  std::size_t sum = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    for (char c : index.key(i))
      sum += static_cast<unsigned char>(c);
    for (const auto& field : index.fields(i)) {
      for (char c : index.name(field))
        sum += static_cast<unsigned char>(c);
      std::vector<std::byte> places(index.place_bytes(field));
      if (!places.empty() && !index.read_places(field, places))
        std::abort();
      for (auto x : places)
        sum += std::to_integer<unsigned>(x);
      if (field.offset() + field.size > index.shard().size || field.offset() < 512)
        std::abort();
    }
  }
  for (char c : index.tear())
    sum += static_cast<unsigned char>(c);
  for (const auto& x : index.others().entries())
    sum += x.first.size() + name_of(x.why, x.count).size();
  volatile auto used = sum;
  (void)used;
}

std::optional<tar_index> adopt(std::vector<std::byte> bytes, object_version stamp) {
  auto held = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return tar_index::adopt({{held, held->data()}, held->size()}, stamp);
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

/// The input is an index file. Magic, checksum and stamp are corrected, so that the checks after
/// them are reached.
void read_index(std::span<const std::byte> input) {
  std::vector<std::byte> bytes(input.begin(), input.end());
  constexpr std::size_t header = 96;
  if (bytes.size() < header)
    return;
  std::memcpy(bytes.data(), "leattar4", 8);
  // Places of MCU rows, at the end, are not part of the sum.
  std::uint64_t places = 0;
  std::memcpy(&places, bytes.data() + header - sizeof places, sizeof places);
  const auto unchecked = std::min<std::uint64_t>(places, bytes.size() - header);
  const auto sum = xxh3_64(std::span{bytes}.subspan(16, bytes.size() - 16 - unchecked));
  std::memcpy(bytes.data() + 8, &sum, sizeof sum);
  object_version stamp;
  std::memcpy(&stamp.size, bytes.data() + 16, sizeof stamp.size);
  std::memcpy(&stamp.mtime_ns, bytes.data() + 24, sizeof stamp.mtime_ns);
  if (auto index = adopt(std::move(bytes), stamp))
    visit(*index);
}

/// The archive with its checksums corrected: random bytes seldom have correct ones.
void seal_headers(std::span<std::byte> archive) {
  for (std::size_t at = 0; at + 512 <= archive.size(); at += 512) {
    auto header = archive.subspan(at, 512);
    std::fill_n(header.begin() + 148, 8, std::byte{' '});
    unsigned sum = 0;
    for (auto x : header)
      sum += std::to_integer<unsigned>(x);
    for (auto i = 153; i >= 148; --i, sum /= 8)
      header[i] = static_cast<std::byte>('0' + sum % 8);
    header[154] = std::byte{0};
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  read_index(input);
  walk_archive(input);
  std::vector<std::byte> sealed(input.begin(), input.end());
  seal_headers(sealed);
  walk_archive(sealed);
  return 0;
}
