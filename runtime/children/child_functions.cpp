#include "runtime/children/child_team.hpp"

#include <leat/child_functions.hpp>

#include <cstring>
#include <memory>
#include <utility>

namespace leat {

namespace {

// Numbers that are arguments and results.

std::uint64_t number_in(std::string_view bytes) noexcept {
  std::uint64_t x = 0;
  if (bytes.size() == sizeof x)
    std::memcpy(&x, bytes.data(), sizeof x);
  return x;
}

std::string bytes_of_number(std::uint64_t x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

/// Makes one call and returns its result.
std::string call(child_pool::team& team, std::uint64_t operation, sample& x,
                 std::string argument = {}) {
  function_call made{&x, nullptr, std::move(argument)};
  team.call(operation, {&made, 1});
  return std::move(made.result);
}

served_function alone(std::function<void(function_call&)> f) {
  return {[f = std::move(f)](auto calls) { f(*calls[0]); }};
}

} // namespace

std::function<map_together_function()> map_in(std::shared_ptr<child_pool> pool) {
  return [pool = std::move(pool)] {
    return [team = pool->join()](std::span<sample* const> samples, std::span<context> in) {
      std::vector<function_call> calls;
      calls.reserve(samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i)
        calls.push_back({samples[i], &in[i]});
      team->call(0, calls);
    };
  };
}

std::function<std::function<bool(sample&)>()> filter_in(std::shared_ptr<child_pool> pool) {
  return [pool = std::move(pool)] {
    return [team = pool->join()](sample& x) { return number_in(call(*team, 0, x)) != 0; };
  };
}

std::function<flat_map_function()> flat_map_in(std::shared_ptr<child_pool> pool) {
  return [pool = std::move(pool)]() -> flat_map_function {
    const auto team = pool->join();
    return {[team](sample& x) { return number_in(call(*team, 0, x)); },
            [team](sample& x, std::uint64_t child) { call(*team, 1, x, bytes_of_number(child)); }};
  };
}

std::function<scan_function()> scan_in(std::shared_ptr<child_pool> pool) {
  return [pool = std::move(pool)]() -> scan_function {
    const auto team = pool->join();
    return {[team](sample& x) { return call(*team, 0, x); },
            [team](sample& x, std::string_view result) { call(*team, 1, x, std::string{result}); }};
  };
}

std::function<void(std::uint64_t, sample&)> reader_in(std::shared_ptr<child_pool> pool) {
  return [pool = std::move(pool)](std::uint64_t record, sample& into) {
    call(*pool->join_for_good(), 0, into, bytes_of_number(record));
  };
}

std::vector<served_function> served(const map_stage& x) {
  if (!x.make_together)
    return {alone([f = x.make()](function_call& call) { f(*call.on, *call.in); })};
  return {{[f = x.make_together()](std::span<function_call* const> calls) {
             std::vector<sample*> samples;
             std::vector<context> places;
             for (const auto* call : calls) {
               samples.push_back(call->on);
               places.push_back(*call->in);
             }
             f(samples, places);
           },
           true}};
}

std::vector<served_function> served(const filter_stage& x) {
  return {alone(
      [f = x.make()](function_call& call) { call.result = bytes_of_number(f(*call.on) ? 1 : 0); })};
}

std::vector<served_function> served(const flat_map_stage& x) {
  const auto f = x.make();
  return {alone([f](function_call& call) { call.result = bytes_of_number(f.count(*call.on)); }),
          alone([f](function_call& call) { f.pick(*call.on, number_in(call.argument)); })};
}

std::vector<served_function> served(const scan_stage& x) {
  const auto f = x.make();
  return {alone([f](function_call& call) { call.result = f.look(*call.on); }),
          alone([f](function_call& call) { f.apply(*call.on, call.argument); })};
}

std::vector<served_function> served_reader(std::function<void(std::uint64_t, sample&)> read) {
  return {alone(
      [read = std::move(read)](function_call& call) { read(number_in(call.argument), *call.on); })};
}

} // namespace leat
