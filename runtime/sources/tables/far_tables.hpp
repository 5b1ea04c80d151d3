#pragma once

#include "runtime/storage/object_store.hpp"

#include <leat/tables.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// The files of a source that are not on this machine. Asks for all of their versions at a time,
/// and fetches their ends, where such files say what they hold.
class far_tables {
public:
  /// Waits for the versions. Throws `errc::not_found`, `errc::io`.
  far_tables(const object_store& store, const std::vector<std::string>& paths);
  ~far_tables();

  const far_table& at(std::size_t file) const;
  /// Their bytes. What is expected of them is read once, however often that is said before.
  stored_objects& objects() const noexcept { return *objects_; }
  /// All are open: ends that nobody has read, since a reader knew them, take no memory any more.
  void drop_ends() noexcept;
  stored_versions versions() const;

private:
  class table;

  std::shared_ptr<stored_objects> objects_;
  std::vector<std::unique_ptr<const table>> all_;
};

} // namespace leat
