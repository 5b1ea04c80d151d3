#include "runtime/storage/cache/mapped_block.hpp"

#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/guarded_copy.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace leat {

namespace {

std::size_t begin_of_last_page(std::size_t file_bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (file_bytes - 1) / page * page;
}

} // namespace

file_state file_state::of(const struct ::stat& x) noexcept {
  return {.file = x.st_ino,
          .bytes = x.st_size,
          .changed = std::int64_t{x.st_ctim.tv_sec} * 1'000'000'000 + x.st_ctim.tv_nsec};
}

std::unique_ptr<mapped_block> mapped_block::of(const file_descriptor& file, const file_state& state,
                                               const block_checks& checks, std::size_t size) {
  const auto file_bytes = block_header_bytes + size;
  const auto begin = begin_of_last_page(file_bytes);
  std::vector<std::byte> end(file_bytes - begin);
  const auto n = uninterrupted(
      [&] { return ::pread(file.get(), end.data(), end.size(), static_cast<off_t>(begin)); });
  if (n != static_cast<ssize_t>(end.size()))
    return {};
  auto* const at = ::mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED)
    return {};
  const std::span mapped{static_cast<const std::byte*>(at), file_bytes};
  try {
    return std::unique_ptr<mapped_block>{new mapped_block{mapped, state, checks, std::move(end)}};
  } catch (...) {
    ::munmap(at, file_bytes);
    throw;
  }
}

mapped_block::~mapped_block() {
  ::munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

bool mapped_block::read(std::size_t begin, std::span<std::byte> into) noexcept {
  const auto end = begin + into.size();
  auto at = begin; // up to here it is copied
  for (auto chunk = begin / block_chunk_bytes; chunk * block_chunk_bytes < end; ++chunk) {
    if ((checked_.load(std::memory_order_relaxed) >> chunk & 1) != 0)
      continue;
    const auto from = std::max(at, chunk * block_chunk_bytes);
    if (!copy(at, into.subspan(at - begin, from - at)))
      return false;
    at = std::min(end, (chunk + 1) * block_chunk_bytes);
    if (!copy_checked(chunk, from, into.subspan(from - begin, at - from)))
      return false;
  }
  return copy(at, into.subspan(at - begin));
}

/// Copies what begins at `begin`, all in one chunk, and checks that chunk. One that is wanted as a
/// whole is copied once.
bool mapped_block::copy_checked(std::size_t chunk, std::size_t begin,
                                std::span<std::byte> into) noexcept {
  const auto of_chunk = chunk * block_chunk_bytes;
  const auto size = std::min(block_chunk_bytes, file_.size() - block_header_bytes - of_chunk);
  std::array<std::byte, block_chunk_bytes> room;
  const auto all = into.size() == size ? into : std::span{room}.first(size);
  if (!copy(of_chunk, all) || !checks_.fit(chunk, all))
    return false;
  if (into.size() != size)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin - of_chunk), into.size(),
                into.begin());
  checked_.fetch_or(std::uint64_t{1} << chunk, std::memory_order_relaxed);
  return true;
}

/// Copies without a check; false if the file was cut, or its disk fails.
bool mapped_block::copy(std::size_t begin, std::span<std::byte> into) const noexcept {
  const auto at = block_header_bytes + begin;
  const auto last = begin_of_last_page(file_.size());
  const auto before = into.first(std::min(into.size(), last - std::min(last, at)));
  const auto rest = into.subspan(before.size());
  if (!before.empty() && !guarded_copy(file_, at, before))
    return false;
  if (!rest.empty())
    std::copy_n(end_.begin() + static_cast<std::ptrdiff_t>(at + before.size() - last), rest.size(),
                rest.begin());
  return true;
}

} // namespace leat
