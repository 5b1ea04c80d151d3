#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/feed/feed_input.hpp"
#include "runtime/sources/live/once_input.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// A place and a content as one record of a store.
std::string join_placed(const placed_record& x);
/// The reverse; both lie where they were read from. Nothing if the bytes are none of these.
std::optional<placed_record> split_placed(std::string_view bytes);

/// A feed's input as an origin of records that exist once, each of which is kept with its place.
/// It begins where the store that it is read into has its end.
class placed_input : public once_input {
public:
  explicit placed_input(std::shared_ptr<feed_input> from) : from_(std::move(from)) {}

  const std::string& name() const override { return from_->name(); }
  record_format format() const override { return record_format::frames; }
  feed_format content_format() const { return from_->format(); }
  bool takes_acknowledgements() const { return from_->takes_acknowledgements(); }
  std::unique_ptr<record_reader> begin() override;
  /// Of the content alone.
  void set_fields(sample& into, std::span<const std::byte> content) const override;

  /// The origin is being read: it can be told what is acknowledged.
  bool is_open() const;
  /// Acknowledges records at the origin. False if that is not open, or ended before all were. One
  /// thread.
  bool acknowledge(std::span<const std::string> places);

private:
  class reader;

  const std::shared_ptr<feed_input> from_;
  std::atomic<bool> taken_ = false;
  mutable mutex mutex_;
  /// Of the reader, once it has begun.
  std::shared_ptr<feed_reader> open_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
