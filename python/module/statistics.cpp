#include "python/module/statistics.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/loader.hpp"

#include <array>
#include <string>

namespace leat::python {

namespace {

double seconds(std::chrono::nanoseconds x) {
  return std::chrono::duration<double>(x).count();
}

nb::dict dict_of(const duration_stats& x) {
  nb::dict result;
  result["count"] = x.count;
  result["sum"] = seconds(x.sum);
  result["median"] = seconds(x.median);
  result["worst_percent"] = seconds(x.worst_percent);
  return result;
}

nb::dict dict_of(const slot_stats& x) {
  nb::dict result;
  result["free"] = x.free;
  result["making"] = x.making;
  result["ready"] = x.ready;
  result["leased"] = x.leased;
  return result;
}

nb::dict dict_of(const device_stats& x) {
  nb::dict result;
  result["bytes"] = x.bytes;
  result["batches"] = x.batches;
  result["waits"] = x.waits;
  result["is_pinned"] = x.is_pinned;
  return result;
}

nb::dict dict_of(const pack_stats& x) {
  nb::dict result;
  result["elements"] = x.elements;
  result["padding"] = x.padding;
  return result;
}

nb::dict dict_of(const mixed_input& x) {
  nb::dict result;
  result["name"] = x.name;
  result["weight"] = x.weight;
  result["samples"] = x.samples;
  result["cost"] = x.cost;
  return result;
}

nb::dict dict_of(const worker_stats& x) {
  nb::dict result;
  result["worker"] = x.worker;
  result["rows_dealt"] = x.rows_dealt;
  result["rows_done"] = x.rows_done;
  result["busy"] = seconds(x.busy);
  result["bytes_read"] = x.bytes_read;
  return result;
}

nb::dict dict_of(const stage_stats& x) {
  constexpr std::array kinds{"reading", "decoding", "function", "writing"};
  nb::dict result;
  result["name"] = x.name;
  result["what"] = kinds[static_cast<std::size_t>(x.what)];
  result["time"] = seconds(x.time);
  return result;
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
  nb::dict result;
  result["cost"] = x.cost;
  result["inputs"] = list_of(x.inputs);
  return result;
}

} // namespace

nb::list list_of(const std::vector<mix_counts>& mixes) {
  return list_of<mix_counts>(mixes);
}

nb::dict dict_of(const loader_stats& x) {
  nb::dict result;
  result["workers"] = list_of(x.workers);
  result["stages"] = list_of(x.stages);
  result["batches"] = x.batches;
  result["samples"] = x.samples;
  result["bytes_read"] = x.bytes_read;
  result["packed"] = dict_of(x.packed);
  result["mixes"] = list_of(x.mixes);
  result["waited"] = seconds(x.waited);
  result["waits"] = dict_of(x.waits);
  result["ready_for"] = dict_of(x.ready_for);
  result["workers_now"] = x.workers_now;
  result["iterating"] = seconds(x.iterating);
  result["slots"] = dict_of(x.slots);
  result["device"] = x.device ? nb::object{dict_of(*x.device)} : nb::none();
  nb::dict bad;
  for (std::size_t i = 0; i < num_causes; ++i)
    bad[std::string{to_string(static_cast<cause>(i))}.c_str()] = x.bad[i];
  result["bad"] = bad;
  result["workers_replaced"] = x.workers_replaced;
  result["snapshot_bytes"] = x.snapshot_bytes;
  return result;
}

} // namespace leat::python
