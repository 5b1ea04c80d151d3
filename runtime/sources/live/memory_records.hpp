#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/live/record_store.hpp"

#include <deque>
#include <memory>
#include <string>

namespace leat {

/// Records in memory, for as long as this lives.
class memory_records : public record_store {
public:
  std::uint64_t first() const override;
  std::uint64_t next() const override;
  std::optional<std::size_t> take(int from) override;
  void end_line() override;
  void append(std::string_view content) override;
  std::span<const std::byte> read(std::uint64_t number, sample& into) const override;
  void release_below(std::uint64_t number) override;
  bool is_journal() const noexcept override { return false; }

private:
  /// Shared with readers, so that they copy a record without holding the lock.
  std::shared_ptr<const std::string> find(std::uint64_t number) const;
  void add_text(std::string_view text);

  /// The last line, as far as it has come. Only the thread that adds uses it.
  std::string half_line_;

  mutable mutex mutex_;
  std::uint64_t first_ LEAT_GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<const std::string>> records_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
