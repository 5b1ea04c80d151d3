#include <leat/child_functions.hpp>
#include <leat/functions.hpp>
#include <leat/loader.hpp>
#include <leat/run_worker.hpp>
#include <leat/sources.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

// A child whose functions do what they are told: tests/runtime/children calls them.
//
//   child_program PARENT_PID KIND
//
// Or a program with a job whose map does with the seventh record what it is told, and whose child
// it is itself if the map is isolated:
//
//   child_program job WHAT yes|no

namespace {

using namespace leat;

/// Does what the field "do" says.
void act(sample& x) {
  const auto what = x.has("do") ? x.text("do") : std::string_view{};
  if (what == "crash") {
    std::signal(SIGSEGV, SIG_DFL); // a sanitizer would exit
    std::raise(SIGSEGV);
  }
  if (what == "abort")
    std::abort();
  if (what == "exit")
    ::_exit(3);
  if (what == "kill")
    std::raise(SIGKILL);
  if (what == "throw")
    throw std::runtime_error("by the function");
  if (what == "bad")
    throw bad_sample(cause::truncated, "by the function");
  if (what == "no memory")
    throw std::bad_alloc{};
  if (what == "hang")
    for (;;)
      ::pause();
  if (what == "tear") { // writes into memory that is not its own
    constexpr std::size_t many = 200;
    const std::string wrong(many, '\xff');
    (void)!::pwrite(child_content, wrong.data(), wrong.size(), 0);
  }
}

void map(sample& x, context& c) {
  act(x);
  x.set("id", x.id());
  x.set("drawn", c.rng()());
  x.set("pid", static_cast<std::int64_t>(::getpid()));
}

void tell_seventh(sample& x, const std::string& what) {
  std::uint64_t number = 0;
  std::memcpy(&number, x.bytes("value").data(), sizeof number);
  x.set("do", number == 7 ? std::string_view{what} : std::string_view{});
}

/// Prints what a job hands over. Samples that are bad for other reasons than that they ended their
/// process are not named.
int run_job(const std::string& what, bool isolate) try {
  const auto tell = [what](sample& x, context&) { tell_seventh(x, what); };
  const auto data = count(40)
                        .shuffle({.seed = 3})
                        .map("tell@1", tell)
                        .map("mine@1", map, {.isolate = isolate})
                        .map(drop_fields({"pid"}))
                        .batch(8);
  loader all{data, {.workers = 2, .epochs = 1, .bad_samples = bad_sample_policy::mask}};
  std::string killed;
  while (const auto batch = all.next()) {
    for (const auto& id : batch->ids())
      std::printf("%s\n", id.c_str());
    for (const auto& bad : batch->bad())
      if (bad.why == cause::killed)
        killed += bad.id + ' ' + std::string{to_string(bad.why)} + ' ' + bad.text + '\n';
    const auto drawn = batch->view<std::uint32_t, 1>("drawn");
    for (std::size_t i = 0; i < batch->size(); ++i)
      std::printf("%d %u\n", batch->valid()[i] ? 1 : 0, batch->valid()[i] ? drawn[i] : 0U);
  }
  std::printf("%s", killed.c_str());
  return EXIT_SUCCESS;
} catch (const error& problem) {
  std::printf("%s\n", problem.what());
  return EXIT_SUCCESS;
}

std::string content_of(int file) {
  std::ifstream from{"/proc/self/fd/" + std::to_string(file)};
  return {std::istreambuf_iterator<char>{from}, {}};
}

served_functions functions_of(std::string_view kind) {
  served_functions found;
  if (kind == "map")
    found.all = served(map_stage{.name = "map@1", .make = [] { return map; }});
  else if (kind == "filter")
    found.all = served(filter_stage{.name = "filter@1", .make = [] {
                                      return [](sample& x) {
                                        act(x);
                                        return x.get<int>("n") % 2 == 1;
                                      };
                                    }});
  else if (kind == "content")
    found.all = served(map_stage{.name = "map@1", .make = [] {
                                   return [text = content_of(child_content)](sample& x, context&) {
                                     x.set("content", text);
                                   };
                                 }});
  else
    found.refusal = "no such functions";
  return found;
}

} // namespace

int main(int count, char** words) {
  leat::run_worker(count, words, {{.name = "mine@1", .make = [] { return map; }}});
  constexpr int needed = 3;
  if (count < needed)
    return EXIT_FAILURE;
  const std::string_view kind{words[2]};
  if (std::string_view{words[1]} == "job")
    return run_job(words[2], std::string_view{words[count - 1]} == "yes");
  if (kind == "leave")
    return 4;
  end_with_parent(std::atoi(words[1])); // NOLINT(cert-err34-c)
  serve_functions(functions_of(kind));
  return EXIT_SUCCESS;
}
