// Any bytes decode to a snapshot that encodes and decodes to itself, or are refused as a bad one.
// Every input is tried as a file and, since no fuzzer finds a checksum, as a message in a frame.
#include "runtime/base/xxh3.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/operator_facts.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace {

template <class T>
void append(std::string& to, T x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof(x));
}

/// A snapshot with a tree of all kinds of nodes, and versions of files on a server.
const std::string& whole_snapshot() {
  using namespace leat::test;
  static const auto bytes = [] {
    auto source = count_of(5);
    source.data->versions = {.place = {1, 2}, .digest = {3, 4}, .named = {"v1"}};
    leat::snapshot x;
    x.pipeline = batch_of(map_of(join("zip", {shuffle_of(count_of(9), 7), source}), "a@1"), 4, 2);
    return leat::encode(x);
  }();
  return bytes;
}

/// In the version that is written now: the reader refuses others before it looks at the message.
std::string framed(const std::string& message) {
  auto head = whole_snapshot().substr(0, 12);
  append(head, static_cast<std::uint32_t>(message.size()));
  const auto whole = head + message;
  const auto hash = leat::xxh3_128(std::as_bytes(std::span{whole}));
  append(head, hash.low);
  append(head, hash.high);
  return head + message;
}

void try_decode(const std::string& bytes) {
  allow(leat::errc::bad_snapshot, [&] {
    const auto read = leat::decode(bytes, "fuzz");
    const auto again = leat::encode(read);
    check(leat::encode(leat::decode(again, "again")) == again);
    leat::compare(read, leat::decode(again, "again").pipeline);
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes{reinterpret_cast<const char*>(data), size};
  try_decode(bytes);
  try_decode(framed(bytes));
  // Fields after a whole message are merged into it, so these reach the checks of values.
  static const auto message = whole_snapshot().substr(32);
  check(framed(message) == whole_snapshot()); // else no message is read
  try_decode(framed(message + bytes));
  return 0;
}
