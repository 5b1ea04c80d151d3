#include "tests/support/bulk_ends.hpp"
#include "tests/support/test.hpp"

namespace leat::bulk_connection_test {
namespace {

using namespace test;

/// What is sent is not copied: this keeps it, and says when it is let go.
bulk_frame frame_numbered(frame_kind kind, std::uint64_t number, std::size_t size,
                          std::weak_ptr<std::string>* kept = nullptr) {
  auto owner = std::make_shared<std::string>(payload_numbered(number, size));
  if (kept)
    *kept = owner;
  const auto cut = std::min<std::size_t>(size, 100);
  return {.kind = kind,
          .number = number,
          .words = "frame " + std::to_string(number),
          .payload = {{owner->data(), cut}, {}, {owner->data() + cut, size - cut}},
          .owner = owner};
}

std::size_t random_size(std::mt19937& rng) {
  const std::size_t most[] = {0, 1, 300, 20'000, 200'000, 3'000'000};
  return std::uniform_int_distribution<std::size_t>{0, most[rng() % std::size(most)]}(rng);
}

/// Sends frames of random sizes both ways at once, and checks what comes.
void exchange_frames(std::uint32_t seed, const link_site* site) {
  CAPTURE(seed, site != nullptr);
  std::mt19937 rng{seed};
  auto [rank_peer, worker_peer] = peers(site);
  bulk_end rank{std::move(rank_peer), link_role::worker};
  bulk_end worker{std::move(worker_peer), link_role::rank};
  constexpr std::uint64_t frames = 120;
  const auto sizes = [&] {
    std::vector<std::size_t> x(frames);
    std::generate(x.begin(), x.end(), [&] { return random_size(rng); });
    return x;
  };
  const auto window = [&] { return std::int64_t{1} << rng() % 24; };
  const auto rows = sizes();
  const auto offers = sizes();
  const std::int64_t windows[] = {window(), window()};
  const auto pauses = rng() % 3;
  const auto produce = [](bulk_end& from, frame_kind kind, const std::vector<std::size_t>& of) {
    for (std::uint64_t i = 0; i < of.size(); ++i)
      if (!from.send(frame_numbered(kind, i, of[i])))
        return;
  };
  // Catch2's macros are for one thread.
  const auto consume = [&](bulk_end& at, frame_kind kind, const std::vector<std::size_t>& of,
                           std::string& fault) {
    try {
      std::deque<bulk_end::frame> held;
      for (std::uint64_t i = 0; i < of.size() && fault.empty(); ++i) {
        held.push_back(at.take());
        const auto& x = held.back();
        if (x.kind != kind || x.number != i || x.words != "frame " + std::to_string(i)
            || x.payload != payload_numbered(i, of[i]))
          fault = "frame " + std::to_string(i) + " is another one: " + std::to_string(x.number);
        for (; !held.empty() && (held.size() > i % 5 || at.number_came() == 0); held.pop_front()) {
          if (pauses == 1 && i % 8 == 0)
            std::this_thread::yield();
          at.give_back(held.front());
        }
      }
    } catch (const std::exception& problem) {
      fault = problem.what();
    }
  };
  std::string faults[2];
  {
    rank.connection().grant(windows[0]);
    worker.connection().grant(windows[1]);
    std::jthread threads[] = {
        std::jthread{[&] { produce(worker, frame_kind::row, rows); }},
        std::jthread{[&] { produce(rank, frame_kind::offer, offers); }},
        std::jthread{[&] { consume(worker, frame_kind::offer, offers, faults[1]); }}};
    consume(rank, frame_kind::row, rows, faults[0]);
  }
  CHECK(faults[0] == "");
  CHECK(faults[1] == "");
  CHECK(rank.number_came() == 0);
  CHECK(worker.number_came() == 0);
  CHECK(rank.most_held() < windows[0]); // one frame more may have come on the last byte of credit
  CHECK(worker.most_held() < windows[1]);
}

/// Talks to a rank's end by hand.
struct stranger {
  stranger() {
    auto [a, b] = socket_pair();
    socket = std::move(b);
    rank = std::make_unique<bulk_end>(
        connected_peer{.socket = std::move(a), .layer = std::make_unique<plain_layer>()},
        link_role::worker);
  }
  void say(const std::string& bytes) const {
    CHECK(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
          == static_cast<ssize_t>(bytes.size()));
  }
  /// Receives so many bytes.
  std::string hear(std::size_t size) const {
    std::string bytes(size, '\0');
    for (std::size_t got = 0; got < size;) {
      pollfd x{socket.get(), POLLIN, 0};
      REQUIRE(::poll(&x, 1, 20'000) == 1);
      const auto n = ::recv(socket.get(), bytes.data() + got, size - got, 0);
      REQUIRE(n > 0);
      got += static_cast<std::size_t>(n);
    }
    return bytes;
  }

  file_descriptor socket;
  std::unique_ptr<bulk_end> rank;
};

std::string with_header(std::uint32_t length, frame_kind kind, std::uint64_t number = 0) {
  const auto bytes = bytes_of(frame_header{length, static_cast<std::uint32_t>(kind), number});
  return {bytes.data(), bytes.size()};
}

} // namespace

TEST_CASE("bulk connection: frames of any size come once and in order, through any window") {
  const auto seed = std::random_device{}();
  for (std::uint32_t i = 0; i < 6; ++i)
    exchange_frames(seed + i, nullptr);
}

TEST_CASE("bulk connection: with TLS they do, too") {
  link_site site;
  const auto seed = std::random_device{}();
  for (std::uint32_t i = 0; i < 4; ++i)
    exchange_frames(seed + i, &site);
}

TEST_CASE("bulk connection: nothing is sent without credit, and one frame on its last byte") {
  stranger x;
  auto first = frame_numbered(frame_kind::offer, 1, 1000);
  auto second = frame_numbered(frame_kind::offer, 2, 10);
  CHECK_FALSE(x.rank->connection().send(first));
  CHECK(first.owner != nullptr); // left as it is
  CHECK(first.words == "frame 1");
  x.say(with_header(0, frame_kind::credit, 1));
  std::jthread sender{[&] {
    x.rank->send(std::move(first));
    x.rank->send(std::move(second));
  }};
  const auto front = front_of(frame_numbered(frame_kind::offer, 1, 1000));
  CHECK(x.hear(front.size() + 1000) == front + payload_numbered(1, 1000));
  x.say(with_header(0, frame_kind::credit, static_cast<std::uint64_t>(cost_of(4 + 7 + 1000) - 1)));
  pollfd more{x.socket.get(), POLLIN, 0};
  CHECK(::poll(&more, 1, 50) == 0); // just not enough
  x.say(with_header(0, frame_kind::credit, 1));
  const auto next = front_of(frame_numbered(frame_kind::offer, 2, 10));
  CHECK(x.hear(next.size() + 10) == next + payload_numbered(2, 10));
}

TEST_CASE(
    "bulk connection: the peer hears of its credit at once where it has none, else by quarters") {
  stranger x;
  auto& rank = x.rank->connection();
  rank.grant(1000);
  CHECK(x.hear(16) == with_header(0, frame_kind::credit, 1000));
  rank.grant(249); // not worth a frame
  rank.grant(1);
  CHECK(x.hear(16) == with_header(0, frame_kind::credit, 250));
  x.say(with_header(1200, frame_kind::row) + std::string(1200, '\0')); // more than all of it
  REQUIRE(x.rank->wait_for(1));
  rank.grant(1);
  CHECK(x.hear(16) == with_header(0, frame_kind::credit, 1));
}

TEST_CASE("bulk connection: what nobody wants is thrown away, and what comes after it is right") {
  for (const bool is_large : {false, true}) {
    auto [a, b] = peers(nullptr);
    bulk_end rank{std::move(a), link_role::worker};
    rank.throw_away = 3;
    bulk_end worker{std::move(b), link_role::rank};
    rank.connection().grant(1 << 30);
    const auto size = [&](std::uint64_t i) { return (is_large ? 100'000 : 100) + i; };
    for (std::uint64_t i = 0; i < 40; ++i)
      REQUIRE(worker.send(frame_numbered(frame_kind::row, i, size(i))));
    for (std::uint64_t i = 0; i < 40; ++i)
      if (i % 16 != 3) {
        const auto x = rank.take();
        CHECK(x.number == i);
        CHECK(x.payload == payload_numbered(i, size(i)));
      }
  }
}

TEST_CASE("bulk connection: what came with the welcome is read first") {
  auto [a, b] = socket_pair();
  const std::string first = front_of({.kind = frame_kind::note, .number = 7, .words = "early"})
                            + with_header(0, frame_kind::credit, 100);
  bulk_end worker{{.socket = std::move(a),
                   .layer = std::make_unique<plain_layer>(),
                   .unread = with_header(0, frame_kind::credit, 1)},
                  link_role::rank};
  CHECK(worker.send({.kind = frame_kind::note}));
}

TEST_CASE("bulk connection: a peer that breaks the rules is cut off before there is room for it") {
  const std::pair<std::string, const char*> all[] = {
      {with_header(4, frame_kind::row), "without credit"},
      {with_header(UINT32_MAX, frame_kind::row), "4294967295 bytes"},
      {with_header(4, frame_kind::offer), "of kind 26"},
      {with_header(4, frame_kind::hello), "of kind 1"},
      {with_header(0, frame_kind::credit, 0), "a credit of 0 bytes"},
      {std::string(16, '\xff'), "of kind 4294967295"}};
  for (const auto& [bytes, part] : all) {
    stranger x;
    x.say(bytes);
    const auto why = x.rank->why();
    REQUIRE(why);
    CHECK(has(*why, part));
    CHECK(x.rank->rooms() == 0);
    CHECK(read_to_end(x.socket)); // closed
    auto frame = frame_numbered(frame_kind::offer, 1, 1);
    CHECK_FALSE(x.rank->connection().send(frame));
  }
}

TEST_CASE("bulk connection: it ends with its peer, also in the middle of a row") {
  for (const bool is_half : {false, true}) {
    stranger x;
    x.rank->connection().grant(1 << 20);
    x.hear(16);
    x.say(with_header(100'000, frame_kind::row) + std::string(50'000, '\0'));
    if (is_half)
      ::shutdown(x.socket.get(), SHUT_WR);
    else
      x.socket = {};
    const auto why = x.rank->why();
    REQUIRE(why);
    CHECK(has(*why, "ended the connection"));
    CHECK(x.rank->number_came() == 0);
  }
}

TEST_CASE("bulk connection: noise in place of TLS ends it") {
  link_site site;
  auto [rank, worker] = peers(&site);
  bulk_end x{std::move(rank), link_role::worker};
  const std::string noise(1000, '\x17');
  CHECK(::send(worker.socket.get(), noise.data(), noise.size(), 0) == 1000);
  const auto why = x.why();
  REQUIRE(why);
  CHECK(has(*why, "TLS"));
}

TEST_CASE(
    "bulk connection: it ends at once with a peer that reads nothing, and lets go of all rows") {
  link_site site;
  for (const auto* const tls : {static_cast<const link_site*>(nullptr), &std::as_const(site)}) {
    auto [rank, worker] = peers(tls);
    std::vector<std::weak_ptr<std::string>> kept;
    byte_buffer credit;
    worker.layer->write(with_header(0, frame_kind::credit, 8 << 20), credit);
    REQUIRE(::send(worker.socket.get(), credit.data(), credit.size(), 0)
            == static_cast<ssize_t>(credit.size()));
    bulk_end x{std::move(rank), link_role::worker};
    for (std::uint64_t i = 0; i < 8; ++i)
      REQUIRE(x.send(frame_numbered(frame_kind::offer, i, 1 << 20, &kept.emplace_back())));
    auto more = frame_numbered(frame_kind::offer, 9, 1);
    CHECK_FALSE(x.connection().send(more)); // the window is used up
    CHECK_FALSE(kept.back().expired());
    x.connection().cut();
    const auto why = x.why();
    REQUIRE(why);
    CHECK(why->empty());
    for (const auto& one : kept)
      CHECK(one.expired());
    x.close();
  }
}

TEST_CASE("bulk connection: more credit than memory is worth fills no memory") {
  stranger x;
  x.say(with_header(0, frame_kind::credit, 1 << 30));
  auto owner = std::make_shared<std::string>(most_bulk_payload, 'x');
  REQUIRE(x.rank->send({.kind = frame_kind::note})); // the credit has come
  int sent = 0;
  bulk_frame one;
  do
    one = {.kind = frame_kind::offer, .payload = {{owner->data(), owner->size()}}, .owner = owner};
  while (x.rank->connection().send(one) && ++sent < 1000);
  CHECK(sent == 4);
}

TEST_CASE("bulk connection: an owner that throws ends it") {
  struct fussy : bulk_owner {
    std::optional<bulk_room> room_for(const bulk_head&) override { return bulk_room{}; }
    void receive(const bulk_head&, bulk_room) override {}
    void may_send() override {}
    void ended(const std::string& x) noexcept override {
      why = x;
      is_over = true;
      is_over.notify_all();
    }
    std::string why;
    std::atomic<bool> is_over = false;
  } owner;
  auto [a, b] = peers(nullptr);
  bulk_connection rank{std::move(a), bulk_rules_from(link_role::worker), owner};
  rank.grant(1000);
  bulk_end worker{std::move(b), link_role::rank};
  worker.send(frame_numbered(frame_kind::row, 1, 10));
  owner.is_over.wait(false);
  CHECK(has(owner.why, "room of another size"));
}

} // namespace leat::bulk_connection_test
