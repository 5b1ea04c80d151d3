#include "runtime/network/links/byte_layer.hpp"
#include "runtime/network/links/frame_reader.hpp"
#include "tests/support/test.hpp"

namespace leat::frame_reader_test {
namespace {

struct told {
  frame_kind kind;
  std::uint64_t number;
  std::string body;

  friend bool operator==(const told&, const told&) = default;
};

std::string bytes_of_all(const std::vector<told>& all) {
  plain_layer plain;
  byte_buffer out;
  for (const auto& x : all)
    write_frame(plain, x.kind, x.number, x.body, out);
  return {out.begin(), out.end()};
}

std::vector<told> read_in_pieces(std::string_view bytes, const frame_rules& rules,
                                 std::size_t piece) {
  frame_reader reader{rules};
  std::vector<told> all;
  while (!bytes.empty()) {
    const auto room = reader.room();
    REQUIRE(!room.empty());
    const auto size = bytes.substr(0, piece).copy(room.data(), room.size());
    bytes.remove_prefix(size);
    if (const auto x = reader.filled(size))
      all.push_back({x->kind(), x->head.number, std::string{x->body()}});
  }
  return all;
}

std::string with_header(std::uint32_t length, std::uint32_t kind) {
  const auto bytes = bytes_of(frame_header{length, kind, 7});
  return {bytes.data(), bytes.size()};
}

bool is_refused(const frame_rules& rules, std::uint32_t length, std::uint32_t kind) {
  return code_of([&] { read_in_pieces(with_header(length, kind), rules, 100); }) == errc::cluster;
}

constexpr std::uint32_t number_of(frame_kind x) {
  return static_cast<std::uint32_t>(x);
}

} // namespace

TEST_CASE("frames: a header has 16 bytes in a fixed order") {
  CHECK(with_header(0x01020304, 0x11)
        == std::string("\x04\x03\x02\x01\x11\0\0\0\x07\0\0\0\0\0\0\0", 16));
  CHECK(header_at(with_header(5, 6).data()) == frame_header{5, 6, 7});
}

TEST_CASE("frames: they are the same in pieces of any size") {
  const std::vector<told> all{{frame_kind::beat, 1, "one"},
                              {frame_kind::beat, 2, ""},
                              {frame_kind::part, UINT64_MAX, std::string(70'000, 'x')},
                              {frame_kind::beat, 3, std::string(16'368, 'y')}};
  const auto bytes = bytes_of_all(all);
  for (const std::size_t piece : {1, 7, 16, 17, 4096, 100'000})
    CHECK(read_in_pieces(bytes, rules_from(link_role::rank), piece) == all);
}

TEST_CASE("frames: what is too long, or of a kind that may not come, is refused at its header") {
  const auto rules = hello_rules();
  CHECK_FALSE(is_refused(rules, 8 << 10, number_of(frame_kind::hello)));
  CHECK(is_refused(rules, (8 << 10) + 1, number_of(frame_kind::hello)));
  CHECK(is_refused(rules, UINT32_MAX, number_of(frame_kind::hello)));
  for (const std::uint32_t kind : {0U, 2U, 3U, 16U, 31U, 32U, 1000U, UINT32_MAX})
    CHECK(is_refused(rules, 0, kind));
  CHECK(is_refused({}, 0, number_of(frame_kind::hello)));
}

TEST_CASE("frames: each role may say its own, and no other") {
  std::map<link_role, std::set<std::uint32_t>> may;
  for (const auto role :
       {link_role::coordinator, link_role::rank, link_role::worker, link_role::observer})
    for (std::uint32_t kind = 0; kind < 40; ++kind)
      if (!is_refused(rules_from(role), 0, kind))
        may[role].insert(kind);
  CHECK(may
        == decltype(may){{link_role::rank,
                          {number_of(frame_kind::join), number_of(frame_kind::beat),
                           number_of(frame_kind::part)}},
                         {link_role::worker, {number_of(frame_kind::look)}},
                         {link_role::observer, {number_of(frame_kind::look)}}});
  CHECK(is_refused(rules_from(link_role::observer), 1, number_of(frame_kind::look)));
  CHECK(is_refused(rules_to(link_role::observer), 0, number_of(frame_kind::word)));
  CHECK_FALSE(is_refused(rules_to(link_role::rank), 0, number_of(frame_kind::word)));
}

} // namespace leat::frame_reader_test
