#include "runtime/feeding/remote_feed.hpp"

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/source_access.hpp"

#include <algorithm>
#include <map>

namespace leat {

namespace {

/// To copy fewer bytes costs less than to keep them.
constexpr std::size_t least_borrowed = std::size_t{4} << 10;

/// A record that a sample borrows from.
class kept_record final : public payload {
public:
  explicit kept_record(fetched_records::content bytes) : bytes_(std::move(bytes)) {}

private:
  const fetched_records::content bytes_;
};

/// Copies a tree, and gives each of its feeds a station; and other sources that exist once, if
/// there are several processes.
class station_giver {
public:
  station_giver(const feed_station::settings& chosen, bool has_several_processes)
      : chosen_(chosen), has_several_processes_(has_several_processes) {}

  operator_ptr copy(const operator_node& x) {
    if (const auto found = copies_.find(&x); found != copies_.end())
      return found->second;
    auto made = x;
    for (auto& input : made.inputs)
      input = copy(*input);
    if (made.op == "feed")
      made.feed = served(made.get<std::string>("name"));
    else if (made.origin && has_several_processes_)
      made.feed = served(made);
    return copies_[&x] = std::make_shared<const operator_node>(std::move(made));
  }

  std::vector<std::shared_ptr<feed_station>> stations;
  std::vector<own_source> sources;

private:
  std::shared_ptr<lazy_live> served(const std::string& name) {
    auto& made = feeds_[name];
    if (!made)
      made = station("leat feed " + name + " --join ...", name, name);
    return made;
  }
  /// By rank 0's process.
  std::shared_ptr<lazy_live> served(const operator_node& x) {
    if (x.origin->journals > 1)
      (void)x.feed->get(); // throws
    const auto& title = x.origin->input->name();
    auto made = station("rank 0's process does, once it is there", title,
                        name_of_own_source(sources.size(), title));
    sources.push_back({stations.back(), x.origin});
    return made;
  }
  std::shared_ptr<lazy_live> station(std::string advice, const std::string& title,
                                     const std::string& name) {
    auto settings = chosen_;
    settings.advice = std::move(advice);
    stations.push_back(std::make_shared<feed_station>(name, std::move(settings)));
    std::shared_ptr<live_source> source = std::make_shared<remote_feed>(stations.back(), title);
    return std::make_shared<lazy_live>([source] { return source; });
  }

  const feed_station::settings& chosen_;
  const bool has_several_processes_;
  std::map<std::string, std::shared_ptr<lazy_live>> feeds_;
  std::map<const operator_node*, operator_ptr> copies_;
};

} // namespace

/// A large record is not copied: it stays as long as the sample does.
void remote_feed::read(std::uint64_t number, sample& into) const {
  auto record = at_->read(number);
  auto bytes = std::as_bytes(std::span{*record.content});
  into.count_read(bytes.size());
  if (bytes.size() >= least_borrowed) {
    source_access::keep_alive(into, std::make_shared<const kept_record>(std::move(record.content)));
  } else {
    const auto room = into.scratch(bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    bytes = room;
  }
  if (record.format == feed_format::samples)
    set_fields(into, bytes);
  else
    into.borrow("text", bytes);
}

void remote_feed::attend(std::uint64_t lanes, std::uint64_t rank, std::uint64_t world_size) {
  at_->attend({.lanes = lanes, .world_size = world_size, .rank = rank});
}

void remote_feed::release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t) {
  at_->release_below(number, lane);
}

hash128 remote_feed::stream() const {
  const auto served = at_->served();
  return served ? served->id : hash128{};
}

bool remote_feed::has_journal() const noexcept {
  const auto served = at_->served();
  return !served || served->has_journal;
}

fed_pipeline with_stations(const pipeline& x, const feed_station::settings& chosen,
                           bool has_several_processes) {
  station_giver giver{chosen, has_several_processes};
  auto root = giver.copy(x.root());
  return {pipeline{std::move(root)}, std::move(giver.stations), std::move(giver.sources)};
}

} // namespace leat
