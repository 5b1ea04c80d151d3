#include "runtime/storage/remote/aws/s3_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/aws/s3_address.hpp"
#include "runtime/storage/remote/aws/s3_listing.hpp"
#include "runtime/storage/remote/aws/s3_signer.hpp"
#include "runtime/storage/remote/object_writer.hpp"
#include "runtime/storage/remote/page_turner.hpp"
#include "runtime/storage/remote/remote_objects.hpp"
#include "runtime/storage/remote/whole_answer.hpp"

namespace leat {

namespace {

/// A page has at most 1,000 names of 1,024 bytes.
constexpr std::size_t most_of_page = std::size_t{8} << 20;

/// A bucket, and who asks for what is in it.
class open_buckets {
public:
  explicit open_buckets(bucket_service x) : service_(std::move(x)) {}

  std::shared_ptr<remote_object> object(const std::string& name, const std::string& stage) const {
    const s3_address at{name, stage};
    if (at.key().empty() || at.key().ends_with('/'))
      throw_file_error(errc::invalid_argument, stage, name, "a folder of objects",
                       "s3://BUCKET/KEY of one object, or a pattern: s3://BUCKET/train/*.tar");
    return std::make_shared<remote_object>(at.name(), at.place(service_.at), at.url(service_.at),
                                           service_.signer);
  }
  std::shared_ptr<remote_object> page(const s3_address& folder, const std::string& query) const {
    return std::make_shared<remote_object>(folder.name(), folder.place(service_.at),
                                           folder.url(service_.at, query), service_.signer);
  }

private:
  bucket_service service_;
};

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
  folder_pages(s3_address folder, bucket_service by, std::shared_ptr<range_fetcher> over)
      : folder_(std::move(folder)), buckets_(std::move(by)), over_(std::move(over)),
        turner_(folder_.name()) {}

  const s3_address& folder() const noexcept { return folder_; }
  bool has_next() const noexcept { return is_first_ || !next_.empty(); }
  std::vector<listed_object> next() {
    const auto prefix = prefix_of(folder_);
    auto page = read_s3_page(
        ask_whole(*over_, buckets_.page(folder_, s3_page_query(prefix, next_)), most_of_page).body,
        prefix, folder_.name());
    is_first_ = false;
    next_ = turner_.turn(next_, std::move(page.next));
    return std::move(page.entries);
  }

private:
  s3_address folder_;
  open_buckets buckets_;
  std::shared_ptr<range_fetcher> over_;
  page_turner turner_;
  bool is_first_ = true;
  std::string next_;
};

} // namespace

s3_store::s3_store(settings_reader settings, transfer_pool* pool, cache_reader cache)
    : remote_store(pool, std::move(cache)), service_([settings = std::move(settings)] {
        auto at = settings();
        auto keeper = at.credentials || !at.issuer ? nullptr : keeper_for(*at.issuer);
        auto signer = std::make_shared<s3_signer>(at, std::move(keeper));
        return bucket_service{std::move(at), std::move(signer)};
      }) {}

void s3_store::list(const std::string& folder,
                    const std::function<void(listed_object)>& each) const {
  folder_pages pages{{folder, "list"}, service_(), open_requests()};
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
  folder_pages pages{{name, "stat"}, service_(), open_requests()};
  if (const auto& key = pages.folder().key(); !key.empty() && !key.ends_with('/'))
    if (const auto found = find_object(name))
      return *found;
  while (pages.has_next()) // one with nothing but the folder's own marker may come first
    if (!pages.next().empty())
      return {.is = object_kind::folder};
  refuse_empty(pages.folder());
}

std::shared_ptr<stored_objects> s3_store::open(std::vector<std::string> names, read_pattern) const {
  const open_buckets buckets{service_()};
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
      [buckets = open_buckets{service_()}](const std::string& name, const std::string& of) {
        return buckets.object(name, of);
      },
      open_transfers());
}

void s3_store::put(const std::string& name, std::span<const std::byte> bytes) const {
  const s3_address at{name, "put"};
  if (at.key().empty() || at.key().ends_with('/'))
    throw_file_error(errc::invalid_argument, "put", at.name(), "the name of a folder",
                     "s3://BUCKET/KEY of one object");
  const auto by = writing_ ? writing_() : service_();
  put_object({.name = at.name(), .url = at.url(by.at), .signer = by.signer.get()}, bytes,
             settings());
}

asked_server s3_store::server_of(const std::string& name) const {
  const auto by = service_();
  return {.place = s3_address{name, "open"}.place(by.at), .by = by.signer->who()};
}

std::string s3_store::full_name(const std::string& name) const {
  return s3_address{name, "open"}.name();
}

} // namespace leat
