#include "runtime/storage/remote/aws/aws_issuer.hpp"
#include "runtime/storage/remote/google/google_issuer.hpp"
#include "runtime/storage/remote/hub/hub_answers.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace leat;

namespace {

/// Fails with one of these codes, or not at all.
template <class Read>
void read(Read what, errc code) {
  try {
    what();
  } catch (const error& x) {
    check(x.code() == code);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  read([&] { check(!token_in_json(text, "x", 0).are.is_empty()); }, errc::io);
  read([&] { check(!identity_in_json(text, "x").issuer.key.empty()); }, errc::invalid_argument);
  read([&] { check(!issued_in_json(text, "x").are.access_key.empty()); }, errc::io);
  read([&] { check(!issued_in_xml(text, "x").are.access_key.empty()); }, errc::io);
  read([&] { check(commit_in_facts(text, "x").size() == 40); }, errc::io);
  for (const char* path : {"", "d"})
    read(
        [&] {
          for (const auto& x : entries_in_tree(text, path, "x"))
            check(!x.name.empty() && x.name.find('/') == std::string::npos);
        },
        errc::io);
  return 0;
}
