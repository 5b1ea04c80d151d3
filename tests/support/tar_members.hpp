#pragma once

#include "tests/support/standard.hpp"

namespace leat::test {

struct tar_member {
  std::string name;
  std::string content;
  bool operator==(const tar_member&) const = default;
};

/// The members of an archive of plain files, one after the other.
inline std::vector<tar_member> members_of(const std::string& tar) {
  std::vector<tar_member> members;
  for (std::size_t at = 0; at + 512 <= tar.size() && tar[at] != '\0';) {
    const auto size = std::stoull(tar.substr(at + 124, 11), nullptr, 8);
    members.push_back({tar.c_str() + at, tar.substr(at + 512, size)});
    at += 512 + (size + 511) / 512 * 512;
  }
  return members;
}

} // namespace leat::test
