#include "runtime/sources/stream_pool.hpp"
#include "runtime/storage/packed_stream.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/packing.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <random>

using namespace leat;
using namespace leat::test;

namespace {

/// Compressed bytes in memory, given in pieces of at most `most`.
class memory_stream final : public byte_stream {
public:
  memory_stream(std::string bytes, std::size_t at, std::size_t most)
      : bytes_(std::move(bytes)), at_(at), most_(most) {}

  std::size_t read(std::span<std::byte> into) override {
    const auto n = std::min({into.size(), most_, bytes_.size() - at_});
    std::copy_n(std::as_bytes(std::span{bytes_}).begin() + static_cast<std::ptrdiff_t>(at_), n,
                into.begin());
    at_ += n;
    return n;
  }
  std::uint64_t offset() const override { return at_; }

private:
  std::string bytes_;
  std::size_t at_;
  std::size_t most_;
};

packed_stream open(const std::string& packed, packing how, restart_point from = {},
                   std::size_t most = 1 << 20) {
  return {"x", how, std::make_unique<memory_stream>(packed, from.packed, most), from};
}

struct reading {
  std::string text;
  std::vector<restart_point> restarts;
};

/// Everything that is left, in pieces of `piece` bytes.
reading read_rest(packed_stream& from, std::size_t piece) {
  reading x;
  std::vector<std::byte> into(piece);
  while (const auto n = from.read(into)) {
    x.text.append(reinterpret_cast<const char*>(into.data()), n);
    if (x.restarts.empty() || x.restarts.back() != from.restart())
      x.restarts.push_back(from.restart());
  }
  return x;
}

error error_of(const std::string& packed, packing how) {
  try {
    auto stream = open(packed, how);
    read_rest(stream, 1000);
  } catch (const error& x) {
    return x;
  }
  FAIL("no error");
  throw;
}

std::string pack(packing how, std::string_view bytes) {
  return how == packing::gzip ? gzip(bytes) : zstd(bytes);
}

} // namespace

TEST_CASE("compressed bytes decompress in pieces of any size, and every member is a restart") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  for (const auto how : {packing::gzip, packing::zstd})
    for (int i = 0; i < 60; ++i) {
      std::string text;
      std::string packed;
      std::vector<restart_point> restarts;
      for (auto members = 1 + random() % 6; members-- > 0;) {
        std::string part(random() % 3 == 0 ? 0 : random() % 2000, '\0');
        for (auto& c : part)
          c = static_cast<char>(random() % 7);
        packed += pack(how, part);
        text += part;
        if (!part.empty())
          restarts.push_back({packed.size(), text.size()});
      }
      const std::size_t piece = 1 + random() % 700;
      const std::size_t most = 1 + random() % 300;
      CAPTURE(i, piece, most, text.size());
      auto stream = open(packed, how, {}, most);
      const auto whole = read_rest(stream, piece);
      REQUIRE(whole.text == text);
      REQUIRE(stream.offset() == text.size());
      if (!text.empty())
        REQUIRE(stream.restart() == restarts.back());
      for (const auto& x : restarts) {
        REQUIRE((x == restarts.back()
                 || std::find(whole.restarts.begin(), whole.restarts.end(), x)
                        != whole.restarts.end()));
        auto again = open(packed, how, x, most);
        REQUIRE(read_rest(again, piece).text == text.substr(x.unpacked));
      }
    }
}

TEST_CASE("the end of a member is known with its last byte, however its bytes come") {
  const std::string text = "as long as what is read at once";
  for (const auto how : {packing::gzip, packing::zstd})
    for (const std::size_t most : {1, 7, 1 << 20}) {
      const auto one = pack(how, text);
      auto stream = open(one + one + one, how, {}, most);
      std::vector<std::byte> into(text.size());
      for (std::uint64_t i = 1; i <= 3; ++i) {
        REQUIRE(stream.read(into) == text.size());
        CHECK(stream.restart() == restart_point{i * one.size(), i * text.size()});
      }
    }
}

TEST_CASE("frames of zstd that are to be skipped are") {
  const std::string skipped{"\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11};
  auto stream = open(skipped + zstd("one") + skipped + zstd("two") + skipped, packing::zstd);
  CHECK(read_rest(stream, 100).text == "onetwo");
}

TEST_CASE("compressed bytes that are cut at any byte are torn, except between members") {
  const std::string text = "what is packed here is long enough to be packed, packed, packed";
  for (const auto how : {packing::gzip, packing::zstd}) {
    const auto one = pack(how, text);
    const auto both = one + pack(how, text);
    for (std::size_t cut = 0; cut < both.size(); ++cut) {
      CAPTURE(static_cast<int>(how), cut);
      if (cut == one.size())
        continue;
      const auto x = error_of(both.substr(0, cut), how);
      CHECK(x.code() == errc::torn_file);
      CHECK(x.details().file == "x");
    }
  }
}

TEST_CASE("each damaged byte is found, or does not matter") {
  const std::string text = "what is packed here is long enough to be packed, packed, packed";
  for (const auto how : {packing::gzip, packing::zstd}) {
    const auto whole = pack(how, text);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      CAPTURE(static_cast<int>(how), i);
      auto damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      auto stream = open(damaged, how);
      try {
        // Times and names in a gzip header do not matter.
        const auto whatever = read_rest(stream, 100).text;
        CHECK(whatever == text);
      } catch (const error& x) {
        CHECK((x.code() == errc::torn_file || x.code() == errc::invalid_argument));
      }
    }
  }
}

TEST_CASE("other formats are torn") {
  CHECK(error_of("no gzip at all", packing::gzip).code() == errc::torn_file);
  CHECK(error_of("no zstd at all", packing::zstd).code() == errc::torn_file);
  CHECK(error_of(gzip("a") + "rest", packing::gzip).code() == errc::torn_file);
}

TEST_CASE("zstd windows above the limit are refused, those within it are not") {
  const std::string text(100'000, 'x');
  const auto x = error_of(zstd(text, unpacker::max_window_log + 1), packing::zstd);
  CHECK(x.code() == errc::invalid_argument);
  CHECK(x.details().needed.find("128 MiB") != std::string::npos);
  auto stream = open(zstd(text, unpacker::max_window_log), packing::zstd);
  CHECK(read_rest(stream, 5000).text == text);
}

TEST_CASE("a pool holds no more than its limit, and drops what waited longest") {
  auto parked = [] {
    return std::make_unique<packed_stream>(
        "x", packing::gzip, std::make_unique<memory_stream>("", 0, 1), restart_point{});
  };
  const auto bytes = parked()->memory();
  stream_pool pool{3 * bytes};
  for (std::uint64_t id = 1; id <= 3; ++id)
    pool.park(id, parked());
  CHECK(pool.memory() == 3 * bytes);
  pool.park(1, pool.take(1));
  pool.park(4, parked());
  CHECK(pool.memory() == 3 * bytes);
  CHECK(!pool.take(2));
  for (const std::uint64_t id : {1, 3, 4})
    CHECK(pool.take(id));
  CHECK(pool.memory() == 0);
  pool.park(1, parked());
  pool.drop(1);
  CHECK(!pool.take(1));
  stream_pool tiny{1};
  tiny.park(1, parked());
  CHECK(tiny.take(1)); // the only one stays
}
