#pragma once

#include "runtime/feeding/feed_station.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sources/feed/feed_source.hpp"
#include "runtime/sources/live/once_origin.hpp"

#include <leat/pipeline.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A source that exists once in another process, which serves it: its records are looked at by
/// their numbers, and fetched when they are read.
class remote_feed final : public live_source {
public:
  /// `name`: that of the source, by which its records have their ids.
  remote_feed(std::shared_ptr<feed_station> at, std::string name)
      : at_(std::move(at)), name_(std::move(name)) {}

  state peek(std::uint64_t number) override { return at_->peek(number); }
  void wait(std::uint64_t number, const std::atomic<bool>& stop) override {
    at_->wait(number, stop);
  }
  void wake() override { at_->wake(); }
  std::function<void()> on_change(std::function<void()> changed) override {
    return at_->on_change(std::move(changed));
  }
  void read(std::uint64_t number, sample& into) const override;
  void append_id(std::uint64_t number, std::string& to) const override {
    to += name_ + '/' + std::to_string(number);
  }
  void attend(std::uint64_t lanes, std::uint64_t rank, std::uint64_t world_size) override;
  hash128 stream() const override;
  void expect(const hash128& stream) override { at_->expect({.id = stream}); }
  void release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) override;
  /// What was released stays so: check_holds() says whether that does any harm.
  void hold_from(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void check_holds(std::uint64_t lowest, std::uint64_t behind) const override {
    at_->check_holds(lowest, behind);
  }
  /// True as long as no feed has said otherwise.
  bool has_journal() const noexcept override;
  source_facts facts() const override { return facts_of_feed(name_); }
  std::string name() const override { return name_; }

private:
  const std::shared_ptr<feed_station> at_;
  const std::string name_;
};

/// A source of the pipeline's own that rank 0's process reads for all ranks, and its station.
struct own_source {
  std::shared_ptr<feed_station> at = {};
  std::shared_ptr<const once_origin> origin = {};
};

/// A pipeline whose feeds are read at stations, one for each name.
struct fed_pipeline {
  pipeline data;
  /// Those of `sources` among them.
  std::vector<std::shared_ptr<feed_station>> stations = {};
  std::vector<own_source> sources = {};
};

/// This pipeline with stations as chosen. `has_several_processes`: sources that exist once have
/// some, too, as rank 0's process alone reads them; nothing of them is opened.
fed_pipeline with_stations(const pipeline& x, const feed_station::settings& chosen,
                           bool has_several_processes = false);

} // namespace leat
