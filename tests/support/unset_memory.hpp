#pragma once

#include "runtime/base/not_copied.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace leat::test {

/// Memory that nobody has set: each byte is 0xA5. Large memory takes pages of the process only
/// where it is written, as hundreds of megabytes would cost seconds under a sanitizer, and a page
/// that nobody may touch comes after it.
class unset_memory : not_copied {
public:
  static constexpr std::size_t alignment = 512;

  unset_memory() = default;
  explicit unset_memory(std::size_t bytes) : bytes_(bytes) {
    if (is_small()) {
      data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
      std::fill_n(data_, bytes, unset);
      return;
    }
    static const int file = unset_file();
    data_ = map(nullptr, mapped() + page, PROT_NONE, MAP_ANONYMOUS, -1);
    for (std::size_t at = 0; at < mapped(); at += file_size)
      map(data_ + at, std::min(file_size, mapped() - at), PROT_READ | PROT_WRITE, MAP_FIXED, file);
  }
  unset_memory(unset_memory&& other) noexcept { *this = std::move(other); }
  unset_memory& operator=(unset_memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~unset_memory() {
    if (data_ && is_small())
      ::operator delete (data_, std::align_val_t{alignment});
    else if (data_)
      ::munmap(data_, mapped() + page);
  }

  std::byte* data() const noexcept { return data_; }

private:
  static constexpr std::byte unset{0xA5};
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t file_size = std::size_t{4} << 20;

  static int unset_file() {
    const int file = ::memfd_create("unset", MFD_CLOEXEC);
    const std::vector<std::byte> all(file_size, unset);
    if (file < 0 || ::write(file, all.data(), file_size) != static_cast<::ssize_t>(file_size))
      throw std::system_error(errno, std::generic_category(), "unset memory");
    return file;
  }

  static std::byte* map(std::byte* at, std::size_t bytes, int access, int flags, int file) {
    auto* const found = ::mmap(at, bytes, access, MAP_PRIVATE | MAP_NORESERVE | flags, file, 0);
    if (found == MAP_FAILED)
      throw std::bad_alloc{};
    return static_cast<std::byte*>(found);
  }

  bool is_small() const noexcept { return bytes_ < file_size; }
  std::size_t mapped() const noexcept { return (bytes_ + page - 1) / page * page; }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace leat::test
