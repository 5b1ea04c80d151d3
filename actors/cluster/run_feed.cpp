#include "actors/cluster/rank_search.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/feeding/feed_node.hpp"
#include "runtime/sources/feed/feed_source.hpp"
#include "runtime/sources/feed/file_lines.hpp"
#include "runtime/sources/feed/inputs/feed_input_of.hpp"
#include "runtime/sources/feed/placed_input.hpp"
#include "runtime/sources/live/once_input.hpp"

#include <leat/notice.hpp>
#include <leat/run_feed.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace leat {

namespace {

std::shared_ptr<once_input> input_of(const feed_options& x) {
  if ((x.next ? 1 : 0) + (x.files.empty() ? 0 : 1) + (x.queue.empty() ? 0 : 1) > 1)
    refuse_argument("feed", "several of a function, files and a queue", "one of them");
  if (x.next)
    return function_samples(x.name, x.next);
  if (!x.queue.empty())
    return std::make_shared<placed_input>(feed_input_of(x.queue));
  if (!x.files.empty())
    return std::make_shared<placed_input>(file_lines(x.files));
  return standard_input_lines();
}

} // namespace

void run_feed(const feed_options& options) {
  check_feed_name(options.name, "feed.name");
  rank_search search{{.to = parse_address(options.join, "feed.join"),
                      .role = link_role::feed,
                      .token = options.token,
                      .certificates = options.certificates,
                      .limit = std::chrono::seconds{2}},
                     [](const rank_report& rank) { return rank.feeds_at; }};
  feed_node node{{.name = options.name,
                  .join = options.join,
                  .journal = options.journal,
                  .sync = options.sync,
                  .memory = options.memory,
                  .certificates = options.certificates,
                  .token = options.token,
                  .input = input_of(options),
                  .stop = options.stop,
                  .log = options.log},
                 [&] { return search.look(); }};
  node.run();
  const auto sums = summary_of(node.costs());
  if (options.log)
    options.log(sums);
  else
    notice("feed: " + sums);
}

} // namespace leat
