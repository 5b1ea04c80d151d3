#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"

#include <memory>
#include <string>
#include <vector>

namespace leat {

/// Objects of web servers, by their addresses: "https://host/path" and "http://host/path". A server
/// must answer requests for ranges; nothing is listed, since HTTP has no way to.
class http_store final : public object_store {
public:
  /// With the requests of the process.
  http_store() = default;
  /// With requests of its own.
  explicit http_store(const transfer_settings& how) : pool_(std::make_unique<transfer_pool>(how)) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  std::string full_name(const std::string& name) const override;
  bool can_list() const noexcept override { return false; }

  /// What makes the requests.
  std::shared_ptr<transfers> open_transfers() const {
    return (pool_ ? *pool_ : process_transfers()).open();
  }

private:
  const std::unique_ptr<transfer_pool> pool_;
};

/// The one of this process.
const http_store& web_store();

} // namespace leat
