#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>
#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Functions of pipelines that run in processes of their own: for bindings of other languages.

namespace leat {

/// How a child process is started.
struct child_start {
  /// The program, by an absolute path, and its arguments. It is to call `serve_functions`.
  std::vector<std::string> arguments = {};
  /// What it finds in the file `child_content`, from its beginning on.
  std::string content = {};
};

/// The file descriptors of a child.
inline constexpr int child_socket = 3;
inline constexpr int child_requests = 4;
inline constexpr int child_content = 5;

/// What the children of one stage are started with, and whoever calls them.
struct child_recipe {
  /// "name@version" of the stage, or the source's name, for errors.
  std::string stage = {};
  /// How many there are at one time, at least 1.
  std::size_t processes = 1;
  /// Called before each start, by any thread. What it throws ends the job.
  std::function<child_start()> start = {};
  /// Called now and then while a caller waits: throws what is to end the wait.
  std::function<void()> look = {};
  /// Throws an exception of the child that ends the job: its text, and itself, as
  /// `served_functions::raised` gave it.
  std::function<void(const std::string& text, std::string_view raised)> raise = {};
};

/// The children of one stage while loaders use them. They start with the first call, and end when
/// the last of the functions that call them is destroyed. A child that ends is replaced, and its
/// calls are made again; see docs/architecture.md for what becomes of a call that ends it again.
class LEAT_API child_pool {
public:
  explicit child_pool(child_recipe recipe);
  ~child_pool();
  child_pool(const child_pool&) = delete;
  child_pool& operator=(const child_pool&) = delete;

  class team;
  std::shared_ptr<team> join();
  /// Keeps the children as long as the pool lives.
  std::shared_ptr<team> join_for_good();

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// How the children for one of leat's own maps, by its name and parameters, are started where the
/// program is not one that calls `run_worker`: for bindings of other languages, called once.
LEAT_API void set_map_children(
    std::function<child_recipe(const std::string& name, const std::string& parameters)> recipe);
/// The function of `map_options::isolate`: each worker has a child of its own.
LEAT_API std::function<map_together_function()> map_isolated_in(child_recipe recipe);

// Functions of stages that call functions in children. All workers share them.

LEAT_API std::function<map_together_function()> map_in(std::shared_ptr<child_pool> pool);
LEAT_API std::function<std::function<bool(sample&)>()> filter_in(std::shared_ptr<child_pool> pool);
LEAT_API std::function<flat_map_function()> flat_map_in(std::shared_ptr<child_pool> pool);
LEAT_API std::function<scan_function()> scan_in(std::shared_ptr<child_pool> pool);
/// The reader of a source: the children live as long as it does.
LEAT_API std::function<void(std::uint64_t, sample&)> reader_in(std::shared_ptr<child_pool> pool);

// In the child:

/// One of leat's own maps, or one that is registered, by its name. Throws `errc::invalid_argument`.
LEAT_API map_stage map_by_name(const std::string& name, const std::string& parameters);

/// One call of a function.
struct function_call {
  sample* on = nullptr;
  /// Null for functions that take none.
  context* in = nullptr;
  std::string argument = {};
  std::string result = {};
};

/// A function that runs one call, or several at once.
struct served_function {
  std::function<void(std::span<function_call* const> calls)> run = {};
  bool takes_many = false;
};

// The functions of each kind of stage, in the order in which the functions above call them.
LEAT_API std::vector<served_function> served(const map_stage& x);
LEAT_API std::vector<served_function> served(const filter_stage& x);
LEAT_API std::vector<served_function> served(const flat_map_stage& x);
LEAT_API std::vector<served_function> served(const scan_stage& x);
LEAT_API std::vector<served_function>
served_reader(std::function<void(std::uint64_t, sample&)> read);

struct served_functions {
  std::vector<served_function> all = {};
  /// Why there are none; empty: there are.
  std::string refusal = {};
  /// Called after each message, since the child is killed when it is not needed any more.
  std::function<void()> flush = {};
  /// The exception that has just ended a call with `errc::interrupted`, as bytes; called in the
  /// catch block.
  std::function<std::string()> raised = {};
};

/// Ends this process as soon as the one with this number does, whatever this one does. To be called
/// first, and once.
LEAT_API void end_with_parent(int parent);

/// Serves calls until the other end is closed.
LEAT_API void serve_functions(const served_functions& functions);

} // namespace leat
