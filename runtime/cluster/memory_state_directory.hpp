#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/state_directory.hpp"

#include <map>

namespace leat {

/// A state directory for clusters that have none, where the job ends with its coordinator, and for
/// simulations. All coordinators that share it hold the same object.
class memory_state_directory : public state_directory {
public:
  std::string name() const override { return "memory"; }

protected:
  void prepare() override {}
  void refresh() override {}
  std::vector<std::string> list() override;
  bool create(const std::string& file, const std::string& text) override;
  void replace(const std::string& file, const std::string& text) override;
  std::optional<std::string> read(const std::string& file) override;
  void remove(const std::string& file) override;

private:
  mutex mutex_;
  std::map<std::string, std::string> files_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
