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

template <class T>
struct named {
  const char* name;
  T value;
};
constexpr named<call> calls[] = {
    {"open", call::open},    {"read", call::read},   {"pread", call::pread},
    {"write", call::write},  {"fsync", call::fsync}, {"rename", call::rename},
    {"mmap", call::mmap},    {"poll", call::poll},   {"pthread_create", call::pthread_create},
    {"malloc", call::malloc}};

constexpr named<int> codes[] = {{"EINTR", EINTR},   {"ENOSPC", ENOSPC}, {"EIO", EIO},
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
      x.what = known.value;
  const auto* code = std::getenv("LEAT_FAIL_ERRNO");
  for (const auto& known : codes)
    if (code && std::strcmp(code, known.name) == 0)
      x.code = known.value;
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

/// For the other ways to open, which LEAT_FAIL_EVERY leaves alone.
bool fails_to_open(const char* path) {
  return asked.every == 0 && fails(call::open, path);
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

/// A function that fails where `fails` says so, and is otherwise libc's.
#define LEAT_CALL(result, name, parameters, arguments, fails, failure)                             \
  result name parameters {                                                                         \
    static const auto behind = real(&::name, #name);                                               \
    return fails ? failure : behind arguments;                                                     \
  }

/// A function that opens a file, whose last parameter is there if the flags say so.
#define LEAT_OPEN_CALL(name, parameters, arguments, fails)                                         \
  int name parameters {                                                                            \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    const int mode = mode_in(flags, more);                                                         \
    va_end(more);                                                                                  \
    static const auto behind = real(&::name, #name);                                               \
    return fails ? -1 : behind arguments;                                                          \
  }

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t n, std::size_t bytes);
void* __libc_realloc(void* at, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// It takes these for expressions.
// clang-format off

// -- files

LEAT_OPEN_CALL(open, (const char* path, int flags, ...), (path, flags, mode),
               fails(call::open, path))
LEAT_OPEN_CALL(open64, (const char* path, int flags, ...), (path, flags, mode),
               fails(call::open, path))
LEAT_OPEN_CALL(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode),
               fails_to_open(path))
LEAT_OPEN_CALL(openat64, (int folder, const char* path, int flags, ...),
               (folder, path, flags, mode), fails_to_open(path))
LEAT_CALL(FILE*, fopen, (const char* path, const char* mode), (path, mode), fails_to_open(path),
          nullptr)
LEAT_CALL(FILE*, fopen64, (const char* path, const char* mode), (path, mode), fails_to_open(path),
          nullptr)
LEAT_CALL(int, mkostemp, (char* path, int flags), (path, flags), fails(call::open, path), -1)
LEAT_CALL(DIR*, opendir, (const char* path), (path), fails_to_open(path), nullptr)

LEAT_CALL(ssize_t, read, (int file, void* into, std::size_t bytes), (file, into, bytes),
          fails(call::read), -1)
LEAT_CALL(ssize_t, pread, (int file, void* into, std::size_t bytes, off_t offset),
          (file, into, bytes, offset), fails(call::pread), -1)
LEAT_CALL(ssize_t, pread64, (int file, void* into, std::size_t bytes, off64_t offset),
          (file, into, bytes, offset), fails(call::pread), -1)
LEAT_CALL(ssize_t, write, (int file, const void* from, std::size_t bytes), (file, from, bytes),
          fails(call::write), -1)
LEAT_CALL(ssize_t, writev, (int file, const iovec* parts, int n), (file, parts, n),
          fails(call::write), -1)
LEAT_CALL(ssize_t, pwrite, (int file, const void* from, std::size_t bytes, off_t offset),
          (file, from, bytes, offset), fails(call::write), -1)
LEAT_CALL(ssize_t, pwrite64, (int file, const void* from, std::size_t bytes, off64_t offset),
          (file, from, bytes, offset), fails(call::write), -1)
LEAT_CALL(ssize_t, splice,
          (int from, off64_t* from_at, int to, off64_t* to_at, std::size_t bytes, unsigned flags),
          (from, from_at, to, to_at, bytes, flags), fails(call::write), -1)
LEAT_CALL(int, fsync, (int file), (file), fails(call::fsync), -1)
LEAT_CALL(int, fdatasync, (int file), (file), fails(call::fsync), -1)
LEAT_CALL(int, rename, (const char* from, const char* to) noexcept, (from, to),
          fails(call::rename, to), -1)
LEAT_CALL(int, poll, (pollfd* files, nfds_t n, int timeout), (files, n, timeout),
          fails(call::poll), -1)

// -- threads and memory

LEAT_CALL(int, pthread_create,
          (pthread_t* thread, const pthread_attr_t* how, void* (*begin)(void*), void* x) noexcept,
          (thread, how, begin, x), fails(call::pthread_create), asked.code)
LEAT_CALL(void*, mmap,
          (void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept,
          (at, bytes, protection, flags, file, offset), fails(call::mmap), MAP_FAILED)
LEAT_CALL(void*, mmap64,
          (void* at, std::size_t bytes, int protection, int flags, int file,
           off64_t offset) noexcept,
          (at, bytes, protection, flags, file, offset), fails(call::mmap), MAP_FAILED)

// clang-format on

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
