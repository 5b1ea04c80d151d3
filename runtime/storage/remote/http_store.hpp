#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/transfers.hpp"

#include <memory>
#include <string>
#include <vector>

namespace leat {

/// Objects of web servers, by their addresses: "https://host/path" and "http://host/path". A server
/// must answer requests for ranges; nothing is listed, since HTTP has no way to.
class http_store final : public object_store {
public:
  explicit http_store(const transfer_settings& how = {}) : how_(how) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  std::string full_name(const std::string& name) const override;

  /// The requests of all objects that are open now; they end with the last of these.
  std::shared_ptr<transfers> open_transfers() const;

private:
  const transfer_settings how_;
  mutable mutex mutex_;
  mutable std::weak_ptr<transfers> open_ LEAT_GUARDED_BY(mutex_);
};

/// The one of this process.
const http_store& web_store();

} // namespace leat
