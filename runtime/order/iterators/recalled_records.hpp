#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/sample/stream_source.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>

namespace leat {

class recall_pass;

/// A record that an operator held when its state was saved, and that can only be found by reading
/// what lies before it. Stands in an item for the content that the state does not have.
class recalled_record final : public payload {
public:
  recalled_record(std::shared_ptr<recall_pass> pass, stream_record what);
  ~recalled_record() override;

  /// Any thread. Throws what reading throws, perhaps for a record before this one.
  payload_ptr content(const std::stop_token& stop) const;

private:
  friend class recall_pass;

  std::shared_ptr<recall_pass> pass_;
  stream_record what_;
  /// Null until the pass has read it; guarded by the pass's mutex.
  mutable payload_ptr content_;
};

/// Records of units that are read in sequence, and that restored operators hold. They are asked for
/// in any order, and are read in stored order: when one of them is needed, so are all that are
/// still missing before it. Otherwise each would cost as much as reading its unit from the
/// beginning. Any thread.
class recalled_records {
public:
  using reader = std::function<payload_ptr(const stream_record&, const std::stop_token&)>;

  /// A record of a unit; `read` is the same for all of a unit. What is read is kept for as long as
  /// the result lives.
  payload_ptr add(const std::string& unit, stream_record what, const reader& read);

private:
  mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<recall_pass>> passes_ LEAT_GUARDED_BY(mutex_);
  /// Units whose records are all gone are looked for when there are so many.
  std::size_t sweep_at_ LEAT_GUARDED_BY(mutex_) = 64;
};

/// What to read for a record: its content, if it travels with the item or was recalled.
payload_ptr content_of(payload_ptr travels, const std::stop_token& stop);

} // namespace leat
