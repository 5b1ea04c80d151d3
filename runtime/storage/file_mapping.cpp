#include "runtime/storage/file_mapping.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

namespace leat {

file_mapping::file_mapping(open_files& files, std::size_t file) noexcept
    : files_(files), file_(file) {
  try {
    map();
  } catch (const std::exception&) { // reading the file in another way reports the reason
  }
}

file_mapping::~file_mapping() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void file_mapping::map() {
  const open_files::lease right{files_, file_};
  const auto size =
      static_cast<std::size_t>(version_of(right.descriptor(), files_.name(file_)).size);
  if (size == 0)
    return;
  auto* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, right.descriptor().get(), 0);
  if (at != MAP_FAILED)
    bytes_ = {static_cast<const std::byte*>(at), size};
}

bool file_mapping::is_cached(std::uint64_t offset, std::uint64_t size) const noexcept {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (offset >= bytes_.size())
    return false;
  const auto begin = offset / page * page;
  std::array<unsigned char, 64> pages{};
  const auto count = std::min<std::uint64_t>(
      {pages.size(), (offset % page + size) / page + 2, (bytes_.size() - begin + page - 1) / page});
  auto* at = const_cast<std::byte*>(bytes_.data()) + begin;
  return ::mincore(at, static_cast<std::size_t>(count * page), pages.data()) == 0
         && std::all_of(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(count),
                        [](auto x) { return (x & 1) != 0; })
         && is_read_at_once(offset);
}

bool file_mapping::is_read_at_once(std::uint64_t offset) const noexcept try {
  const open_files::lease right{files_, file_};
  // One byte in the page suffices: RWF_NOWAIT fails with EAGAIN instead of waiting for the disk.
  std::byte x{};
  const iovec into{&x, 1};
  const auto n =
      ::preadv2(right.descriptor().get(), &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return n >= 0 || errno != EAGAIN;
} catch (const std::exception&) { // reading the file reports the reason
  return false;
}

void file_mapping::forget_pages() const noexcept {
  if (!bytes_.empty())
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

} // namespace leat
