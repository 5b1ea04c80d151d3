#pragma once

#include "tests/support/stream_reading.hpp"

#include <leat/source.hpp>

#include <cstdint>
#include <stop_token>
#include <vector>

namespace leat::test {

/// The fields of a sample, without an id.
inline stream_sample fields_of(const sample& from) {
  stream_sample x;
  for (const auto& name : from.fields())
    x.fields.emplace_back(name, from.text(name));
  return x;
}

inline stream_sample read_one(const source& data, std::uint64_t record, sample& into,
                              const std::stop_token& stop = {}) {
  sample_access::reset(into, nullptr);
  sample_access::read_with(into, stop);
  data.read(record, into);
  auto x = fields_of(into);
  data.append_id(record, x.id);
  return x;
}

/// All records by number.
inline std::vector<stream_sample> read_all(const source& data) {
  std::vector<stream_sample> all;
  sample into;
  for (std::uint64_t i = 0; i < data.size(); ++i)
    all.push_back(read_one(data, i, into));
  return all;
}

} // namespace leat::test
