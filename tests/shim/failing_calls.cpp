// Loaded in front of libc (LD_PRELOAD): fails the n-th call of one kind, so that a test can see
// what a program makes of it. The environment says which:
//
//   LEAT_FAIL_CALL   open (with openat, fopen, mkostemp, opendir), read, pread, write (with writev,
//                    pwrite, splice), fsync (with fdatasync), rename, mmap, pthread_create, poll,
//                    malloc (with all that gives memory)
//   LEAT_FAIL_AT     the first call that fails, from 1; none: calls are counted only
//   LEAT_FAIL_EVERY  instead: every so many-th call fails, with LEAT_FAIL_AT among them; of open
//   those
//                    of open and mkostemp alone
//   LEAT_FAIL_TIMES  how many calls fail from there on (1); 0: all
//   LEAT_FAIL_ERRNO  name of the error (EIO)
//   LEAT_FAIL_SIZE   malloc: calls for fewer bytes neither count nor fail (1 MiB)
//   LEAT_FAIL_PATH   open, rename: calls without this text in the path neither count nor fail
//   LEAT_FAIL_WHILE  a file: while it is not there, calls neither count nor fail
//   LEAT_FAIL_DEADLINE  seconds after which SIGALRM ends the program: it hangs
//   LEAT_FAIL_COUNT  a file that gets "COUNT FAILED\n" at the program's end: calls that counted,
//                    and how many of them failed
//
// Nothing here may ask for memory: it stands where memory comes from.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class call : std::uint8_t {
  none,
  open,
  read,
  pread,
  write,
  fsync,
  rename,
  mmap,
  pthread_create,
  poll,
  malloc
};

struct named_call {
  const char* name;
  call what;
};
constexpr named_call calls[] = {
    {"open", call::open},    {"read", call::read},   {"pread", call::pread},
    {"write", call::write},  {"fsync", call::fsync}, {"rename", call::rename},
    {"mmap", call::mmap},    {"poll", call::poll},   {"pthread_create", call::pthread_create},
    {"malloc", call::malloc}};

struct named_code {
  const char* name;
  int code;
};
constexpr named_code codes[] = {{"EINTR", EINTR},   {"ENOSPC", ENOSPC}, {"EIO", EIO},
                                {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"ENOMEM", ENOMEM},
                                {"EAGAIN", EAGAIN}, {"EACCES", EACCES}, {"EROFS", EROFS}};

struct settings {
  call what = call::none;
  std::uint64_t at = 0;
  std::uint64_t times = 1;
  std::uint64_t every = 0;
  std::uint64_t size = 1 << 20;
  int code = EIO;
  const char* path = nullptr;
  const char* only_while = nullptr;
  const char* count = nullptr;
};

settings asked;
std::atomic<std::uint64_t> counted = 0;
std::atomic<std::uint64_t> failed = 0;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const auto* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

__attribute__((constructor)) void read_settings() {
  ::alarm(static_cast<unsigned>(number_of("LEAT_FAIL_DEADLINE", 0)));
  const auto* what = std::getenv("LEAT_FAIL_CALL");
  if (!what)
    return;
  settings x;
  for (const auto& known : calls)
    if (std::strcmp(what, known.name) == 0)
      x.what = known.what;
  const auto* code = std::getenv("LEAT_FAIL_ERRNO");
  for (const auto& known : codes)
    if (code && std::strcmp(code, known.name) == 0)
      x.code = known.code;
  x.at = number_of("LEAT_FAIL_AT", 0);
  x.times = number_of("LEAT_FAIL_TIMES", 1);
  x.every = number_of("LEAT_FAIL_EVERY", 0);
  x.size = number_of("LEAT_FAIL_SIZE", x.size);
  x.path = std::getenv("LEAT_FAIL_PATH");
  x.only_while = std::getenv("LEAT_FAIL_WHILE");
  x.count = std::getenv("LEAT_FAIL_COUNT");
  asked = x;
}

__attribute__((destructor)) void write_count() {
  if (!asked.count)
    return;
  char text[64];
  const auto n = std::snprintf(text, sizeof text, "%llu %llu\n",
                               static_cast<unsigned long long>(counted.load()),
                               static_cast<unsigned long long>(failed.load()));
  const auto file =
      ::syscall(SYS_openat, AT_FDCWD, asked.count, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] const auto ignored = ::syscall(SYS_write, file, text, n);
  ::syscall(SYS_close, file);
}

bool is_spared(std::uint64_t n) {
  if (asked.every != 0)
    return n % asked.every != asked.at % asked.every;
  return asked.at == 0 || n < asked.at || (asked.times != 0 && n - asked.at >= asked.times);
}

/// True where this call shall fail. Sets errno then.
bool fails(call what, const char* path = nullptr) {
  if (asked.what != what || (path && asked.path && !std::strstr(path, asked.path)))
    return false;
  if (asked.only_while && ::access(asked.only_while, F_OK) != 0)
    return false;
  const auto n = counted.fetch_add(1) + 1;
  if (is_spared(n))
    return false;
  failed.fetch_add(1);
  errno = asked.code;
  return true;
}

