#include "runtime/cluster/processes.hpp"

#include "runtime/snapshot/snapshot.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

std::string difference_text(const std::string& name, const std::string& first,
                            const std::string& x) {
  return name + ": \"" + first + "\" there, \"" + x + "\" here";
}

std::string value_of(const cluster_hello& x, const std::string& name) {
  const auto found = std::find_if(x.options.begin(), x.options.end(),
                                  [&](const auto& option) { return option.first == name; });
  return found == x.options.end() ? "not set" : found->second;
}

void add_pipeline_differences(const cluster_hello& first, const cluster_hello& x,
                              std::vector<std::string>& to) {
  if (first.pipeline == x.pipeline)
    return;
  const auto before = to.size();
  for (const auto& part : compare(decode(first.pipeline, "the pipeline there"),
                                  decode(x.pipeline, "the pipeline here").pipeline))
    to.push_back(part.text);
  if (to.size() == before)
    to.emplace_back("pipeline: other bytes, with the same operators");
}

} // namespace

cluster_process& cluster_processes::add(source_id from, const cluster_hello& x, time now) {
  if (const auto old = all_.find(from); old != all_.end())
    remove(old);
  if (const auto newest = newest_.find({x.who.high, x.who.low}); newest != newest_.end())
    remove(all_.find(newest->second));
  newest_[{x.who.high, x.who.low}] = from;
  by_host_.emplace(host_of(x.process), from);
  return all_[from] = {.connection = from, .hello = x, .heard = now, .wants_since = now};
}

cluster_process* cluster_processes::find(source_id from) {
  const auto found = all_.find(from);
  return found == all_.end() ? nullptr : &found->second;
}

const cluster_process* cluster_processes::find(const incarnation& who) const {
  const auto newest = newest_.find({who.high, who.low});
  if (newest == newest_.end())
    return nullptr;
  return &all_.at(newest->second);
}

cluster_processes::table::iterator cluster_processes::remove(table::iterator x) {
  newest_.erase({x->second.hello.who.high, x->second.hello.who.low});
  auto [first, last] = by_host_.equal_range(host_of(x->second.hello.process));
  by_host_.erase(std::find_if(first, last, [&](const auto& y) { return y.second == x->first; }));
  return all_.erase(x);
}

cluster_processes::neighbours cluster_processes::neighbours_of(const cluster_process& x) const {
  neighbours all;
  const auto [first, last] = by_host_.equal_range(host_of(x.hello.process));
  for (auto other = first; other != last; ++other)
    if (const auto& hello = all_.at(other->second).hello; other->second != x.connection)
      all.emplace_back(hello.who, hello.process);
  return all;
}

std::vector<std::string> differences(const cluster_hello& first, const cluster_hello& x) {
  std::vector<std::string> all;
  if (first.version != x.version)
    all.push_back(difference_text("version of leat", first.version, x.version));
  if (first.rank.has_value() != x.rank.has_value())
    all.push_back(difference_text("ranks", first.rank ? "given by the launcher" : "elastic",
                                  x.rank ? "given by the launcher" : "elastic"));
  try {
    add_pipeline_differences(first, x, all);
  } catch (const error& problem) {
    all.emplace_back(problem.what());
  }
  for (const auto& [name, value] : x.options)
    if (value_of(first, name) != value)
      all.push_back(difference_text(name, value_of(first, name), value));
  for (const auto& [name, value] : first.options)
    if (value_of(x, name) == "not set" && value != "not set")
      all.push_back(difference_text(name, value, "not set"));
  return all;
}

} // namespace leat
