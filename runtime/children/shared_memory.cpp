#include "runtime/children/shared_memory.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

namespace leat {

namespace {

constexpr std::size_t smallest = std::size_t{1} << 16;

[[noreturn]] void refuse(std::size_t size, int reason) {
  throw_error(errc::no_resources, "processes",
              std::to_string(size) + " bytes of memory for a process refused: "
                  + std::generic_category().message(reason),
              "more memory, fewer processes, or smaller samples");
}

} // namespace

file_descriptor shared_memory::make_file(const char* name) {
  auto file = opened([&] { return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); });
  // Bytes that a damaged process took away would be a SIGBUS here.
  if (!file || ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) < 0)
    refuse(0, errno);
  return file;
}

shared_memory::~shared_memory() {
  unmap();
}

std::span<std::byte> shared_memory::reserve(std::size_t size) {
  if (size <= size_)
    return bytes();
  const auto larger = std::max({size, 2 * size_, smallest});
  // Allocates now, so that a lack of memory is an error here and not a SIGBUS at a later write.
  int reason = 0;
  do {
    reason = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(larger));
  } while (reason == EINTR);
  if (reason != 0)
    refuse(larger, reason);
  map(larger);
  return bytes();
}

void shared_memory::follow(std::size_t size) {
  if (size <= size_)
    return;
  struct ::stat found {};
  if (::fstat(file_.get(), &found) != 0 || static_cast<std::size_t>(found.st_size) < size)
    throw torn_value("shared memory that is smaller than its process says");
  map(size);
}

void shared_memory::map(std::size_t size) {
  unmap();
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED)
    refuse(size, errno);
  at_ = static_cast<std::byte*>(at);
  size_ = size;
}

void shared_memory::unmap() noexcept {
  if (at_)
    ::munmap(at_, size_);
  at_ = nullptr;
  size_ = 0;
}

} // namespace leat
