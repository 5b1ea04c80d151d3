#pragma once

#include "tests/cluster/feed_world.hpp"

namespace leat::test {

/// The feed's process: it reads the source as far as the ranks look, and serves records by number.
class simulated_feed final : public simulated_process {
public:
  simulated_feed(feed_world& in, bool is_twin);

  void on_hello(connection_id from, fed_rank& rank);
  void on_want(connection_id from, const std::string& bytes);
  void on_sign(connection_id from);
  void on_closed(connection_id x) override;

  const feed_server& server() const { return server_; }

private:
  void read();
  void tick();
  void talk();
  std::string content_of(std::uint64_t number) const;

  feed_world& in_;
  const bool is_twin_;
  /// Of a twin.
  std::unique_ptr<record_store> own_;
  record_store& records_;
  feed_identity identity_;
  feed_server server_;
  read_ahead ahead_;
  struct peer {
    fed_rank* rank;
    virtual_time heard;
  };
  std::map<connection_id, peer> peers_;
};

} // namespace leat::test
