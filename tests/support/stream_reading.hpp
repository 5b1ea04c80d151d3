#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/stream_source.hpp"

#include <leat/notice.hpp>
#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::test {

/// A record as a test writes it, or as a stream gives it.
struct stream_sample {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;

  friend bool operator==(const stream_sample&, const stream_sample&) = default;
};

inline stream_sample read_record(const stream_source& from, const stream_record& x, sample& into) {
  sample_access::reset(into, nullptr);
  from.read(x, into);
  stream_sample result;
  from.append_id(x, result.id);
  for (const auto& name : into.fields())
    result.fields.emplace_back(name, into.text(name));
  return result;
}

inline stream_sample read_record(const stream_source& from, const stream_record& x) {
  sample into;
  return read_record(from, x, into);
}

/// The record as a snapshot keeps it: without content.
inline stream_record without_content(stream_record x) {
  x.content = nullptr;
  return x;
}

inline std::vector<stream_record> read_unit(const stream_source& from, std::uint64_t unit,
                                            const stream_place& place = {}) {
  std::vector<stream_record> records;
  const auto reader = from.open(unit, place);
  stream_record x;
  while (reader->next(x))
    records.push_back(x);
  return records;
}

/// Reads all units, one after the other.
inline std::vector<stream_sample> read_stream(const stream_source& from) {
  std::vector<stream_sample> samples;
  sample into;
  for (std::uint64_t unit = 0; unit < from.units(); ++unit)
    for (const auto& x : read_unit(from, unit))
      samples.push_back(read_record(from, x, into));
  return samples;
}

inline bool same_record(const stream_record& a, const stream_record& b) {
  return a.unit == b.unit && a.number == b.number && a.offset == b.offset && a.length == b.length
         && a.key == b.key;
}

/// The stream of a pipeline that is only a source.
inline std::shared_ptr<const stream_source> stream_of(const pipeline& x) {
  return x.root().stream->get();
}

/// Collects notices while it lives.
class caught_notices {
public:
  caught_notices() {
    set_notice_handler([this](const std::string& text) { texts_.push_back(text); });
  }
  ~caught_notices() { set_notice_handler({}); }
  caught_notices(const caught_notices&) = delete;
  caught_notices& operator=(const caught_notices&) = delete;

  const std::vector<std::string>& texts() const { return texts_; }

private:
  std::vector<std::string> texts_;
};

} // namespace leat::test
