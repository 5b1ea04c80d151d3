#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sample/stored_sample.hpp"
#include "runtime/sample/stream_source.hpp"

#include <leat/streams.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace leat {

using open_sequential = std::function<std::unique_ptr<sequential_reader>(std::uint64_t unit)>;

/// A user's readers as a stream. Records carry their content; the reader's state before a record,
/// if it has one, is the record's key, so that the record can be made again on its own.
class sequential_source final : public stream_source {
public:
  sequential_source(const std::string& name, std::uint64_t units, open_sequential open);

  std::uint64_t units() const override { return units_; }
  using stream_source::open;
  std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from,
                                    const reader_options& options) const override;
  void read(const stream_record& record, sample& into) const override;
  bool is_found_in_sequence(const stream_record& record) const override {
    return record.key.empty(); // its reader has no state
  }
  payload_ptr read_content(const stream_record& record, const std::stop_token&) const override {
    return remake_by_replay(record);
  }
  void append_id(const stream_record& record, std::string& to) const override;
  source_facts facts() const override;
  std::string name() const override { return name_; }

private:
  class reader;
  /// A reader without states, positioned before record `next`.
  struct replayed {
    std::uint64_t unit;
    std::uint64_t next;
    std::unique_ptr<sequential_reader> reader;
  };

  using content_ptr = std::shared_ptr<const stored_sample>;

  std::unique_ptr<sequential_reader> open_user(std::uint64_t unit) const;
  content_ptr remake_by_state(const stream_record& record) const;
  content_ptr remake_by_replay(const stream_record& record) const;
  /// A reader at or before record `number`: one that was kept, or a new one.
  replayed take_before(std::uint64_t unit, std::uint64_t number) const;
  void keep(replayed x) const;

  std::string full_name_;
  std::string name_;
  std::uint64_t units_;
  open_sequential open_;
  mutable mutex mutex_;
  /// The last used is at the end.
  mutable std::list<replayed> kept_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
