#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/cache/block_id.hpp"
#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/cache/cache_space.hpp"
#include "runtime/storage/cache/mapped_block.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// The right to fetch and store a block, which one process has at a time: a lock on the file that
/// becomes the block, so that it ends with the process whatever happens.
class block_claim {
public:
  enum class state : std::uint8_t {
    /// This is the one.
    mine,
    /// Somebody else's, in this process or another.
    taken,
    /// This directory takes no more files, or has something else of that name.
    impossible,
  };

  block_claim() = default;
  ~block_claim() { give_up(); }
  block_claim(block_claim&& x) noexcept { *this = std::move(x); }
  block_claim& operator=(block_claim&& x) noexcept {
    std::swap(is_, x.is_);
    std::swap(file_, x.file_);
    std::swap(directory_, x.directory_);
    std::swap(path_, x.path_);
    return *this;
  }

  state is() const noexcept { return is_; }
  /// The file that is locked, to watch it.
  const file_descriptor& file() const noexcept { return file_; }

private:
  friend class cache_directory;

  /// Removes the file if it is ours, and has not become the block.
  void give_up() noexcept;

  state is_ = state::impossible;
  file_descriptor file_ = {};
  int directory_ = -1;
  std::string path_ = {};
};

/// The limit of a cache, unless a block would not fit: then throws `errc::invalid_argument`.
std::uint64_t checked_cache_limit(std::uint64_t bytes);

/// The files of a cache, in a folder of their own in the directory that the user names. Nothing
/// there is trusted: what is read has the checksums of the block that was looked for. A directory
/// that takes no more files is read on; that is told once. Any thread; calls block.
class cache_directory : not_copied {
public:
  /// Makes the directory. Throws `errc::invalid_argument` if the limit is below a block, and as
  /// `throw_errno`.
  explicit cache_directory(const cache_settings& how);

  enum class found : std::uint8_t { nothing, damaged, bytes };

  /// A use is written down if the last one is older, as others may be looking for what is not used.
  static constexpr std::int64_t seconds_between_uses = 60;

  /// Gives `take` the bytes from `begin` to `end` of a block that has `size` bytes, if they are
  /// here. `scratch` is used meanwhile.
  found read(const block_id& id, std::size_t size, std::size_t begin, std::size_t end,
             std::vector<std::byte>& scratch,
             const std::function<void(std::span<const std::byte>)>& take);

  /// The same, of as many bytes as `into` has, into memory that is the caller's alone: unless they
  /// are here, anything may be in it.
  found read_into(const block_id& id, std::size_t size, std::size_t begin,
                  std::span<std::byte> into);
  /// The block, if its file's header is right; null if not, or if it cannot be mapped.
  std::unique_ptr<mapped_block> map(const block_id& id, std::size_t size) const;
  /// Whether the block's file is the one that was mapped, and has not changed since.
  bool is_same(const block_id& id, const mapped_block& x) const;
  /// Whether there is a file of the block; if so, the system reads this part ahead.
  bool expect(const block_id& id, std::size_t size, std::size_t begin, std::size_t end) const;

  block_claim claim(const block_id& id);
  /// Tries again to get what is taken, by the same descriptor: closing one would wake all who watch
  /// the file. True if that is over, and another file is to be claimed now.
  bool claim_again(block_claim& x, const block_id& id);
  /// Stores a block that was claimed; what others read meanwhile is this or nothing. False if the
  /// directory does not take it.
  bool store(block_claim& by, const block_id& id, std::span<const std::byte> block);

  /// False once it takes no more files.
  bool takes_more() const noexcept { return takes_more_.load(std::memory_order_relaxed); }
  cache_space& space() noexcept { return space_; }

private:
  struct open_block;

  found open(const block_id& id, std::size_t size, open_block& x) const;
  void fail(int code);
  bool is_named(const block_claim& x) const;

  const std::string path_;
  const file_descriptor directory_;
  cache_space space_;
  std::atomic<bool> takes_more_{true};
};

} // namespace leat
