#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/cluster/state_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Where the coordinator of a life can be reached.
struct coordinator_place {
  std::uint64_t life = 0;
  std::string address;
};

struct stored_state {
  /// The life that wrote it.
  std::uint64_t life = 0;
  job_state state;
};

/// The one thing that all coordinators of a job share: it says which of them is the newest, and
/// what the earlier ones have promised. Three kinds of files, each with a number:
///
/// - `job.N`: the id of the job that the directory belongs to; the newest counts;
/// - `coordinator.LIFE`: the address of the coordinator of that life;
/// - `state.LIFE`: what it wrote last, so that a write that came late lands where nobody looks.
///
/// Each file is there whole or not at all, and the first two are made by one process only, so there
/// are no locks and no times. A process that is killed anywhere leaves a directory that the next
/// one can use. Any number of processes and threads may call at any time. Throws `errc::io`,
/// `errc::not_found` or `errc::no_resources` with the file's name where a system call fails.
class state_directory : not_copied {
public:
  virtual ~state_directory() = default;

  /// Begins the life of a coordinator of `job`, at a text of one line that says where it is. The
  /// number is above all earlier ones, and nobody else ever gets it. The first life gives the
  /// directory to its job. Throws `errc::invalid_argument`, with both ids, if the directory belongs
  /// to another job.
  std::uint64_t begin_life(const std::string& job, const std::string& address);

  /// The newest life; 0 before the first. Looks at the directory itself, whatever a client of a
  /// network file system remembers. A coordinator that finds another number than its own has ended.
  std::uint64_t newest_life();

  /// Where the newest coordinator is. Nothing if none has begun, or its file is not whole (yet).
  /// For members, who need not write to the directory; on network file systems it may be late.
  std::optional<coordinator_place> address_of_newest();

  /// Stores the state of one's own life, durably, in place of its former one. Once two newer lives
  /// have begun, it may or may not be stored: nobody looks at it.
  void write_state(std::uint64_t life, const std::string& job, std::string_view bytes);

  /// The state of the newest life that wrote one; it may be of a former job. Throws
  /// `errc::torn_file`, with the name, if that file is damaged: an older one would be wrong.
  std::optional<stored_state> read_state();

  /// The job that the directory belongs to.
  std::optional<std::string> job();

  /// Gives the directory to another job; the caller has seen in the state that the former one is
  /// over. If several do so at once, one succeeds. Throws `errc::invalid_argument` if the
  /// directory belongs to neither of the two.
  void hand_over(const std::string& from, const std::string& to);

  /// For errors: the path, or what kind of directory this is.
  virtual std::string name() const = 0;

protected:
  /// Before the first file: makes the directory.
  virtual void prepare() = 0;
  /// Forgets what a client remembers of the directory.
  virtual void refresh() = 0;
  virtual std::vector<std::string> list() = 0;
  /// Makes a file, whole and durable; false if it is there.
  virtual bool create(const std::string& file, const std::string& text) = 0;
  /// Makes or replaces a file, whole and durable.
  virtual void replace(const std::string& file, const std::string& text) = 0;
  /// Nothing if there is no such file.
  virtual std::optional<std::string> read(const std::string& file) = 0;
  /// It may be gone already.
  virtual void remove(const std::string& file) = 0;

private:
  struct owner {
    std::uint64_t number;
    std::string job;
  };

  std::optional<owner> find_owner();
  void take_for(const std::string& job);
  bool is_newest(std::string_view kind, std::uint64_t number);
  std::uint64_t create_next(std::string_view kind, const std::string& text, std::uint64_t least);
};

} // namespace leat
