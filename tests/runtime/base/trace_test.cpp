#include "runtime/base/metrics.hpp"
#include "runtime/base/trace.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/notice.hpp>
#include <leat/trace.hpp>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace leat::test::trace_test {
namespace {

using nlohmann::json;

/// What a recorder wrote, which is complete JSON at any time.
struct written {
  std::string text;
  std::string ending;

  trace_recorder::sink sink() {
    return [this](std::string_view more, std::string_view end) {
      text += more;
      ending = end;
    };
  }
  json whole() const { return json::parse(text + ending); }
  /// Spans with this name.
  std::vector<json> spans(const std::string& name) const {
    std::vector<json> result;
    const auto all = whole();
    for (const auto& x : all.at("traceEvents"))
      if (x.at("ph") == "X" && x.at("name") == name)
        result.push_back(x);
    return result;
  }
};

bool is_about(const json& x, double microseconds) {
  return std::abs(x.get<double>() - microseconds) < 0.0005;
}

TEST_CASE("a trace is whole JSON before, between and after its spans") {
  written out;
  {
    trace_recorder x{1 << 20, out.sink()};
    REQUIRE(out.whole().at("traceEvents").size() == 1);
    auto& track = x.track(x.add_process("rank 0"), 7, "worker 7");
    const auto rows = x.name("rows", {"epoch", "rows"});
    const auto now = steady_ns();
    track.add(rows, now, now + 1'234'567, {3, 64});
    x.flush();
    REQUIRE(out.spans("rows").size() == 1);
    track.add(rows, now + 2'000'000, now + 2'000'001, {4, 65});
  }
  const auto spans = out.spans("rows");
  REQUIRE(spans.size() == 2);
  REQUIRE(is_about(spans[0].at("dur"), 1234.567));
  REQUIRE(is_about(spans[1].at("dur"), 0.001));
  const auto between = spans[1].at("ts").get<double>() - spans[0].at("ts").get<double>();
  REQUIRE(is_about(json(between), 2000));
  REQUIRE(spans[0].at("tid") == 7);
  REQUIRE(spans[0].at("args") == json{{"epoch", 3}, {"rows", 64}});
  REQUIRE(out.whole().at("otherData").at("spans_left_out") == 0);
}

TEST_CASE("tracks and groups of tracks say their names, whatever is in them") {
  written out;
  trace_recorder x{1 << 20, out.sink()};
  const auto process = x.add_process("rank \"0\"\n\\");
  auto& track = x.track(process, 1, "worker \xff");
  REQUIRE(&x.track(process, 1, "again") == &track);
  REQUIRE(&x.track(x.add_process("rank 1"), 1, "worker") != &track);
  std::vector<std::string> names;
  const auto whole = out.whole();
  for (const auto& e : whole.at("traceEvents"))
    if (e.at("args").contains("name"))
      names.push_back(e.at("args").at("name"));
  REQUIRE(names == std::vector<std::string>{"rank \"0\"\n\\", "worker \\xFF", "rank 1", "worker"});
}

TEST_CASE("details end at three quarters of a trace's size and the rest at its limit") {
  constexpr std::uint64_t limit = 64 << 10;
  written out;
  {
    trace_recorder x{limit, out.sink()};
    auto& track = x.track(x.add_process("rank 0"), 1, "worker");
    const auto row = x.name("row", {}, true);
    const auto batch = x.name("batch");
    for (int i = 0; i < 5000; ++i) {
      track.add(row, i, i + 1);
      if (i % 4 == 0)
        track.add(batch, i, i + 1);
    }
    REQUIRE(x.left_out() > 0);
  }
  REQUIRE(out.text.size() + out.ending.size() <= limit);
  REQUIRE(out.text.size() > limit / 8 * 7);
  const auto rows = out.spans("row").size();
  const auto batches = out.spans("batch").size();
  REQUIRE(rows < 5000);
  REQUIRE(batches > rows / 4 + 1); // batches were still recorded
  const auto whole = out.whole();
  REQUIRE(whole.at("otherData").at("spans_left_out") == 6250 - rows - batches);
  int notes = 0;
  for (const auto& e : whole.at("traceEvents"))
    notes += e.at("ph") == "i" ? 1 : 0;
  REQUIRE(notes == 2);
}

TEST_CASE("several threads write one trace") {
  written out;
  {
    trace_recorder x{8 << 20, out.sink()};
    const auto process = x.add_process("rank 0");
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        auto& track = x.track(process, t % 2, "pair");
        const auto name = x.name("row", {"n"}, true);
        for (int i = 0; i < 2000; ++i)
          track.add(name, i, i + 1, {t});
        x.flush();
      });
  }
  REQUIRE(out.spans("row").size() == 8000);
}

TEST_CASE(
    "a trace that cannot be written any more says so once, and the job continues without it") {
  std::vector<std::string> notices;
  set_notice_handler([&](const std::string& text) { notices.push_back(text); });
  {
    trace_recorder x{1 << 20, [](std::string_view, std::string_view) {
                       throw error(errc::io, {.stage = "trace", .got = "no space"});
                     }};
    auto& track = x.track(x.add_process("rank 0"), 1, "worker");
    for (int i = 0; i < 2000; ++i)
      track.add(x.name("row"), i, i + 1);
    REQUIRE(x.left_out() == 2000);
  }
  set_notice_handler({});
  REQUIRE(notices.size() == 1);
  REQUIRE(has(notices[0], "no space"));
}

TEST_CASE("the file of a trace is whole JSON at any time, and replaces what was there") {
  const temporary_directory at;
  const auto file = at / "trace.json";
  {
    std::ofstream{file} << std::string(1 << 20, 'x');
    trace x{file};
    REQUIRE(json::parse(read_file(file)).at("traceEvents").size() == 1);
    auto& recorder = recorder_of(x);
    auto& track = recorder.track(recorder.add_process("rank 0"), 1, "worker");
    REQUIRE(json::parse(read_file(file)).at("traceEvents").size() == 4);
    track.add(recorder.name("row"), 1, 2);
    x.flush();
    REQUIRE(json::parse(read_file(file)).at("traceEvents").size() == 5);
    track.add(recorder.name("row"), 2, 3);
  }
  REQUIRE(json::parse(read_file(file)).at("traceEvents").size() == 6);
}

TEST_CASE("a trace that goes into a pipe is whole JSON once it ends") {
  const temporary_directory at;
  const auto pipe = at / "trace";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string text;
  std::jthread reader{[&] { text = read_file(pipe); }};
  {
    trace x{pipe};
    auto& recorder = recorder_of(x);
    auto& track = recorder.track(recorder.add_process("rank 0"), 1, "worker");
    track.add(recorder.name("row"), 1, 2);
    x.flush();
    track.add(recorder.name("row"), 2, 3);
  }
  reader.join();
  REQUIRE(json::parse(text).at("traceEvents").size() == 6);
}

TEST_CASE("a trace of too few bytes, or in a directory, is refused") {
  const temporary_directory at;
  REQUIRE_THROWS_AS(trace(at / "x", 1000), error);
  REQUIRE_THROWS_AS(trace(at / "."), error);
  REQUIRE_THROWS_AS(trace(at / "none/x"), error);
}

} // namespace
} // namespace leat::test::trace_test
