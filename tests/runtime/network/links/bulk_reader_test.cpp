#include "runtime/network/links/bulk_reader.hpp"
#include "tests/support/test.hpp"

namespace leat::bulk_reader_test {
namespace {

struct told {
  std::uint64_t number;
  std::string words;
  std::string payload;

  friend bool operator==(const told&, const told&) = default;
};

std::string bytes_of_frame(const told& x, frame_kind kind = frame_kind::row) {
  return front_of({.kind = kind,
                   .number = x.number,
                   .words = x.words,
                   .payload = {{x.payload.data(), x.payload.size()}}})
         + x.payload;
}

struct listener : bulk_receiver {
  std::optional<bulk_room> room_for(const bulk_head& x) override {
    ++rooms;
    if (x.number >= 1000)
      return std::nullopt;
    auto owner = std::make_shared<std::string>(x.payload, '\0');
    const auto half = x.payload / 2;
    return bulk_room{{{owner->data(), half}, {owner->data() + half, x.payload - half}}, owner};
  }
  void receive(const bulk_head& x, bulk_room room) override {
    const auto* bytes = static_cast<const std::string*>(room.owner.get());
    all.push_back({x.number, std::string{x.words}, bytes ? *bytes : ""});
    cost += x.cost();
  }

  std::vector<told> all;
  std::int64_t cost = 0;
  int rooms = 0;
};

/// Fills both places, as a socket does.
void give(bulk_reader& reader, std::string_view bytes, std::size_t piece, listener& to) {
  while (!bytes.empty()) {
    const auto room = reader.room();
    REQUIRE(room[0].iov_len > 0);
    std::size_t size = 0;
    for (const auto& x : room) {
      const auto n = bytes.substr(0, piece - size).copy(static_cast<char*>(x.iov_base), x.iov_len);
      bytes.remove_prefix(n);
      size += n;
      if (n < x.iov_len)
        break;
    }
    reader.filled(size, to);
  }
}

std::string with_header(std::uint32_t length, std::uint32_t kind, std::uint64_t number = 0) {
  const auto bytes = bytes_of(frame_header{length, kind, number});
  return {bytes.data(), bytes.size()};
}

/// Why a rank breaks the connection with a worker that says this; empty if it does not.
std::string verdict_on(const std::string& bytes, std::int64_t credit = 1) {
  bulk_reader reader{bulk_rules_from(link_role::worker)};
  reader.grant(credit);
  listener to;
  const auto problem = problem_of([&] { give(reader, bytes, 100'000, to); });
  if (problem) {
    CHECK(problem->code() == errc::cluster);
    CHECK(to.rooms == 0);
    CHECK(to.all.empty());
  }
  return problem ? problem->details().got : "";
}

constexpr auto row = static_cast<std::uint32_t>(frame_kind::row);
constexpr auto credit = static_cast<std::uint32_t>(frame_kind::credit);

} // namespace

TEST_CASE("bulk frames: they are the same in pieces of any size") {
  const std::vector<told> all{{1, "words", ""},
                              {2, "", ""},
                              {3, "", "x"},
                              {4, "more words", std::string(16'383, 'a')},
                              {5, std::string(16'384, 'w'), std::string(200'000, 'b')},
                              {1000, "nobody wants it", std::string(300'000, 'c')},
                              {7, "", std::string(16'384, 'd')},
                              {8, "", std::string(70'000, 'e')}};
  std::string bytes;
  std::int64_t cost = 0;
  for (const auto& x : all) {
    bytes += bytes_of_frame(x);
    cost += cost_of(4 + x.words.size() + x.payload.size());
  }
  auto wanted = all;
  wanted.erase(wanted.begin() + 5);
  for (const std::size_t piece : {1, 15, 16, 21, 4096, 65'536, 1'000'000}) {
    bulk_reader reader{bulk_rules_from(link_role::worker)};
    reader.grant(cost);
    listener to;
    give(reader, bytes, piece, to);
    CHECK(to.all == wanted);
    CHECK(reader.allowed() == 0);
    CHECK(to.cost == cost - cost_of(4 + 15 + 300'000));
  }
}

TEST_CASE("bulk frames: what a peer may not send is refused at its header, before there is room") {
  CHECK(has(verdict_on(with_header(4, row), 0), "without credit"));
  CHECK(has(verdict_on(with_header(4, static_cast<std::uint32_t>(frame_kind::note)), 0),
            "without credit"));
  CHECK(has(verdict_on(with_header(UINT32_MAX, row)), "of kind 25 and 4294967295 bytes"));
  const auto longest = most_bulk_payload + most_bulk_words + 4;
  CHECK(has(verdict_on(with_header(longest + 1, row)), "of kind 25"));
  CHECK(verdict_on(with_header(longest, row)).empty());
  for (const std::uint32_t kind : {0U, 1U, 16U, 26U, 28U, 31U, 32U, UINT32_MAX})
    CHECK(has(verdict_on(with_header(4, kind)), "of kind " + std::to_string(kind)));
  CHECK(has(verdict_on(with_header(3, row)), "a frame of 3 bytes"));
  const auto words = [](std::uint32_t length, std::uint32_t size) {
    std::string bytes = with_header(length, row) + std::string(4, '\0');
    std::memcpy(bytes.data() + header_bytes, &size, sizeof size);
    return bytes;
  };
  CHECK(has(verdict_on(words(100, 97)), "of which 97 describe"));
  CHECK(has(verdict_on(words(100, UINT32_MAX)), "of which 4294967295 describe"));
  CHECK(has(verdict_on(words(20'000, 16'385)), "of which 16385 describe"));
  CHECK(has(verdict_on(words(longest, 16'383)), "of which 16383 describe"));
  CHECK(has(verdict_on(with_header(0, credit, 0)), "a credit of 0 bytes"));
  CHECK(has(verdict_on(with_header(0, credit, UINT64_MAX)), "a credit of"));
  CHECK(has(verdict_on(with_header(0, credit, most_credit) + with_header(0, credit, 1)),
            "a credit of 1 bytes"));
  CHECK(has(verdict_on(with_header(1, credit, 1)), "of kind 24"));
}

TEST_CASE(
    "bulk frames: one may be larger than what is left of the credit, and then none may come") {
  const auto one = bytes_of_frame({1, "", std::string(1000, 'x')});
  bulk_reader reader{bulk_rules_from(link_role::worker)};
  reader.grant(1);
  listener to;
  give(reader, one, 100'000, to);
  CHECK(to.all.size() == 1);
  CHECK(reader.allowed() == 1 - cost_of(1004));
  CHECK(code_of([&] { give(reader, with_header(4, row), 100, to); }) == errc::cluster);
}

TEST_CASE("bulk frames: credit adds up until it is taken, and costs none") {
  bulk_reader reader{bulk_rules_from(link_role::worker)};
  listener to;
  give(reader, with_header(0, credit, 5) + with_header(0, credit, 7), 100, to);
  CHECK(reader.take_credit() == 12);
  CHECK(reader.take_credit() == 0);
}

TEST_CASE("bulk frames: a rank hears rows and records, a worker offers, a feed what is wanted") {
  const auto rank = bulk_rules_from(link_role::rank);
  const auto worker = bulk_rules_from(link_role::worker);
  const auto allows = [](const frame_rules& rules, frame_kind kind) {
    return rules.allows({.length = 0, .kind = static_cast<std::uint32_t>(kind)});
  };
  CHECK(allows(worker, frame_kind::row));
  CHECK_FALSE(allows(worker, frame_kind::offer));
  CHECK(allows(rank, frame_kind::offer));
  CHECK_FALSE(allows(rank, frame_kind::row));
  const auto feed = bulk_rules_from(link_role::feed);
  const auto to_feed = bulk_rules_to_feed();
  CHECK(allows(feed, frame_kind::records));
  CHECK_FALSE(allows(feed, frame_kind::row));
  CHECK_FALSE(allows(worker, frame_kind::records));
  CHECK_FALSE(allows(rank, frame_kind::wants));
  CHECK(allows(to_feed, frame_kind::wants));
  CHECK_FALSE(allows(to_feed, frame_kind::records));
  for (const auto& x : {rank, worker, feed, to_feed}) {
    CHECK(allows(x, frame_kind::note));
    CHECK(allows(x, frame_kind::credit));
    CHECK_FALSE(allows(x, frame_kind::beat));
  }
  for (std::uint32_t kind = 0; kind < 32; ++kind)
    for (const auto role : {link_role::coordinator, link_role::observer})
      CHECK_FALSE(bulk_rules_from(role).allows({.length = 0, .kind = kind}));
}

TEST_CASE("bulk frames: what is too large is not made") {
  const std::string large(most_bulk_payload, 'x');
  bulk_frame x{.payload = {{large.data(), large.size()}}};
  CHECK(front_of(x).size() == header_bytes + 4);
  x.payload.push_back({large.data(), 1});
  CHECK(code_of([&] { front_of(x); }) == errc::invalid_argument);
  CHECK(code_of([&] { front_of({.words = std::string(most_bulk_words + 1, 'x')}); })
        == errc::invalid_argument);
}

} // namespace leat::bulk_reader_test
