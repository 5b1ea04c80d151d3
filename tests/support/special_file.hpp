#pragma once

#include "tests/support/catch.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace leat::test {

enum class special_kind { pipe, socket, device, directory };

inline const char* to_string(special_kind x) {
  constexpr const char* names[] = {"pipe", "socket", "device", "directory"};
  return names[static_cast<int>(x)];
}

/// Puts something at a path that no program can read from beginning to end. The pipe has no writer.
inline void make_special(special_kind kind, const std::string& path) {
  switch (kind) {
  case special_kind::pipe:
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    break;
  case special_kind::socket: {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof at.sun_path);
    std::memcpy(at.sun_path, path.c_str(), path.size());
    REQUIRE(::bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    ::close(made);
    break;
  }
  case special_kind::device:
    std::filesystem::create_symlink("/dev/zero", path);
    break;
  case special_kind::directory:
    std::filesystem::create_directory(path);
    break;
  }
}

} // namespace leat::test
