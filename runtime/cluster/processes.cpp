#include "runtime/cluster/processes.hpp"

#include "runtime/base/xxh3.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/error.hpp>

#include <map>
#include <utility>

namespace leat {

namespace {

std::string difference_text(const std::string& name, const std::string& first,
                            const std::string& x) {
  return name + ": \"" + first + "\" there, \"" + x + "\" here";
}

using named_values = std::map<std::string, std::string>;

std::string value_of(const named_values& x, const std::string& name) {
  const auto found = x.find(name);
  return found == x.end() ? "not set" : found->second;
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
  if (const auto newest = newest_.find(number_of(x.who)); newest != newest_.end())
    remove(all_.find(newest->second));
  newest_[number_of(x.who)] = from;
  auto& process = all_[from];
  process.connection = from;
  process.hello = x;
  process.work = work_of(x);
  process.example = example_of(process.work, x);
  process.heard = process.wants_since = now;
  auto& own = process.hello;
  std::exchange(own.token, {}); // these give their memory back
  std::exchange(own.pipeline, {});
  std::exchange(own.options, {});
  return process;
}

std::shared_ptr<const cluster_hello> cluster_processes::example_of(const hash128& work,
                                                                   const cluster_hello& x) {
  const std::pair key{work.high, work.low};
  if (const auto known = examples_.find(key); known != examples_.end())
    if (auto found = known->second.lock())
      return found;
  std::erase_if(examples_, [](const auto& one) { return one.second.expired(); });
  auto made = std::make_shared<cluster_hello>(x);
  std::exchange(made->token, {});
  examples_[key] = made;
  return made;
}

cluster_process* cluster_processes::find(source_id from) {
  const auto found = all_.find(from);
  return found == all_.end() ? nullptr : &found->second;
}

const cluster_process* cluster_processes::find(const incarnation& who) const {
  const auto newest = newest_.find(number_of(who));
  if (newest == newest_.end())
    return nullptr;
  return &all_.at(newest->second);
}

void cluster_processes::forget(source_id x) {
  if (const auto found = all_.find(x); found != all_.end())
    remove(found);
}

cluster_processes::table::iterator cluster_processes::remove(table::iterator x) {
  newest_.erase(number_of(x->second.hello.who));
  return all_.erase(x);
}

std::map<std::string, std::string> comparable(const cluster_hello& x) {
  const auto text = [](std::uint64_t n) { return std::to_string(n); };
  named_values all{x.options.begin(), x.options.end()};
  const auto& rules = x.rules;
  all["ranks"] = rules.is_elastic() ? text(rules.least_ranks) + " to " + text(rules.most_ranks)
                                    : text(rules.world_size);
  all["on_rank_loss"] =
      rules.comes_back_alone ? "alone, " + text(rules.run_ahead) + " batches ahead" : "back";
  all["beat"] = text(x.beat_ns / 1'000'000) + " ms";
  return all;
}

hash128 work_of(const cluster_hello& x) {
  hash_stream hash;
  hash.add(x.version);
  hash.add(std::uint64_t{x.rank.has_value()});
  for (const auto& [name, value] : comparable(x)) {
    hash.add(name);
    hash.add(value);
  }
  hash.add(x.pipeline);
  return hash.digest128();
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
  const auto there = comparable(first);
  const auto here = comparable(x);
  for (const auto& [name, value] : here)
    if (value_of(there, name) != value)
      all.push_back(difference_text(name, value_of(there, name), value));
  for (const auto& [name, value] : there)
    if (!here.contains(name))
      all.push_back(difference_text(name, value, "not set"));
  return all;
}

} // namespace leat
