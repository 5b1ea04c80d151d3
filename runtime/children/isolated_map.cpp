#include "runtime/children/isolated_map.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/value_bytes.hpp"
#include "runtime/device/own_folder.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/pipeline/name_table.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/child_functions.hpp>
#include <leat/functions.hpp>

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// The first argument of a child; its parent's process id follows.
constexpr std::string_view child_word = "child-of";

using recipe_maker = std::function<child_recipe(const std::string&, const std::string&)>;

name_table<recipe_maker>& binding() {
  static name_table<recipe_maker> table;
  return table;
}

/// Maps that were known when `run_worker` was called, and so are in children.
name_table<bool>& maps_of_children() {
  static name_table<bool> table;
  return table;
}

std::atomic<bool> is_worker{false};

/// The installed command, which knows leat's own maps.
std::string command() {
  std::error_code ignored;
  const auto folder = own_folder();
  for (const char* from : {"../bin", LEAT_PROGRAMS_FROM_LIBRARIES})
    if (const auto file = (folder / from / "leat").lexically_normal(); fs::exists(file, ignored))
      return file;
  throw error(errc::worker_lost,
              {.file = (folder / LEAT_PROGRAMS_FROM_LIBRARIES / "leat").lexically_normal(),
               .got = "no command leat, as which isolated maps run",
               .needed = "the command that belongs to this library, or run_worker(argc, "
                         "argv) first in main"});
}

child_recipe recipe_for(const std::string& name, const std::string& parameters) {
  if (binding().has("maps"))
    return binding().get("maps", "isolate")(name, parameters);
  const auto start = [name, parameters] {
    return child_start{.arguments = {is_worker ? "/proc/self/exe" : command(),
                                     std::string{child_word}, std::to_string(::getpid())},
                       .content = bytes_written_by([&](value_writer& to) {
                         to.text(own_version());
                         to.text(name);
                         to.text(parameters);
                       })};
  };
  return {.stage = name, .start = start};
}

/// In a child: the functions of the map that it was started for.
std::vector<served_function> requested() {
  constexpr std::size_t most = std::size_t{1} << 30; // parameters are texts of any length
  const auto content =
      read_whole_file("/proc/self/fd/" + std::to_string(child_content), most, "isolate");
  value_reader from{std::string_view{content}};
  if (const auto version = from.text(); version != own_version())
    refuse_argument("isolate", "a job of leat " + std::string{version},
                    "leat " + own_version() + ", as the command is");
  const std::string name{from.text()};
  const std::string parameters{from.text()};
  return served(make_map(name, parameters));
}

[[noreturn]] void be_child(const char* parent) {
  end_with_parent(std::atoi(parent)); // NOLINT(cert-err34-c): it ends if that is not its parent
  std::signal(SIGINT, SIG_IGN);       // Ctrl-C is for the job, which ends its children
  served_functions functions;
  try {
    functions.all = requested();
  } catch (...) {
    functions.refusal = exception_text();
  }
  functions.flush = [] { (void)std::fflush(nullptr); };
  serve_functions(functions);
  ::_exit(EXIT_SUCCESS);
}

/// In another language the functions of programs say themselves how they are isolated. A map of
/// leat's may be made there by a function of the language, which finds its file, say.
bool is_in_children(const std::string& name) {
  return binding().has("maps") || is_own_map(name) || maps_of_children().has(name);
}

} // namespace

map_stage map_by_name(const std::string& name, const std::string& parameters) {
  return make_map(name, parameters);
}

void set_map_children(recipe_maker recipe) {
  binding().set("maps", std::move(recipe));
}

std::function<map_together_function()> map_isolated_in(child_recipe recipe) {
  recipe.processes = 1;
  return [recipe = std::move(recipe)] { return map_in(std::make_shared<child_pool>(recipe))(); };
}

map_stage isolated(map_stage x) {
  if (!x.make_isolated && !is_in_children(x.name))
    refuse_argument(x.name, "isolate for a function that no child process knows",
                    "run_worker(argc, argv, maps) first in main, with this map among them");
  x.make_together =
      x.make_isolated ? x.make_isolated() : map_isolated_in(recipe_for(x.name, x.parameters));
  x.make = {};
  return x;
}

void run_if_child(int argc, char** argv, std::vector<map_stage> maps) {
  for (auto& x : maps) {
    auto name = x.name;
    register_map(std::move(name), [x = std::move(x)](const std::string& parameters) {
      auto made = x;
      if (made.parameters.empty())
        made.parameters = parameters;
      return made;
    });
  }
  constexpr int arguments_of_child = 3;
  if (argc == arguments_of_child && child_word == argv[1])
    be_child(argv[2]);
  for (const auto& name : known_maps())
    maps_of_children().set(name, true);
  is_worker = true;
}

} // namespace leat
