#include "tools/leat/remote/remote_arguments.hpp"

#include "tools/leat/option_values.hpp"
#include <CLI/CLI.hpp>

namespace leat::command {

void add_remote_options(CLI::App& app, remote_options& to) {
  app.add_option("--endpoint", to.endpoint,
                 "The service that s3://, gs:// or hf:// is asked of, in place of its own: "
                 "https://HOST:PORT")
      ->type_name("URL");
  app.add_flag("--anonymous", to.anonymous, "Sign no requests, whatever keys there are");
  app.add_flag("--requester-pays", to.requester_pays,
               "The owner of the keys pays for requests and traffic");
  whole_number(app.add_option("--remote-bytes", to.bytes_in_flight,
                              "Bytes of servers' data that are read ahead at most [256 MiB]"),
               1);
  app.add_option("--cache", to.cache,
                 "Keep what is fetched from servers here, for all processes of this machine "
                 "[LEAT_CACHE, or nothing is kept]")
      ->type_name("DIR");
  whole_number(app.add_option("--cache-bytes", to.cache_bytes,
                              "Bytes that the cache may take [LEAT_CACHE_BYTES, or what the disk "
                              "has but a reserve]"),
               1);
}

} // namespace leat::command
