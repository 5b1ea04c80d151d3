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
    if (at.key().empty() || at.key().ends_with('/'))
      throw_file_error(errc::invalid_argument, stage, name, "a folder of objects",
                       "s3://BUCKET/KEY of one object, or a pattern: s3://BUCKET/train/*.tar");
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
  // Shared: the caller may be awake before the thread that wakes it is done with it.
  const auto end = std::make_shared<std::promise<std::shared_ptr<const error>>>();
  auto result = end->get_future();
  by.begin(
      std::make_shared<range_fetch>(std::move(asked), body, most_of_page,
                                    [end](read_result x) { end->set_value(std::move(x.failure)); }),
      std::stop_token{});
  if (const auto failure = result.get())
    throw error(*failure);
  return body;
}

/// The folder's own name as a prefix of keys.
std::string prefix_of(const s3_address& folder) {
  const auto& key = folder.key();
  return key.empty() || key.ends_with('/') ? key : key + "/";
}

[[noreturn]] void refuse_empty(const s3_address& folder) {
  throw_file_error(errc::not_found, "list", folder.name(), "a folder without objects",
                   "the name of a folder, or of a bucket, that has some");
}

/// The pages of a folder's entries, one after the other.
class folder_pages {
public:
  folder_pages(s3_address folder, aws_settings by, std::shared_ptr<transfers> over)
      : folder_(std::move(folder)), buckets_(std::move(by)), over_(std::move(over)) {}

  const s3_address& folder() const noexcept { return folder_; }
  bool has_next() const noexcept { return is_first_ || !next_.empty(); }
  std::vector<listed_object> next() {
    const auto prefix = prefix_of(folder_);
    auto page =
        read_s3_page(answer_of(*over_, buckets_.page(folder_, s3_page_query(prefix, next_))),
                     prefix, folder_.name());
    is_first_ = false;
    next_ = std::move(page.next);
    return std::move(page.entries);
  }

private:
  s3_address folder_;
  open_buckets buckets_;
  std::shared_ptr<transfers> over_;
  bool is_first_ = true;
  std::string next_;
};

} // namespace

void s3_store::list(const std::string& folder,
                    const std::function<void(listed_object)>& each) const {
  folder_pages pages{{folder, "list"}, settings_(), open_transfers()};
  bool is_empty = true;
  while (pages.has_next())
    for (auto& x : pages.next()) {
      each(std::move(x));
      is_empty = false;
    }
  if (is_empty)
    refuse_empty(pages.folder());
}

object_stat s3_store::stat(const std::string& name) const {
  folder_pages pages{{name, "stat"}, settings_(), open_transfers()};
  if (const auto& key = pages.folder().key(); !key.empty() && !key.ends_with('/'))
    try {
      return {.is = object_kind::plain, .version = open({name}, read_pattern::normal)->stat(0)};
    } catch (const error& x) {
      if (x.code() != errc::not_found)
        throw;
    }
  while (pages.has_next()) // one with nothing but the folder's own marker may come first
    if (!pages.next().empty())
      return {.is = object_kind::folder};
  refuse_empty(pages.folder());
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
