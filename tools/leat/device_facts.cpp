#include "tools/leat/device_facts.hpp"

#include "tools/leat/output.hpp"

#include <algorithm>
#include <cstdint>

namespace leat::command {

namespace {

using nlohmann::json;

void add_decoder(const decoder_stats& x, decoder_stats& to) {
  to.by = x.by;
  to.images += x.images;
  to.groups += x.groups;
  to.bytes += x.bytes;
  to.prepared += x.prepared;
  to.waited += x.waited;
  for (const auto& one : x.on_cpu) {
    const auto same = [&](const auto& other) { return other.first == one.first; };
    const auto found = std::find_if(to.on_cpu.begin(), to.on_cpu.end(), same);
    if (found == to.on_cpu.end())
      to.on_cpu.push_back(one);
    else
      found->second += one.second;
  }
}

json decoder_to_json(const std::optional<decoder_stats>& x) {
  if (!x)
    return {};
  auto on_cpu = json::object();
  for (const auto& [why, images] : x->on_cpu)
    on_cpu[why] = images;
  return {{"by", x->by},
          {"images", x->images},
          {"groups", x->groups},
          {"bytes", x->bytes},
          {"prepared_seconds", in_seconds(x->prepared)},
          {"waited_seconds", in_seconds(x->waited)},
          {"on_cpu", on_cpu}};
}

} // namespace

void add_device(const std::optional<device_stats>& x, std::optional<device_stats>& to) {
  if (!x)
    return;
  if (!to)
    to = device_stats{.is_pinned = true};
  to->bytes += x->bytes;
  to->batches += x->batches;
  to->waits += x->waits;
  to->is_pinned = to->is_pinned && x->is_pinned;
  if (x->decoder)
    add_decoder(*x->decoder, to->decoder ? *to->decoder : to->decoder.emplace());
}

nlohmann::json device_to_json(const std::optional<device_stats>& x) {
  if (!x)
    return {};
  return {{"bytes", x->bytes},
          {"batches", x->batches},
          {"waits", x->waits},
          {"pinned", x->is_pinned},
          {"decoder", decoder_to_json(x->decoder)}};
}

std::string decoder_text(const decoder_stats& x) {
  auto text =
      with_commas(x.images) + " images on the device" + (x.by == "nvjpeg" ? " by nvJPEG" : "");
  if (x.images > 0)
    text += ", for " + fixed(1e6 * in_seconds(x.prepared) / static_cast<double>(x.images), 1)
            + " us each on the processors";
  for (const auto& [why, images] : x.on_cpu)
    text += "; " + with_commas(images) + " on the processors: " + why;
  return text;
}

std::string device_text(const device_stats& x) {
  return readable_bytes(x.bytes) + " copied from " + (x.is_pinned ? "pinned" : "unpinned")
         + " memory; " + with_commas(x.waits) + " of " + with_commas(x.batches)
         + " batches were waited for";
}

} // namespace leat::command
