#include "runtime/cluster/process/process_identity.hpp"

#include "runtime/base/uninterrupted.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string>
#include <string_view>

namespace leat {

namespace {

/// Reads a small file of the system; nothing if it cannot be read.
std::optional<std::string> read_system_file(const std::string& path) {
  const auto file = opened([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (!file)
    return std::nullopt;
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    const auto n = uninterrupted([&] { return ::read(file.get(), block.data(), block.size()); });
    if (n < 0 || text.size() > (1U << 20))
      return std::nullopt;
    if (n == 0)
      return text;
    text.append(block.data(), static_cast<std::size_t>(n));
  }
}

hash128 hash_of(std::string_view kind, std::string_view text) {
  hash_stream hash;
  hash.add(kind);
  hash.add(text);
  return hash.digest128();
}

/// Zero for a file without a line.
hash128 hash_of_line(std::string_view kind, const std::optional<std::string>& text) {
  const auto line = text ? text->substr(0, text->find('\n')) : std::string{};
  return line.empty() ? hash128{} : hash_of(kind, line);
}

hash128 host_id() {
  // An image may hold "uninitialized" instead of an id, which is then the same everywhere.
  const auto id = read_system_file("/etc/machine-id");
  if (id && id->size() >= 32)
    return hash_of_line("machine-id", id);
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0)
    return {};
  return hash_of_line("hostname", std::string{name.data()});
}

std::uint64_t inode_of(const char* path) {
  struct ::stat x {};
  return ::stat(path, &x) == 0 ? x.st_ino : 0;
}

/// Whether /proc shows this process's pid namespace: one of an outer namespace gives this process a
/// pid in each from there on, and calls other processes by pids of its own.
bool is_own_proc() {
  constexpr std::string_view label = "\nNSpid:\t";
  const auto status = read_system_file("/proc/self/status");
  const auto begin = status ? status->find(label) : std::string::npos;
  if (begin == std::string::npos)
    return false;
  const auto pids = status->substr(begin + label.size());
  return pids.substr(0, pids.find('\n')) == std::to_string(::getpid());
}

pid_look look_at(std::uint64_t pid) {
  pid_look look;
  if (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM)
    look.found = pid_look::presence::present;
  else if (errno == ESRCH)
    look.found = pid_look::presence::absent;
  if (look.found != pid_look::presence::present || !is_own_proc())
    return look;
  if (const auto text = read_system_file("/proc/" + std::to_string(pid) + "/stat"))
    look.stat = parse_process_stat(*text);
  return look;
}

bool is_known(const hash128& x) {
  return x != hash128{};
}

/// Whether a pid means the same to both.
bool share_pids(const process_identity& a, const process_identity& b) {
  return is_known(a.host) && a.host == b.host && is_known(a.boot) && a.boot == b.boot
         && a.pid_namespace != 0 && a.pid_namespace == b.pid_namespace && a.pid != 0
         && a.pid <= INT_MAX;
}

} // namespace

process_identity this_process() {
  process_identity x;
  x.host = host_id();
  x.boot = hash_of_line("boot", read_system_file("/proc/sys/kernel/random/boot_id"));
  x.pid_namespace = inode_of("/proc/self/ns/pid");
  x.time_namespace = inode_of("/proc/self/ns/time");
  x.pid = static_cast<std::uint64_t>(::getpid());
  const auto text = read_system_file("/proc/self/stat");
  if (const auto stat = text ? parse_process_stat(*text) : std::nullopt)
    x.start_ticks = stat->start_ticks;
  return x;
}

bool proves_death(const process_identity& x, const process_identity& witness,
                  const pid_look& look) {
  if (!share_pids(x, witness))
    return false;
  if (look.found != pid_look::presence::present || !look.stat)
    return look.found == pid_look::presence::absent;
  // Each time namespace counts ticks from a start of its own. Linux before 5.6 has none: 0 on both
  // sides.
  if (x.start_ticks == 0 || x.time_namespace != witness.time_namespace)
    return false;
  if (look.stat->start_ticks != x.start_ticks)
    return true;
  // The first thread of a process may be a zombie while others live.
  return (look.stat->state == 'Z' || look.stat->state == 'X') && look.stat->threads <= 1;
}

bool is_known_dead(const process_identity& x) {
  const auto witness = this_process();
  return share_pids(x, witness) && proves_death(x, witness, look_at(x.pid));
}

} // namespace leat
