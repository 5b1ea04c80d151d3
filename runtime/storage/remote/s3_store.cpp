#include "runtime/storage/remote/s3_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/remote_objects.hpp"
#include "runtime/storage/remote/s3_address.hpp"
#include "runtime/storage/remote/s3_listing.hpp"
#include "runtime/storage/remote/s3_signer.hpp"

#include <unistd.h>

#include <future>
#include <map>
#include <stop_token>

namespace leat {

namespace {

/// A page has at most 1,000 names of 1,024 bytes.
constexpr std::size_t most_of_page = std::size_t{8} << 20;

/// That of the process for this source, since many may be opened at the same time. Null if nothing
/// is issued.
std::shared_ptr<aws_keeper> keeper_of(const aws_settings& x) {
  static mutex guard;
  static std::map<std::string, std::weak_ptr<aws_keeper>> known;
  if (x.credentials || !x.issuer)
    return {};
  const mutex_lock lock{guard};
  // A child after a fork has none of the threads that renew.
  auto& place = known[std::to_string(::getpid()) + " " + x.issuer->key];
  auto keeper = place.lock();
  if (keeper)
    return keeper;
  try {
    keeper = std::make_shared<aws_keeper>(*x.issuer);
  } catch (const error&) {
    if (!x.issuer->may_be_missing)
      throw;
    return {}; // a machine elsewhere: requests are not signed
  }
  place = keeper;
  return keeper;
}

/// A bucket, and who asks for what is in it.
class open_buckets {
public:
  explicit open_buckets(aws_settings x)
      : settings_(std::move(x)),
        signer_(std::make_shared<s3_signer>(settings_, keeper_of(settings_))) {}

  std::shared_ptr<remote_object> object(const std::string& name, const std::string& stage) const {
    const s3_address at{name, stage};
    return std::make_shared<remote_object>(name, at.place(settings_), at.url(settings_), signer_);
  }
  std::shared_ptr<remote_object> page(const s3_address& folder, const std::string& query) const {
    return std::make_shared<remote_object>(folder.name(), folder.place(settings_),
                                           folder.url(settings_, query), signer_);
  }

private:
  aws_settings settings_;
  std::shared_ptr<s3_signer> signer_;
};

/// Waits for the body of the answer.
std::string answer_of(transfers& by, std::shared_ptr<remote_object> asked) {
  std::string body;
  std::promise<std::shared_ptr<const error>> end;
  by.begin(
      std::make_shared<range_fetch>(std::move(asked), body, most_of_page,
                                    [&](read_result x) { end.set_value(std::move(x.failure)); }),
      std::stop_token{});
  if (const auto failure = end.get_future().get())
    throw error(*failure);
  return body;
}

/// The folder's own name as a prefix of keys.
std::string prefix_of(const s3_address& folder) {
  const auto& key = folder.key();
  return key.empty() || key.ends_with('/') ? key : key + "/";
}

} // namespace

void s3_store::list(const std::string& folder,
                    const std::function<void(listed_object)>& each) const {
  const s3_address at{folder, "list"};
  const open_buckets buckets{settings_()};
  const auto by = open_transfers();
  const auto prefix = prefix_of(at);
  std::string next;
  bool is_empty = true;
  do {
    auto page = read_s3_page(answer_of(*by, buckets.page(at, s3_page_query(prefix, next))), prefix,
                             at.name());
    is_empty = is_empty && page.entries.empty();
    for (auto& x : page.entries)
      each(std::move(x));
    next = std::move(page.next);
  } while (!next.empty());
  if (is_empty)
    throw_file_error(errc::not_found, "list", at.name(), "a folder without objects",
                     "the name of a folder, or of a bucket, that has some");
}

object_stat s3_store::stat(const std::string& name) const try {
  return {.is = object_kind::plain, .version = open({name}, read_pattern::normal)->stat(0)};
} catch (const error& x) {
  if (x.code() != errc::not_found)
    throw;
  list(name, [](const listed_object&) {}); // throws if that is not found either
  return {.is = object_kind::folder};
}

std::shared_ptr<stored_objects> s3_store::open(std::vector<std::string> names, read_pattern) const {
  const open_buckets buckets{settings_()};
  std::vector<std::shared_ptr<remote_object>> objects;
  objects.reserve(names.size());
  for (const auto& x : names)
    objects.push_back(buckets.object(x, "read"));
  return open_remote_objects(std::move(objects), open_transfers());
}

std::shared_ptr<stored_objects> s3_store::open(std::shared_ptr<const object_names> names,
                                               std::string stage) const {
  return open_listed_objects(
      std::move(names), std::move(stage),
      [buckets = open_buckets{settings_()}](const std::string& name, const std::string& of) {
        return buckets.object(name, of);
      },
      open_transfers());
}

std::string s3_store::full_name(const std::string& name) const {
  return s3_address{name, "open"}.name();
}

const s3_store& process_s3_store() {
  static const s3_store store{process_aws_settings};
  return store;
}

} // namespace leat
