#include "actors/cluster/rank_search.hpp"
#include "runtime/children/isolated_map.hpp"
#include "runtime/lending/worker_node.hpp"

#include <leat/run_worker.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace leat {

void run_worker(int argc, char** argv, std::vector<map_stage> maps) {
  run_if_child(argc, argv, std::move(maps));
}

void run_worker(const worker_options& options) {
  rank_search search{{.to = parse_address(options.join, "worker.join"),
                      .role = link_role::worker,
                      .token = options.token,
                      .certificates = options.certificates,
                      .limit = std::chrono::seconds{2}},
                     [](const rank_report& rank) {
                       return rank.state == rank_state::running ? rank.workers_at : std::string{};
                     }};
  worker_node node{{.join = options.join,
                    .cores = options.cores,
                    .memory = options.memory,
                    .nice = options.nice,
                    .data = options.data,
                    .certificates = options.certificates,
                    .token = options.token,
                    .stop = options.stop,
                    .log = options.log},
                   [&] { return search.look(); }};
  node.run();
}

} // namespace leat
