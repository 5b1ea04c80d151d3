#include "runtime/base/utf8.hpp"
#include "runtime/feeding/remote_feed.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/once.hpp>

#include <filesystem>

// A pipeline whose sources exist once is, in a job of several processes, the same pipeline.
namespace leat::own_source_test {
namespace {

pipeline two_sources() {
  return mix({once("queue@1", [](sample&) { return false; }), standard_input(), feed("named")},
             {.weights = {1, 1, 1}})
      .batch(4, {.end = epoch_end::mask});
}

TEST_CASE("own_source: in a job of several processes nothing is opened, and nothing else differs") {
  const test::temporary_directory at;
  const auto plain = two_sources();
  const auto fed = with_stations(plain.journal(at / "journal"), {}, true);
  REQUIRE(fed.sources.size() == 2);
  CHECK(fed.sources[0].at->name == "rank 0's source 0, queue");
  CHECK(fed.sources[0].origin->journal == at / "journal" + "/queue-0");
  CHECK(fed.sources[1].at->name == "rank 0's source 1, stdin");
  CHECK(fed.sources[1].origin->journal == at / "journal" + "/stdin-1");
  CHECK(fed.stations.size() == 3);
  CHECK_FALSE(std::filesystem::exists(at / "journal"));
  CHECK(data_digest(fed.data.root()) == data_digest(plain.root()));
  CHECK(same_operators(fed.data.root(), plain.root()));
  std::string id;
  for_each_operator(fed.data.root(), [&](const operator_node& x) {
    if (x.op == "once")
      x.feed->get()->append_id(5, id);
  });
  CHECK(id == "queue/5");
}

TEST_CASE("own_source: in one process only feeds have stations") {
  const auto fed = with_stations(two_sources(), {});
  CHECK(fed.sources.empty());
  REQUIRE(fed.stations.size() == 1);
  CHECK(fed.stations[0]->name == "named");
}

TEST_CASE("own_source: two journals over one source are refused") {
  const test::temporary_directory at;
  const auto twice = two_sources().journal(at / "a").journal(at / "b");
  CHECK(code_of([&] { (void)with_stations(twice, {}, true); }) == errc::invalid_argument);
}

TEST_CASE("own_source: names of sources are distinct, and no longer than a feed's may be") {
  const auto name = name_of_own_source(12, std::string(1000, 'x'));
  CHECK(name.size() == 256);
  CHECK(is_own_source(name));
  CHECK_FALSE(is_own_source("rank 0"));
  CHECK(name_of_own_source(1, "a") != name_of_own_source(2, "a"));
  std::string title = "a";
  for (int i = 0; i < 200; ++i)
    title += "\xc3\xa4"; // 'a' with two dots
  for (std::size_t from : {0, 1}) {
    const auto cut = name_of_own_source(1, std::string_view{title}.substr(from));
    CHECK(cut.size() >= 255);
    CHECK(cut == as_utf8(cut));
  }
  CHECK(name_of_own_source(1, "\xff").ends_with(", \\xFF"));
}

} // namespace
} // namespace leat::own_source_test
