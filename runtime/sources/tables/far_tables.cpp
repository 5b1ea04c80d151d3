#include "runtime/sources/tables/far_tables.hpp"

#include "runtime/storage/read_now.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

namespace leat {

namespace {

/// Where a server names no version, nothing says that a file is as it was: another one each time.
std::string tag_of(const object_version& x) {
  static std::atomic<std::uint64_t> nameless{0};
  return x.tag.empty() ? std::to_string(++nameless) : x.tag;
}

/// What readers look at first.
constexpr std::uint64_t end_bytes = std::uint64_t{64} << 10;

} // namespace

class far_tables::table final : public far_table {
public:
  table(stored_objects& in, std::size_t number)
      : in_(in), number_(number), name_(in.name(number)), is_(in.stat(number)),
        version_(in.place(number) + ' ' + std::to_string(is_.size) + ' ' + tag_of(is_)) {}

  const std::string& name() const noexcept override { return name_; }
  std::uint64_t size() const noexcept override { return is_.size; }
  const std::string& version() const noexcept override { return version_; }
  void read(std::span<const part> parts) const override {
    std::vector<read_part> all;
    all.reserve(parts.size());
    for (const auto& x : parts)
      all.push_back({.object = number_, .offset = x.offset, .into = x.into});
    read_now(in_, all);
  }

private:
  stored_objects& in_;
  const std::size_t number_;
  const std::string name_;
  const object_version is_;
  const std::string version_;
};

far_tables::far_tables(const object_store& store, const std::vector<std::string>& paths)
    : objects_(store.open(paths)) {
  objects_->expect_stats();
  std::vector<expected_range> ends;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    all_.push_back(std::make_unique<const table>(*objects_, i));
    const auto size = all_.back()->size();
    const auto end = std::min(size, end_bytes);
    ends.push_back({.object = i, .offset = size - end, .size = end});
  }
  objects_->expect_soon(ends);
}

far_tables::~far_tables() = default;

const far_table& far_tables::at(std::size_t file) const {
  return *all_[file];
}

void far_tables::drop_ends() noexcept {
  objects_->expect_nothing();
}

stored_versions far_tables::versions() const {
  return versions_of(*objects_, all_.size());
}

} // namespace leat
