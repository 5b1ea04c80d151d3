#pragma once

#include "runtime/cluster/descriptor_reserve.hpp"
#include "runtime/cluster/state_directory.hpp"

#include <filesystem>

namespace leat {

/// A state directory of files, on a file system that all hosts share. Made by the first life, for
/// its user only (0700, files 0600); one that everybody may write to is refused, one that its group
/// may write to gets a notice. The file system must have hard links. Whoever begins a life keeps
/// some descriptors from then on, with which all calls still work when the process has no more: its
/// leases end with the directory's last answer.
class file_state_directory final : public state_directory {
public:
  explicit file_state_directory(std::filesystem::path directory);

  std::string name() const override { return directory_.string(); }

protected:
  void prepare() override;
  void refresh() override;
  std::vector<std::string> list() override;
  bool create(const std::string& file, const std::string& text) override;
  void replace(const std::string& file, const std::string& text) override;
  std::optional<std::string> read(const std::string& file) override;
  void remove(const std::string& file) override;

private:
  std::filesystem::path directory_;
  descriptor_reserve reserve_;
};

} // namespace leat
