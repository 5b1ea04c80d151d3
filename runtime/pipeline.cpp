#include "runtime/order.hpp"

#include <leat/pipeline.hpp>

#include <mutex>
#include <utility>

namespace leat {

struct pipeline::opened {
  std::mutex mutex;
  std::shared_ptr<const leat::source> data;
};

namespace {

std::string_view to_string(shuffle_kind x) noexcept {
  switch (x) {
  case shuffle_kind::none:
    return "none";
  case shuffle_kind::full:
    return "full";
  case shuffle_kind::windowed:
    return "windowed";
  }
  return "unknown";
}

} // namespace

pipeline::pipeline(source_stage source)
    : source_(std::move(source)), opened_(std::make_shared<opened>()) {}

pipeline pipeline::shuffle(shuffle_options options) const {
  if (options.window == 0)
    throw error(errc::invalid_argument,
                {.stage = "shuffle.window", .got = "0", .needed = "at least 1"});
  auto result = *this;
  result.shuffle_ = options;
  return result;
}

pipeline pipeline::map(map_stage stage) const {
  auto version = stage.name.rfind('@');
  if (version == 0 || version == std::string::npos || version + 1 == stage.name.size())
    throw error(errc::invalid_argument, {.stage = "map",
                                         .got = '"' + stage.name + '"',
                                         .needed = "a name with a version: \"label@1\""});
  if (!stage.make)
    throw error(errc::invalid_argument,
                {.stage = stage.name, .got = "no function", .needed = "a function"});
  auto result = *this;
  result.maps_.push_back(std::move(stage));
  return result;
}

pipeline pipeline::map(std::string name, map_function function) const {
  if (!function)
    throw error(errc::invalid_argument,
                {.stage = name, .got = "no function", .needed = "a function"});
  return map(map_stage{std::move(name), {}, [f = std::move(function)] { return f; }});
}

pipeline pipeline::batch(std::uint64_t rows, batch_options options) const {
  if (rows == 0)
    throw error(errc::invalid_argument,
                {.stage = "batch", .got = "0 rows", .needed = "at least 1"});
  if (options.lanes != 0 && rows % options.lanes != 0)
    throw error(errc::invalid_argument,
                {.stage = "batch.lanes",
                 .got = std::to_string(options.lanes),
                 .needed = "a divisor of the global batch of " + std::to_string(rows) + " rows"});
  auto result = *this;
  result.batch_rows_ = rows;
  result.batch_ = std::move(options);
  return result;
}

std::shared_ptr<const leat::source> pipeline::shared_data() const {
  std::lock_guard lock{opened_->mutex};
  if (!opened_->data)
    opened_->data = source_.open();
  return opened_->data;
}

const leat::source& pipeline::data() const {
  return *shared_data();
}

std::uint64_t pipeline::size() const {
  return data().size();
}

std::uint64_t pipeline::batches_per_epoch() const {
  if (batch_rows_ == 0)
    throw error(errc::invalid_argument,
                {.stage = "pipeline", .got = "no batch()", .needed = "batch(rows) as last call"});
  auto full = size() / batch_rows_;
  return full + (batch_.end == epoch_end::mask && size() % batch_rows_ != 0 ? 1 : 0);
}

std::string to_string(const pipeline& x) {
  std::string text = x.source_.kind;
  for (const auto& pattern : x.source_.patterns)
    text += " " + pattern;
  for (const auto& [name, value] : x.source_.parameters)
    text += " " + name + "=" + value;
  text += "\nshuffle " + std::string{to_string(x.shuffle_.kind)}
          + " seed=" + std::to_string(x.shuffle_.seed);
  if (x.shuffle_.kind == shuffle_kind::windowed)
    text += " window=" + std::to_string(x.shuffle_.window);
  for (const auto& stage : x.maps_)
    text += "\nmap " + stage.name + (stage.parameters.empty() ? "" : " " + stage.parameters);
  text += "\nbatch " + std::to_string(x.batch_rows_) + " lanes=" + std::to_string(x.batch_.lanes)
          + " end=" + (x.batch_.end == epoch_end::drop ? "drop" : "mask");
  for (const auto& field : x.batch_.fields)
    text += " " + field;
  return text + "\n";
}

bool operator==(const pipeline& a, const pipeline& b) {
  return to_string(a) == to_string(b);
}

} // namespace leat
