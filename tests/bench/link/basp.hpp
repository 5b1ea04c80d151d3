#pragma once

#include "messages/cluster/fwd.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/deserializer.hpp>
#include <caf/error.hpp>
#include <caf/serializer.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leat::bench {

/// A row as CAF carries it best: shared within a process, and copied in one piece between two.
struct basp_row {
  std::shared_ptr<char[]> bytes = {};
  std::size_t size = 0;
};

inline caf::error inspect(caf::serializer& to, basp_row& x) {
  auto size = x.size;
  if (auto problem = to.begin_sequence(size))
    return problem;
  return to.apply_raw(size, x.bytes.get());
}

inline caf::error inspect(caf::deserializer& from, basp_row& x) {
  if (auto problem = from.begin_sequence(x.size))
    return problem;
  x.bytes.reset(new char[x.size]);
  return from.apply_raw(x.size, x.bytes.get());
}

// CAF's own protocol between nodes, for comparison; with TLS, by libcaf_openssl, where
// `certificates` names a directory, which has one for each role.

/// Whether there is a libcaf_openssl.
bool has_basp_tls();
/// A system until the process ends. A worker's certificate is not one to listen with.
caf::actor_system& basp_system(const std::string& certificates, const std::string& role);
/// Shows an actor to other processes of this machine; returns the port.
std::uint16_t basp_publish(caf::actor_system& system, const caf::actor& x,
                           const std::string& certificates);
caf::actor basp_connect(caf::actor_system& system, std::uint16_t port,
                        const std::string& certificates);

} // namespace leat::bench

CAF_BEGIN_TYPE_ID_BLOCK(leat_bench, caf::id_block::leat_cluster::end)

  CAF_ADD_TYPE_ID(leat_bench, (leat::bench::basp_row))

CAF_END_TYPE_ID_BLOCK(leat_bench)
