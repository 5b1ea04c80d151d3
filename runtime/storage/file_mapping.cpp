#include "runtime/storage/file_mapping.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

namespace leat {

file_mapping::file_mapping(const std::string& path) noexcept {
  try {
    map(path);
  } catch (const std::exception&) { // reading it in another way says why
  }
}

file_mapping::~file_mapping() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void file_mapping::map(const std::string& path) {
  object_version found;
  file_ = file_descriptor::open(path, &found);
  const auto size = static_cast<std::size_t>(found.size);
  if (size == 0)
    return;
  auto* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
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
  if (::mincore(at, static_cast<std::size_t>(count * page), pages.data()) != 0
      || std::any_of(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(count),
                     [](auto x) { return (x & 1) == 0; }))
    return false;
  std::byte x{};
  const iovec into{&x, 1};
  const auto n = ::preadv2(file_.get(), &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return n >= 0 || errno != EAGAIN;
}

void file_mapping::forget_pages() const noexcept {
  if (!bytes_.empty())
    ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

} // namespace leat
