#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/live/record_store.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

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
  shared_content share(std::uint64_t number) const override;
  void release_below(std::uint64_t number) override;
  bool is_journal() const noexcept override { return false; }

private:
  /// Shared with readers, which need no lock meanwhile, and with the others of its block, all of
  /// which came one after the other.
  struct record {
    std::shared_ptr<const void> block = {};
    std::string_view content = {};
  };

  record find(std::uint64_t number) const;
  void add(std::vector<record>& all);
  void make_room();
  void add_lines(std::size_t bytes);

  /// Where bytes of lines are read: they stay there.
  struct text_block {
    std::shared_ptr<char[]> bytes = {};
    std::size_t size = 0;
    /// So many bytes have come; the last line, as far as it has come, begins here.
    std::size_t end = 0;
    std::size_t line = 0;
  };
  /// Only for the thread that adds.
  text_block block_;

  mutable mutex mutex_;
  std::uint64_t first_ LEAT_GUARDED_BY(mutex_) = 0;
  std::deque<record> records_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
