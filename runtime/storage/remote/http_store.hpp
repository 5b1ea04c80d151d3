#pragma once

#include "runtime/storage/remote/remote_store.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Objects of web servers, by their addresses: "https://host/path" and "http://host/path". A server
/// must answer requests for ranges; nothing is listed, since HTTP has no way to.
class http_store final : public remote_store {
public:
  /// With the requests of the process.
  explicit http_store(cache_reader cache) : http_store(nullptr, std::move(cache)) {}
  /// With requests of its own.
  explicit http_store(const transfer_settings& how, cache_settings cache = {})
      : http_store(std::make_shared<transfer_pool>(how),
                   [cache = std::move(cache)] { return cache; }) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  std::string full_name(const std::string& name) const override;
  asked_server server_of(const std::string& name) const override;
  bool can_list() const noexcept override { return false; }

private:
  http_store(std::shared_ptr<transfer_pool> pool, cache_reader cache)
      : remote_store(std::move(pool), std::move(cache)) {}
};

} // namespace leat
