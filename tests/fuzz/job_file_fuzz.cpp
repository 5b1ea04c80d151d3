// Any bytes are the file of a whole job whose parts can all be read, or are refused as a bad
// snapshot. Every input is tried as a file; as edits of a whole file; and, since no fuzzer finds a
// checksum, as edits of the head and the index that are then sealed again. The whole files that are
// edited are the seeds.
#include "runtime/snapshot/job_file.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/job_parts.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace leat;
using namespace leat::test;

/// Reads numbers off the front of the input; zeros after its end.
class numbers {
public:
  explicit numbers(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }

  template <class T>
  T next() {
    T x{};
    const auto n = std::min(bytes_.size(), sizeof x);
    std::memcpy(&x, bytes_.data(), n);
    bytes_.remove_prefix(n);
    return x;
  }

private:
  std::string_view bytes_;
};

/// A file in memory.
class memory_file {
public:
  memory_file() : fd_(::memfd_create("job", 0)) { check(fd_ >= 0); }

  std::string holding(const std::string& bytes) const {
    check(::ftruncate(fd_, 0) == 0
          && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return "/proc/self/fd/" + std::to_string(fd_);
  }

private:
  int fd_;
};

void try_read(const std::string& bytes) {
  static const memory_file file;
  allow(errc::bad_snapshot, [&] {
    const job_file_reader read{file.holding(bytes)};
    std::vector<std::string> parts;
    for (std::uint64_t rank = 0; rank < read.world_size(); ++rank)
      parts.push_back(read.part_bytes(rank));
    // What could be read is written again, and says the same.
    const job_file_reader again{file.holding(job_file_bytes(read.name(), parts))};
    for (std::uint64_t rank = 0; rank < again.world_size(); ++rank)
      check(again.part_bytes(rank) == parts[rank]);
    again.check_parts();
  });
}

/// A whole file of a few ranks.
struct seed {
  set_name name;
  std::vector<std::string> parts;
};

const std::vector<seed>& seeds() {
  static const auto all = [] {
    std::vector<seed> made;
    for (const std::uint64_t ranks : {1, 2, 3, 8})
      made.push_back({{ranks, 5, ranks}, encoded_parts(ranks, 5, ranks)});
    return made;
  }();
  return all;
}

/// The seed with some of its bytes changed, or cut.
void try_edited(numbers in) {
  const auto& from = seeds()[in.next<std::uint8_t>() % seeds().size()];
  auto bytes = job_file_bytes(from.name, from.parts);
  while (!in.empty()) {
    const auto at = in.next<std::uint16_t>() % (bytes.size() + 1);
    const auto what = in.next<std::uint8_t>();
    if (at == bytes.size() || bytes.size() < 2)
      bytes += static_cast<char>(what);
    else if (what == 0)
      bytes.resize(at);
    else
      bytes[at] = static_cast<char>(bytes[at] ^ what);
  }
  try_read(bytes);
}

/// The seed with other numbers in its head and index, and a checksum that fits.
void try_sealed(numbers in) {
  const auto& from = seeds()[in.next<std::uint8_t>() % seeds().size()];
  auto name = from.name;
  std::vector<part_place> places;
  std::uint64_t end = job_file_head(name).size();
  std::string body;
  for (const auto& part : from.parts) {
    places.push_back({end, part.size()});
    end += part.size();
    body += part;
  }
  while (!in.empty()) {
    const auto what = in.next<std::uint8_t>();
    const auto x = what < 128 ? in.next<std::uint16_t>() : in.next<std::uint64_t>();
    auto& place = places[in.next<std::uint8_t>() % places.size()];
    std::uint64_t* const targets[] = {&name.epoch,   &name.step,      &name.world_size,
                                      &place.offset, &place.length,   &place.offset,
                                      &place.length, &name.world_size};
    *targets[what % 8] = what % 128 < 64 ? x : *targets[what % 8] + x;
    if (what % 16 == 15 && places.size() < 100)
      places.push_back(place);
    if (what % 16 == 14 && places.size() > 1)
      std::swap(places[x % places.size()], place);
  }
  try_read(job_file_head(name) + body + job_file_tail(name, places));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes{reinterpret_cast<const char*>(data), size};
  try_read(bytes);
  try_edited(numbers{bytes});
  try_sealed(numbers{bytes});
  return 0;
}
