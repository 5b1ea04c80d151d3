#pragma once

#include "actors/caf/network_system.hpp"
#include "actors/cluster/coordinator_view.hpp"

#include <leat/cluster_report.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Asks a coordinator where its ranks let others in. One thread.
class rank_search {
public:
  /// `place`: where a rank does; empty: nowhere.
  using place_of_rank = std::function<std::string(const rank_report&)>;

  rank_search(coordinator_view::config config, place_of_rank place)
      : config_(std::move(config)), place_(std::move(place)) {}

  /// Throws as coordinator_view::look.
  std::vector<std::string> look() {
    const logger_release released;
    if (!view_)
      view_ = std::make_unique<coordinator_view>(config_);
    std::vector<std::string> places;
    for (const auto& rank : view_->look().ranks)
      if (auto place = place_(rank); !place.empty())
        places.push_back(std::move(place));
    return places;
  }

private:
  const coordinator_view::config config_;
  const place_of_rank place_;
  /// Made in the thread that asks.
  std::unique_ptr<coordinator_view> view_;
};

} // namespace leat
