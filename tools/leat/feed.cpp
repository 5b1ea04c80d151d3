#include <leat/run_feed.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/stop_signals.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leat::command {

namespace {

constexpr auto feed_command_name = "feed";

struct feed_command {
  feed_options feed;
  std::uint64_t memory_mb = 256;
};

} // namespace

void add_feed(CLI::App& app, int& status) {
  constexpr std::uint64_t most_mb = std::uint64_t{1} << 30;
  auto* sub = app.add_subcommand(
      feed_command_name,
      "Read lines or a queue that exist once, and serve them to all ranks of a job");
  auto x = std::make_shared<feed_command>();
  auto& to = x->feed;
  sub->add_option("NAME", to.name, "As in the pipeline: feed(\"NAME\")")->required();
  sub->add_option("FILE", to.files, "Files to read, one after the other; otherwise standard input");
  sub->add_option("--queue", to.queue,
                  "A queue to read instead: redis://HOST/STREAM, nats://HOST/STREAM, with TLS "
                  "rediss:// or tls://, or tcp://HOST:PORT (docs/queues.md)")
      ->type_name("ADDRESS");
  sub->add_option("--join", to.join,
                  "The job's coordinator, or where a loader alone listens: its --feeds-at")
      ->type_name("HOST:PORT")
      ->required();
  sub->add_option("--journal", to.journal,
                  "Keep records in this directory, so that this process may be killed and begun "
                  "again, and snapshots can be resumed")
      ->type_name("DIR");
  sub->add_flag("--sync", to.sync,
                "The journal outlives power cuts: each record waits for the disk");
  whole_number(sub->add_option("--memory", x->memory_mb,
                               "Without a journal: records that are kept for ranks [MiB]"),
               16, most_mb)
      ->default_str("256");
  sub->add_option("--certs", to.certificates,
                  "Certificate and key for the role feed (leat certs issue) [LEAT_CLUSTER_CERTS]")
      ->type_name("DIR");
  sub->footer("LEAT_CLUSTER_TOKEN is the job's secret: set it in ranks and feeds.");
  sub->callback([x, &status] {
    status = run_until_signal(feed_command_name, x->feed, x->memory_mb, &run_feed);
  });
}

} // namespace leat::command
