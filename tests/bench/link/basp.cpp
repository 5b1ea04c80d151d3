#include "tests/bench/link/basp.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#if LEAT_HAS_CAF_OPENSSL
#include <caf/openssl/all.hpp>
#endif

#include <stdexcept>

namespace leat::bench {

namespace {

constexpr const char* here = "127.0.0.1";

struct basp_config : caf::actor_system_config {
  basp_config([[maybe_unused]] const std::string& certificates,
              [[maybe_unused]] const std::string& role) {
    add_message_types<caf::id_block::leat_bench>();
    load<caf::io::middleman>();
    set("scheduler.policy", caf::atom("sharing")); // its other one spends time on looking for work
    set("scheduler.max-threads", std::size_t{2});
#if LEAT_HAS_CAF_OPENSSL
    if (certificates.empty())
      return;
    load<caf::openssl::manager>();
    const auto directory = certificates + "/" + role;
    openssl_certificate = directory + "/cert.pem";
    openssl_key = directory + "/key.pem";
    openssl_cafile = directory + "/ca.pem";
#endif
  }
};

template <class T>
T value_of(caf::expected<T> x, const char* what) {
  if (!x)
    throw std::runtime_error(what);
  return std::move(*x);
}

} // namespace

bool has_basp_tls() {
  return LEAT_HAS_CAF_OPENSSL != 0;
}

caf::actor_system& basp_system(const std::string& certificates, const std::string& role) {
  auto& config = *new basp_config{certificates, role};
  return *new caf::actor_system{config};
}

std::uint16_t basp_publish(caf::actor_system& system, const caf::actor& x,
                           [[maybe_unused]] const std::string& certificates) {
#if LEAT_HAS_CAF_OPENSSL
  if (!certificates.empty())
    return value_of(caf::openssl::publish(x, 0, here, true), "CAF does not listen");
#endif
  return value_of(system.middleman().publish(x, 0, here, true), "CAF does not listen");
}

caf::actor basp_connect(caf::actor_system& system, std::uint16_t port,
                        [[maybe_unused]] const std::string& certificates) {
#if LEAT_HAS_CAF_OPENSSL
  if (!certificates.empty())
    return value_of(caf::openssl::remote_actor<caf::actor>(system, here, port),
                    "CAF does not connect");
#endif
  return value_of(system.middleman().remote_actor(here, port), "CAF does not connect");
}

} // namespace leat::bench
