#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/live_source.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace leat {

/// Records that exist once, each of which comes just after it was first asked for: whoever asked
/// has seen that it is not there. Then they all come again. For one thread.
class late_records final : public live_source {
public:
  explicit late_records(std::uint64_t records) : records_(records) {}

  state peek(std::uint64_t number) override {
    if (number >= records_)
      return state::ended;
    if (asked_.erase(number) > 0)
      return state::ready;
    asked_.insert(number);
    if (changed_)
      changed_();
    return state::pending;
  }
  void wait(std::uint64_t, const std::atomic<bool>&) override {}
  void wake() override {}
  std::function<void()> on_change(std::function<void()> changed) override {
    changed_ = std::move(changed);
    return [this] { changed_ = {}; };
  }
  void read(std::uint64_t number, sample& into) const override { into.set("n", number); }
  void append_id(std::uint64_t number, std::string& to) const override {
    to += std::to_string(number);
  }
  void release_below(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void hold_from(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void check_holds(std::uint64_t, std::uint64_t) const override {}
  bool has_journal() const noexcept override { return false; }
  source_facts facts() const override { return {}; }
  std::string name() const override { return "late"; }

private:
  std::uint64_t records_;
  std::set<std::uint64_t> asked_;
  std::function<void()> changed_;
};

inline pipeline once(std::shared_ptr<late_records> from) {
  return feed_pipeline("once", {{"name", std::string{"late@1"}}},
                       [from = std::move(from)] { return from; });
}

} // namespace leat
