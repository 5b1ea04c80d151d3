#include "runtime/storage/remote/hub/hub_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/hub/hub_address.hpp"
#include "runtime/storage/remote/hub/hub_answers.hpp"
#include "runtime/storage/remote/page_turner.hpp"
#include "runtime/storage/remote/remote_objects.hpp"
#include "runtime/storage/remote/whole_answer.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace leat {

namespace {

/// A page has at most 1,000 files.
constexpr std::size_t most_of_hub_page = std::size_t{8} << 20;

std::shared_ptr<remote_object> question(const hub_address& about, std::string url,
                                        const hub_service& by) {
  return std::make_shared<remote_object>(about.name(), by.endpoint, std::move(url), by.signer);
}

/// Where another page is: never at another server, to which a list may lead that a mirror gives.
std::string page_at(const std::string& endpoint, std::string url) {
  if (url.empty() || url.starts_with(endpoint + "/"))
    return url;
  const auto host = url.find("://");
  const auto path = host == std::string::npos ? 0 : std::min(url.find('/', host + 3), url.size());
  return endpoint + url.substr(path);
}

} // namespace

/// What branches and tags refer to, from the first question on.
class hub_commits : not_copied {
public:
  std::string of(const hub_address& x, const hub_service& by, range_fetcher& over) {
    if (x.has_commit())
      return x.revision();
    const auto key = by.endpoint + " " + x.data_set() + "@" + x.revision();
    {
      const mutex_lock lock{mutex_};
      if (const auto at = commits_.find(key); at != commits_.end())
        return at->second;
    }
    const auto answer =
        ask_whole(over, question(x, x.facts_url(by.endpoint), by), most_of_hub_page);
    auto commit = commit_in_facts(answer.body, x.name());
    const mutex_lock lock{mutex_};
    return commits_.try_emplace(key, std::move(commit)).first->second; // the first one counts
  }

  std::shared_ptr<remote_object> object(const std::string& name, const std::string& stage,
                                        const hub_service& by, range_fetcher& over) {
    const hub_address at{name, stage};
    if (at.path().empty())
      throw_file_error(errc::invalid_argument, stage, name, "all of a data set",
                       "one file of it, or a pattern: hf://datasets/ORG/NAME/data/*.tar");
    return question(at, at.file_url(by.endpoint, of(at, by, over)), by);
  }

private:
  mutex mutex_;
  std::map<std::string, std::string> commits_ LEAT_GUARDED_BY(mutex_);
};

namespace {

/// Sources that are opened with options have stores of their own, and see the same files.
const std::shared_ptr<hub_commits>& process_commits() {
  static const auto commits = std::make_shared<hub_commits>();
  return commits;
}

} // namespace

hub_store::hub_store(service_reader service, transfer_pool* pool, cache_reader cache)
    : remote_store(pool, std::move(cache)), service_(std::move(service)),
      commits_(pool ? std::make_shared<hub_commits>() : process_commits()) {}

hub_store::~hub_store() = default;

void hub_store::list(const std::string& folder,
                     const std::function<void(listed_object)>& each) const {
  const hub_address at{folder, "list"};
  const auto by = service_();
  const auto over = open_requests();
  page_turner pages{at.name()};
  auto next = at.list_url(by.endpoint, commits_->of(at, by, *over));
  while (!next.empty()) {
    auto page = ask_whole(*over, question(at, next, by), most_of_hub_page);
    for (auto& x : entries_in_tree(page.body, at.path(), at.name()))
      each(std::move(x));
    next = pages.turn(next, page_at(by.endpoint, std::move(page.next)));
  }
}

object_stat hub_store::stat(const std::string& name) const {
  if (!hub_address{name, "stat"}.path().empty() && !name.ends_with('/'))
    if (const auto found = find_object(name))
      return *found;
  list(name, [](const listed_object&) {});
  return {.is = object_kind::folder};
}

std::shared_ptr<stored_objects> hub_store::open(std::vector<std::string> names,
                                                read_pattern) const {
  const auto by = service_();
  auto over = open_transfers();
  std::vector<std::shared_ptr<remote_object>> objects;
  objects.reserve(names.size());
  for (const auto& x : names)
    objects.push_back(commits_->object(x, "read", by, *over));
  return open_remote_objects(std::move(objects), std::move(over));
}

std::shared_ptr<stored_objects> hub_store::open(std::shared_ptr<const object_names> names,
                                                std::string stage) const {
  // The names were listed, so what their revision refers to is known: no request is made for it.
  auto over = open_transfers();
  return open_listed_objects(
      std::move(names), std::move(stage),
      [commits = commits_, by = service_(), over](const std::string& name, const std::string& of) {
        return commits->object(name, of, by, *over);
      },
      over);
}

asked_server hub_store::server_of(const std::string&) const {
  const auto by = service_();
  return {.place = by.endpoint, .by = by.signer->who()};
}

std::string hub_store::full_name(const std::string& name) const {
  return hub_address{name, "open"}.name();
}

} // namespace leat
