#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/hash128.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace leat {

/// Records that exist once, numbered as they come: standard input, a queue, a user's generator.
/// They are read in one place in the process; all lanes of all ranks there use the same feed. With
/// a journal every record is written there before anyone sees it, and can be read by its number
/// until it is released. Many threads call all members at the same time.
class live_source : not_copied {
public:
  virtual ~live_source() = default;

  enum class state : std::uint8_t {
    ready,
    /// Not there yet; `on_change` says when it may be.
    pending,
    /// The source ended before it.
    ended,
  };

  /// Says whether record `number` is there, and that it is wanted. Never blocks.
  /// Throws what the source threw: `leat::error`.
  virtual state peek(std::uint64_t number) = 0;
  /// Blocks while record `number` is pending and `stop` is false; may return early, so that this
  /// thread's caller can be asked: see check_patience().
  virtual void wait(std::uint64_t number, const std::atomic<bool>& stop) = 0;
  /// Makes waiting calls check again whether they should stop.
  virtual void wake() = 0;
  /// Calls `changed`, from any thread and without a lock held, whenever a pending record may have
  /// come or the source has ended, until the returned function is called (which waits for a call
  /// in progress). `changed` must not block.
  virtual std::function<void()> on_change(std::function<void()> changed) = 0;

  /// A job begins that has lanes of this source: those whose number, below `lanes`, is `rank`
  /// modulo `world_size`. It is told before it looks at any record.
  virtual void attend(std::uint64_t lanes, std::uint64_t rank, std::uint64_t world_size) {
    (void)lanes, (void)rank, (void)world_size;
  }

  /// Tells these records from any others that may come under this name, for sources in another
  /// process; zero if that is not known, or there can be no others.
  virtual hash128 stream() const { return {}; }
  /// A job resumes that has used records of this stream: no others are taken.
  virtual void expect(const hash128& stream) { (void)stream; }

  /// Sets the fields of a ready record in an empty sample. Throws `bad_sample`; `leat::error` (io).
  virtual void read(std::uint64_t number, sample& into) const = 0;
  virtual void append_id(std::uint64_t number, std::string& to) const = 0;

  /// No record n below `number` with n mod `lanes` = `lane` will be asked for again, here or after
  /// a restore. What all lanes have released is forgotten.
  virtual void release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) = 0;
  /// The records of this lane from `number` on may be asked for after all: they are kept, as far as
  /// they still exist.
  virtual void hold_from(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) = 0;
  /// A job resumes that has used the records before `behind`, and will ask for those from `lowest`
  /// on. Throws `errc::mismatch` if they do not exist.
  virtual void check_holds(std::uint64_t lowest, std::uint64_t behind) const = 0;
  /// With a journal a job can resume from a snapshot; without one snapshots are refused.
  virtual bool has_journal() const noexcept = 0;

  /// All zero except the digest, which is over the name: what will come is unknown.
  virtual source_facts facts() const = 0;
  virtual std::string name() const = 0;
};

} // namespace leat
