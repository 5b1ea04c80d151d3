#pragma once

#include "tests/support/other_program.hpp"
#include "tests/support/temporary_directory.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace leat::test {

/// A port of this machine that was free just now.
inline std::uint16_t free_port() {
  const int x = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* raw = reinterpret_cast<sockaddr*>(&place);
  const bool is_bound = x >= 0 && ::bind(x, raw, size) == 0 && ::getsockname(x, raw, &size) == 0;
  ::close(x);
  if (!is_bound)
    throw std::runtime_error("no free port");
  return ntohs(place.sin_port);
}

/// The program of a server out of Debian's packages; empty where it is not installed.
inline std::string installed_server(const std::string& name) {
  for (const std::string folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/"})
    if (::access((folder + name).c_str(), X_OK) == 0)
      return folder + name;
  return {};
}

/// A server of queues that keeps what it has in a directory of its own.
class queue_server {
public:
  /// `command` makes the command line of a program, a port and a directory.
  using command = std::function<std::vector<std::string>(std::string, std::string, std::string)>;

  queue_server(std::string program, command how)
      : program_(std::move(program)), how_(std::move(how)), port_(free_port()) {
    start();
  }

  std::string at() const { return "127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const noexcept { return port_; }
  void start() {
    running_.emplace(how_(program_, std::to_string(port_), directory_.path()), directory_ / "log");
  }
  /// With SIGKILL.
  void kill() { running_.reset(); }
  /// Also forgets all that it has.
  void forget() {
    kill();
    for (const auto& x : std::filesystem::directory_iterator{directory_.path()})
      std::filesystem::remove_all(x);
  }

private:
  const std::string program_;
  const command how_;
  const std::uint16_t port_;
  const temporary_directory directory_;
  std::optional<other_program> running_;
};

inline std::vector<std::string> redis_command_line(std::string program, std::string port,
                                                   std::string directory) {
  return {program, "--bind",        "127.0.0.1",    "--port", port,
          "--dir", directory,       "--appendonly", "yes",    "--save",
          "",      "--appendfsync", "always"};
}

inline std::vector<std::string> nats_command_line(std::string program, std::string port,
                                                  std::string directory) {
  return {program, "-js", "-a",      "127.0.0.1", "-p",
          port,    "-sd", directory, "-l",        directory + "/words"};
}

/// The same with TLS alone, by the certificates in `own`.
inline queue_server::command redis_with_tls(std::string own, bool asks_for_certificates = false) {
  return [=](std::string program, std::string port, std::string directory) {
    auto words = redis_command_line(std::move(program), "0", std::move(directory));
    words.insert(words.end(),
                 {"--tls-port", port, "--tls-cert-file", own + "/cert.pem", "--tls-key-file",
                  own + "/key.pem", "--tls-ca-cert-file", own + "/ca.pem", "--tls-auth-clients",
                  asks_for_certificates ? "yes" : "no"});
    return words;
  };
}

inline queue_server::command nats_with_tls(std::string own, bool asks_for_certificates = false) {
  return [=](std::string program, std::string port, std::string directory) {
    auto words = nats_command_line(std::move(program), std::move(port), std::move(directory));
    words.insert(words.end(),
                 {"--tls", "--tlscert", own + "/cert.pem", "--tlskey", own + "/key.pem"});
    if (asks_for_certificates)
      words.insert(words.end(), {"--tlsverify", "--tlscacert", own + "/ca.pem"});
    return words;
  };
}

} // namespace leat::test
