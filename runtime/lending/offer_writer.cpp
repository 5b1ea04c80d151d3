#include "runtime/lending/offer_writer.hpp"

#include "runtime/base/metrics.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/rows/row_codec.hpp"

#include <cstddef>
#include <utility>

namespace leat {

offer_writer::offer_writer(const std::optional<pipeline>& data, const job_plan& plan) {
  if (data)
    records_.emplace(*data, plan);
}

/// False if somebody has taken the row meanwhile. Nobody else can take it while it is copied, as
/// its slot could be opened anew then; so it is not kept for as long as a read takes.
bool offer_writer::copy_request(const row_place& x) {
  if (!x.slot->take_lent(x.ticket, x.row))
    return false;
  try {
    request_ = x.slot->request(x.row);
  } catch (...) {
    x.slot->put_back(x.row);
    throw;
  }
  x.slot->put_back(x.row);
  return true;
}

/// Nothing for a row that cannot be sent.
std::optional<offer_writer::row_bytes> offer_writer::bytes_of_request(bool with_records) try {
  if (!can_travel(request_))
    return std::nullopt;
  row_bytes bytes{.request = encode(request_)};
  if (!with_records)
    return bytes;
  since_ = steady_ns();
  auto records = records_->records_of(request_);
  since_ = 0;
  if (!records || records->size() + bytes.request.size() > most_lent_bytes)
    return std::nullopt;
  bytes.records = std::move(*records);
  return bytes;
} catch (...) { // no memory: it is made here
  since_ = 0;
  return std::nullopt;
}

offer_writer::written offer_writer::write(const std::vector<row_place>& rows, bool with_records,
                                          std::int64_t most_bytes,
                                          const std::function<bool()>& goes_on) {
  written made;
  const auto begin = steady_ns();
  const auto work_before = processor_ns();
  std::vector<row_bytes> all;
  std::size_t in_use = 0; // of these: what follows was left out
  std::int64_t size = 0;
  bool is_full = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.emplace_back();
    if (is_full || !copy_request(rows[i])) {
      made.how.unsent.push_back(i);
      continue;
    }
    if (rows[i].is_dealt_here)
      made.for_here.push_back(rows[i]);
    auto bytes = bytes_of_request(with_records);
    if (!bytes) {
      made.how.declined.push_back(i);
    } else {
      const auto n = static_cast<std::int64_t>(bytes->request.size() + bytes->records.size());
      is_full = in_use > 0 && size + n > most_bytes;
      if (is_full) {
        made.how.unsent.push_back(i);
        continue;
      }
      size += n;
      all.back() = std::move(*bytes);
      in_use = i + 1;
    }
    is_full = !goes_on();
  }
  if (in_use == 0)
    return made;
  std::vector<offered_row> offered;
  for (std::size_t i = 0; i < in_use; ++i)
    offered.push_back({all[i].request, all[i].records});
  made.bytes = encode(offered);
  made.last = in_use - 1;
  made.how.bytes = cost_of(4 + made.bytes.size());
  made.how.time = steady_ns() - begin;
  made.how.work = processor_ns() - work_before;
  return made;
}

} // namespace leat
