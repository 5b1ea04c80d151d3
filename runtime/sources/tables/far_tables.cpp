#include "runtime/sources/tables/far_tables.hpp"

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/read_now.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
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

/// Rows that lie in one block expect the same bytes, which one of them reads for all.
class read_for_all final : public objects_over {
public:
  using objects_over::objects_over;

  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    note_read(parts);
    from().read(parts, std::move(done), stop);
  }
  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) override {
    note_read(parts);
    return from().read_here(parts, stop);
  }
  bool expect_soon(std::span<const expected_range> ranges) noexcept override {
    try {
      std::vector<expected_range> news;
      {
        const mutex_lock lock{mutex_};
        std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(news),
                     [&](const expected_range& x) LEAT_REQUIRES(mutex_) {
                       return expected_.try_emplace({x.object, x.offset}, x.size).second;
                     });
      }
      return news.empty() || from().expect_soon(news);
    } catch (...) { // no memory: the reads themselves will come
      return true;
    }
  }
  bool expect_perhaps(std::span<const expected_range> ranges) noexcept override {
    return from().expect_perhaps(ranges);
  }
  void expect_nothing() noexcept override {
    {
      const mutex_lock lock{mutex_};
      expected_.clear();
    }
    from().expect_nothing();
  }
  bool is_at_hand(const expected_range& x) noexcept override { return from().is_at_hand(x); }

private:
  /// What is expected from now on will be read once more.
  void note_read(std::span<const read_part> parts) noexcept {
    const mutex_lock lock{mutex_};
    for (const auto& x : parts) {
      auto at = expected_.upper_bound({x.object, x.offset});
      if (at == expected_.begin())
        continue;
      --at;
      if (at->first.first == x.object && x.offset < at->first.second + at->second)
        expected_.erase(at);
    }
  }

  mutex mutex_;
  /// Sizes of ranges, by object and offset.
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> expected_ LEAT_GUARDED_BY(mutex_);
};

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
    : objects_(std::make_shared<read_for_all>(store.open(paths))) {
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