bool fails_for(std::size_t bytes) {
  if (asked.what != call::malloc || bytes < asked.size || !fails(call::malloc))
    return false;
  errno = ENOMEM;
  return true;
}

/// The function of this name behind this library.
template <class Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// A file's mode, where the flags say that there is one.
int mode_in(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
}

} // namespace

#define LEAT_REAL(name) static const auto real_##name = real(&::name, #name)

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t n, std::size_t bytes);
void* __libc_realloc(void* at, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// -- files

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_in(flags, more);
  va_end(more);
  LEAT_REAL(open);
  return fails(call::open, path) ? -1 : real_open(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_in(flags, more);
  va_end(more);
  LEAT_REAL(open64);
  return fails(call::open, path) ? -1 : real_open64(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_in(flags, more);
  va_end(more);
  LEAT_REAL(openat);
  return asked.every == 0 && fails(call::open, path) ? -1
                                                     : real_openat(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_in(flags, more);
  va_end(more);
  LEAT_REAL(openat64);
  return asked.every == 0 && fails(call::open, path) ? -1
                                                     : real_openat64(directory, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  LEAT_REAL(fopen);
  return asked.every == 0 && fails(call::open, path) ? nullptr : real_fopen(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  LEAT_REAL(fopen64);
  return asked.every == 0 && fails(call::open, path) ? nullptr : real_fopen64(path, mode);
}

int mkostemp(char* path, int flags) {
  LEAT_REAL(mkostemp);
  return fails(call::open, path) ? -1 : real_mkostemp(path, flags);
}

DIR* opendir(const char* path) {
  LEAT_REAL(opendir);
  return asked.every == 0 && fails(call::open, path) ? nullptr : real_opendir(path);
}

ssize_t read(int file, void* into, std::size_t bytes) {
  LEAT_REAL(read);
  return fails(call::read) ? -1 : real_read(file, into, bytes);
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) {
  LEAT_REAL(pread);
  return fails(call::pread) ? -1 : real_pread(file, into, bytes, offset);
}

ssize_t pread64(int file, void* into, std::size_t bytes, off64_t offset) {
  LEAT_REAL(pread64);
  return fails(call::pread) ? -1 : real_pread64(file, into, bytes, offset);
}

ssize_t write(int file, const void* from, std::size_t bytes) {
  LEAT_REAL(write);
  return fails(call::write) ? -1 : real_write(file, from, bytes);
}

ssize_t writev(int file, const iovec* parts, int n) {
  LEAT_REAL(writev);
  return fails(call::write) ? -1 : real_writev(file, parts, n);
}

ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  LEAT_REAL(pwrite);
  return fails(call::write) ? -1 : real_pwrite(file, from, bytes, offset);
}

ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t offset) {
  LEAT_REAL(pwrite64);
  return fails(call::write) ? -1 : real_pwrite64(file, from, bytes, offset);
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t bytes,
               unsigned flags) {
  LEAT_REAL(splice);
  return fails(call::write) ? -1 : real_splice(from, from_offset, to, to_offset, bytes, flags);
}

int fsync(int file) {
  LEAT_REAL(fsync);
  return fails(call::fsync) ? -1 : real_fsync(file);
}

int fdatasync(int file) {
  LEAT_REAL(fdatasync);
  return fails(call::fsync) ? -1 : real_fdatasync(file);
}

int rename(const char* from, const char* to) noexcept {
  LEAT_REAL(rename);
  return fails(call::rename, to) ? -1 : real_rename(from, to);
}

int poll(pollfd* files, nfds_t n, int timeout) {
  LEAT_REAL(poll);
  return fails(call::poll) ? -1 : real_poll(files, n, timeout);
}

// -- threads and memory

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
                   void* argument) noexcept {
  LEAT_REAL(pthread_create);
  return fails(call::pthread_create) ? asked.code
                                     : real_pthread_create(thread, attributes, begin, argument);
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  LEAT_REAL(mmap);
  return fails(call::mmap) ? MAP_FAILED : real_mmap(at, bytes, protection, flags, file, offset);
}

void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
             off64_t offset) noexcept {
  LEAT_REAL(mmap64);
  return fails(call::mmap) ? MAP_FAILED : real_mmap64(at, bytes, protection, flags, file, offset);
}

// libc's own names: asking for the next function of a name may itself ask for memory.

void* malloc(std::size_t bytes) noexcept {
  return fails_for(bytes) ? nullptr : __libc_malloc(bytes);
}

void* calloc(std::size_t n, std::size_t bytes) noexcept {
  return fails_for(n * bytes) ? nullptr : __libc_calloc(n, bytes);
}

void* realloc(void* at, std::size_t bytes) noexcept {
  return fails_for(bytes) ? nullptr : __libc_realloc(at, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return fails_for(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return fails_for(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** at, std::size_t alignment, std::size_t bytes) noexcept {
  if (fails_for(bytes))
    return ENOMEM;
  *at = __libc_memalign(alignment, bytes);
  return *at ? 0 : ENOMEM;
}

} // extern "C"
