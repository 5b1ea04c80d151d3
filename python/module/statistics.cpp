#include <leat/bad_sample.hpp>

#include "python/module/convert/values.hpp"
#include "python/module/loader.hpp"

#include <array>
#include <string>

namespace leat::python {

namespace {

double seconds(std::chrono::nanoseconds x) {
  return std::chrono::duration<double>(x).count();
}

nb::dict dict_of(const duration_stats& x) {
  return dict_with("count"_a = x.count, "sum"_a = seconds(x.sum), "median"_a = seconds(x.median),
                   "worst_percent"_a = seconds(x.worst_percent));
}

nb::dict dict_of(const slot_stats& x) {
  return dict_with("free"_a = x.free, "making"_a = x.making, "ready"_a = x.ready,
                   "leased"_a = x.leased);
}

nb::object object_of(const std::optional<decoder_stats>& x) {
  if (!x)
    return nb::none();
  nb::dict on_cpu;
  for (const auto& [why, images] : x->on_cpu)
    on_cpu[why.c_str()] = images;
  return dict_with("by"_a = x->by, "images"_a = x->images, "groups"_a = x->groups,
                   "bytes"_a = x->bytes, "prepared"_a = seconds(x->prepared),
                   "waited"_a = seconds(x->waited), "on_cpu"_a = on_cpu);
}

nb::dict dict_of(const device_stats& x) {
  return dict_with("bytes"_a = x.bytes, "batches"_a = x.batches, "waits"_a = x.waits,
                   "is_pinned"_a = x.is_pinned, "decoder"_a = object_of(x.decoder));
}

nb::dict dict_of(const helper_stats& x) {
  return dict_with("helpers"_a = x.helpers, "cores"_a = x.cores, "rows_lent"_a = x.rows_lent,
                   "rows_received"_a = x.rows_received, "rows_dealt_again"_a = x.rows_dealt_again,
                   "rows_declined"_a = x.rows_declined, "bytes_sent"_a = x.bytes_sent,
                   "bytes_received"_a = x.bytes_received, "not_lent"_a = x.not_lent);
}

nb::dict dict_of(const remote_stats& x) {
  return dict_with("bytes_received"_a = x.bytes_received, "requests"_a = x.requests,
                   "in_flight"_a = x.in_flight, "retries"_a = x.retries, "hedges"_a = x.hedges,
                   "hedges_won"_a = x.hedges_won, "throttled"_a = x.throttled,
                   "cache_hits"_a = x.cache_hits, "waited"_a = seconds(x.waited),
                   "budget_waits"_a = x.budget_waits,
                   "without_budget"_a = seconds(x.without_budget), "queued"_a = seconds(x.queued),
                   "requesting"_a = seconds(x.requesting), "answering"_a = seconds(x.answering));
}

nb::dict dict_of(const feed_stats& x) {
  return dict_with("name"_a = x.name, "at"_a = x.at, "has_journal"_a = x.has_journal,
                   "has_ended"_a = x.has_ended, "records_read"_a = x.records_read,
                   "reached"_a = x.reached, "lag"_a = x.lag, "needed_from"_a = x.needed_from,
                   "records_taken"_a = x.records_taken, "records_received"_a = x.records_received,
                   "bytes_received"_a = x.bytes_received, "wire_bytes"_a = x.wire_bytes,
                   "starved"_a = seconds(x.starved), "fetching"_a = seconds(x.fetching),
                   "waited"_a = seconds(x.waited), "processor"_a = seconds(x.processor),
                   "records_sent"_a = x.records_sent, "bytes_sent"_a = x.bytes_sent,
                   "reading"_a = seconds(x.reading), "sending"_a = seconds(x.sending));
}

nb::dict dict_of(const pack_stats& x) {
  return dict_with("elements"_a = x.elements, "padding"_a = x.padding);
}

nb::dict dict_of(const mixed_input& x) {
  return dict_with("name"_a = x.name, "weight"_a = x.weight, "samples"_a = x.samples,
                   "cost"_a = x.cost);
}

nb::dict dict_of(const worker_stats& x) {
  return dict_with("worker"_a = x.worker, "rows_dealt"_a = x.rows_dealt,
                   "rows_done"_a = x.rows_done, "busy"_a = seconds(x.busy),
                   "bytes_read"_a = x.bytes_read);
}

nb::dict dict_of(const stage_stats& x) {
  constexpr std::array kinds{"reading", "decoding", "function", "writing"};
  return dict_with("name"_a = x.name, "what"_a = kinds[static_cast<std::size_t>(x.what)],
                   "time"_a = seconds(x.time));
}

nb::dict dict_of(const mix_counts& x);

template <class T>
nb::list list_of(const std::vector<T>& all) {
  nb::list result;
  for (const auto& x : all)
    result.append(dict_of(x));
  return result;
}

nb::dict dict_of(const mix_counts& x) {
  return dict_with("cost"_a = x.cost, "inputs"_a = list_of(x.inputs));
}

} // namespace

nb::list list_of(const std::vector<mix_counts>& mixes) {
  return list_of<mix_counts>(mixes);
}

nb::dict dict_of(const bad_counts& x) {
  nb::dict result;
  for (std::size_t i = 0; i < num_causes; ++i)
    result[std::string{to_string(static_cast<cause>(i))}.c_str()] = x[i];
  return result;
}

nb::dict dict_of(const loader_stats& x) {
  return dict_with(
      "workers"_a = list_of(x.workers), "stages"_a = list_of(x.stages), "batches"_a = x.batches,
      "samples"_a = x.samples, "bytes_read"_a = x.bytes_read, "packed"_a = dict_of(x.packed),
      "mixes"_a = list_of(x.mixes), "waited"_a = seconds(x.waited), "waits"_a = dict_of(x.waits),
      "ready_for"_a = dict_of(x.ready_for), "workers_now"_a = x.workers_now,
      "iterating"_a = seconds(x.iterating), "slots"_a = dict_of(x.slots),
      "device"_a = x.device ? nb::object{dict_of(*x.device)} : nb::none(),
      "helped"_a = x.helped ? nb::object{dict_of(*x.helped)} : nb::none(),
      "feeds"_a = list_of(x.feeds),
      "remote"_a = x.remote ? nb::object{dict_of(*x.remote)} : nb::none(), "bad"_a = dict_of(x.bad),
      "workers_replaced"_a = x.workers_replaced, "snapshot_bytes"_a = x.snapshot_bytes);
}

} // namespace leat::python
