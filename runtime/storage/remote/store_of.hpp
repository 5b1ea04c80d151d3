#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/aws/s3_store.hpp"
#include "runtime/storage/remote/http_store.hpp"
#include "runtime/storage/remote/hub/hub_store.hpp"

#include <leat/remote_options.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Whether what is fetched is kept.
enum class use_of_cache : std::uint8_t {
  /// Where the options say, or the environment.
  as_chosen,
  /// What is measured are the servers.
  none,
};

/// The stores that names belong to, whose servers are asked with the same options. Any thread.
class store_set : not_copied {
public:
  /// Throws `errc::invalid_argument` for options that contradict each other.
  explicit store_set(const remote_options& how, use_of_cache cache = use_of_cache::as_chosen);

  /// By the scheme of the name: "https://" and "http://" for web servers, "s3://" and "s3a://",
  /// "gs://" and "gcs://", "hf://"; all other names are paths of this machine.
  const object_store& of(std::string_view name) const;

private:
  store_set(const remote_options& how, const remote_store::cache_reader& cache);

  const http_store web_;
  const s3_store s3_;
  const s3_store google_;
  const hub_store hub_;
};

/// Those of this process, with the options of its environment.
const std::shared_ptr<const store_set>& process_stores();

/// Stores with these options; null if they are all as they were, so that others may be chosen
/// later. Throws as the constructor.
std::shared_ptr<const store_set> chosen_stores(const remote_options& how);

/// The store that a name belongs to.
const object_store& store_of(std::string_view name, const store_set& in = *process_stores());

/// Whether anything can be read at this place: throws `errc::invalid_argument`, with this `stage`,
/// for an address that leat does not know, or that has secrets in it.
void check_index_place(const std::string& name, const std::string& stage);

/// For errors: what was needed where names belong to several stores.
inline constexpr auto one_store =
    "files of one store: of this machine, of web servers, of S3, of Google's or of the Hub's";

/// Opens objects by their names, which belong to one store. Throws `errc::invalid_argument`
/// otherwise, with this `stage`, and what the store throws.
std::shared_ptr<stored_objects> open_named(std::vector<std::string> names, const std::string& stage,
                                           const store_set& in = *process_stores());

} // namespace leat
