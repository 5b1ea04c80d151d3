#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/network/certs/certificates.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace leat {

/// The certificates of a directory, as they are now. Whoever makes a connection asks for them anew:
/// files that have changed are read, and taken if they are right. Connections that exist keep
/// what they had. Any thread.
class renewed_certificates {
public:
  /// Throws as `certificates`.
  renewed_certificates(std::string directory, link_roles needed, std::int64_t now);

  /// `now` is in seconds since 1970. A notice says, once, that changed files are wrong and the old
  /// ones stay in use; and, once a day from 30 days before it on, that a certificate ends.
  std::shared_ptr<const certificates> at(std::int64_t now);

  /// By this machine's clock.
  std::shared_ptr<const certificates> now() { return at(wall_clock()); }
  static std::int64_t wall_clock();

private:
  /// What tells one state of a file from another.
  struct file_state {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    /// Of content and of owner and mode, in nanoseconds.
    std::int64_t changed = 0;
    std::int64_t touched = 0;

    friend bool operator==(const file_state&, const file_state&) = default;
  };
  using file_states = std::array<file_state, 3>;

  file_states look() const;
  void renew(std::int64_t now) LEAT_REQUIRES(mutex_);
  void tell_end(std::int64_t now) LEAT_REQUIRES(mutex_);

  const std::string directory_;
  const link_roles needed_;
  mutex mutex_;
  file_states seen_ LEAT_GUARDED_BY(mutex_);
  std::shared_ptr<const certificates> current_ LEAT_GUARDED_BY(mutex_);
  std::int64_t next_telling_ LEAT_GUARDED_BY(mutex_) = 0;
};

/// Those of a directory, now; null if it is empty. Throws as `certificates`.
std::shared_ptr<renewed_certificates> certificates_in(const std::string& directory,
                                                      link_roles needed);

} // namespace leat
