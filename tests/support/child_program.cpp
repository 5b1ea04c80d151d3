#include <leat/child_functions.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

// A child whose functions do what they are told: tests/runtime/children calls them.
//
//   child_program PARENT_PID KIND

namespace {

using namespace leat;

/// Does what the field "do" says.
void act(sample& x) {
  const auto what = x.has("do") ? x.text("do") : std::string_view{};
  if (what == "crash")
    std::raise(SIGSEGV);
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
  constexpr int needed = 3;
  if (count < needed)
    return EXIT_FAILURE;
  const std::string_view kind{words[2]};
  if (kind == "leave")
    return 4;
  end_with_parent(std::atoi(words[1])); // NOLINT(cert-err34-c)
  serve_functions(functions_of(kind));
  return EXIT_SUCCESS;
}
