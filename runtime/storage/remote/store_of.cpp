#include "runtime/storage/remote/store_of.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/remote/byte_budget.hpp"
#include "runtime/storage/remote/google/google_service.hpp"
#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <strings.h>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace leat {

namespace {

[[noreturn]] void refuse_options(std::string got, std::string needed) {
  throw_error(errc::invalid_argument, "remote", std::move(got), std::move(needed));
}

/// What stands in the headers of requests, by their names in the options.
void refuse_control_characters(const remote_options& chosen) {
  for (const auto& [name, text] : std::initializer_list<std::pair<const char*, std::string_view>>{
           {"region", chosen.region},
           {"access_key", chosen.access_key},
           {"secret_key", chosen.secret_key.reveal()},
           {"session_token", chosen.session_token.reveal()},
           {"token", chosen.token.reveal()}})
    if (has_control_character(text))
      refuse_options(std::string{name} + " with a control character in it",
                     "one line, without the line end");
}

/// Reads what is not chosen anew for each opening.
s3_store::settings_reader settings_with(const remote_options& chosen) {
  refuse_control_characters(chosen);
  if (chosen.access_key.empty() != chosen.secret_key.is_empty())
    refuse_options("only one half of a pair of keys", "access_key and secret_key, or neither");
  if (chosen.access_key.empty() && !chosen.session_token.is_empty())
    refuse_options("a session token without keys", "the keys that it belongs to");
  if (chosen.anonymous
      && (!chosen.access_key.empty() || !chosen.profile.empty() || !chosen.token.is_empty()))
    refuse_options("anonymous requests, and keys, a token or a profile", "one of them");
  if (chosen.anonymous && chosen.requester_pays)
    refuse_options("anonymous requests for which the requester pays", "one of them");
  (void)checked_endpoint(chosen.endpoint, false, "remote");
  return [shared = std::make_shared<const remote_options>(chosen)] {
    return process_aws_settings(*shared);
  };
}

/// What is chosen is checked now, and stays; the environment is read anew for each opening.
remote_store::cache_reader cache_with(const remote_options& chosen) {
  if (chosen.cache.empty() && chosen.cache_bytes == 0)
    return [] { return process_cache_settings({}); };
  return [settings = process_cache_settings(chosen)] { return settings; };
}

[[noreturn]] void refuse_scheme(const std::string& name, const std::string& stage) {
  throw_file_error(errc::invalid_argument, stage, without_secrets(name),
                   "a name with \"://\" that names no server that leat reads from",
                   "s3://, gs://, hf://, https:// or http://, or \"./\" before the name of a file");
}

s3_store::service_reader google_reader(const remote_options& chosen, google_access to) {
  return [shared = std::make_shared<const remote_options>(chosen), to] {
    return process_google_service(*shared, to);
  };
}

} // namespace

store_set::store_set(const remote_options& how, use_of_cache cache)
    : store_set(how, cache == use_of_cache::none ? nullptr : cache_with(how)) {}

store_set::store_set(const remote_options& how, const remote_store::cache_reader& cache)
    : web_(cache), s3_(settings_with(how), nullptr, cache),
      google_(google_reader(how, google_access::read), nullptr, cache,
              google_reader(how, google_access::write)),
      hub_([chosen = std::make_shared<const remote_options>(
                how)] { return process_hub_service(*chosen); },
           nullptr, cache) {
  if (how.bytes_in_flight > 0)
    process_read_ahead().set_limit(how.bytes_in_flight);
}

const object_store& store_set::of(std::string_view name) const {
  const std::string scheme{scheme_of(name)};
  for (const char* web : {"http", "https"})
    if (::strcasecmp(scheme.c_str(), web) == 0)
      return web_;
  if (scheme == "s3" || scheme == "s3a")
    return s3_;
  if (scheme == "gs" || scheme == "gcs")
    return google_;
  if (scheme == "hf")
    return hub_;
  return local_store();
}

const std::shared_ptr<const store_set>& process_stores() {
  static const std::shared_ptr<const store_set> stores =
      std::make_shared<const store_set>(remote_options{});
  return stores;
}

std::shared_ptr<const store_set> chosen_stores(const remote_options& how) {
  const bool is_any = !how.endpoint.empty() || !how.region.empty() || !how.profile.empty()
                      || how.anonymous || how.requester_pays || !how.access_key.empty()
                      || !how.secret_key.is_empty() || !how.session_token.is_empty()
                      || !how.token.is_empty() || how.bucket_in != bucket_place::automatic
                      || how.bytes_in_flight > 0 || !how.cache.empty() || how.cache_bytes > 0;
  return is_any ? std::make_shared<const store_set>(how) : nullptr;
}

void check_index_place(const std::string& name, const std::string& stage) {
  const auto& store = store_of(name);
  if (store.is_near() && !scheme_of(name).empty())
    refuse_scheme(name, stage);
  (void)store.full_name(name);
}

const object_store& store_of(std::string_view name, const store_set& in) {
  return in.of(name);
}

std::shared_ptr<stored_objects> open_named(std::vector<std::string> names, const std::string& stage,
                                           const store_set& in) {
  const auto& store = names.empty() ? local_store() : in.of(names.front());
  for (auto& x : names) {
    if (&in.of(x) != &store)
      throw_file_error(errc::invalid_argument, stage, without_secrets(x),
                       "a file elsewhere than the first one", one_store);
    if (store.is_near() && !scheme_of(x).empty())
      refuse_scheme(x, stage);
    x = store.full_name(x);
  }
  return store.open(std::move(names));
}

} // namespace leat
