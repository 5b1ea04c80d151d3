#pragma once

#include "runtime/storage/remote/hub/hub_service.hpp"
#include "runtime/storage/remote/remote_store.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class hub_commits;

/// Files of data sets of the Hub, by their names: "hf://datasets/ORG/NAME@REVISION/PATH". What a
/// branch or tag refers to is asked for once, and stays the same for as long as the process lives.
class hub_store final : public remote_store {
public:
  using service_reader = std::function<hub_service()>;

  /// See remote_store; with a `pool`, what branches refer to is asked anew, too.
  explicit hub_store(service_reader service, transfer_pool* pool = nullptr,
                     cache_reader cache = {});
  ~hub_store() override;

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override;
  object_stat stat(const std::string& name) const override;
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override;
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override;
  std::string full_name(const std::string& name) const override;
  asked_server server_of(const std::string& name) const override;

private:
  const service_reader service_;
  /// What is open may outlive this.
  const std::shared_ptr<hub_commits> commits_;
};

} // namespace leat
