#include "python/module/processes/process_functions.hpp"

#include <utility>
#include <vector>

namespace leat::python {

namespace {

/// Makes one call and returns its result.
std::string call(process_team& team, std::uint64_t operation, sample& x,
                 std::string argument = {}) {
  process_call made{&x, nullptr, std::move(argument)};
  team.call(operation, {&made, 1});
  return std::move(made.result);
}

} // namespace

nb::object recipe_type() {
  return nb::module_::import_("leat.processes").attr("Recipe");
}

std::shared_ptr<process_pool> pool_of(kept_objects& keeper, std::string stage,
                                      std::size_t processes, nb::object recipe) {
  const auto kept = keeper.add(std::move(recipe));
  return std::make_shared<process_pool>(process_recipe{kept, std::move(stage), processes});
}

std::function<map_together_function()> map_in(std::shared_ptr<process_pool> pool) {
  return [pool = std::move(pool)] {
    return [team = pool->join()](std::span<sample* const> samples, std::span<context> in) {
      std::vector<process_call> calls;
      calls.reserve(samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i)
        calls.push_back({samples[i], &in[i]});
      team->call(0, calls);
    };
  };
}

std::function<std::function<bool(sample&)>()> filter_in(std::shared_ptr<process_pool> pool) {
  return [pool = std::move(pool)] {
    return [team = pool->join()](sample& x) { return number_in(call(*team, 0, x)) != 0; };
  };
}

std::function<flat_map_function()> flat_map_in(std::shared_ptr<process_pool> pool) {
  return [pool = std::move(pool)]() -> flat_map_function {
    const auto team = pool->join();
    return {[team](sample& x) { return number_in(call(*team, 0, x)); },
            [team](sample& x, std::uint64_t child) { call(*team, 1, x, bytes_of_number(child)); }};
  };
}

std::function<scan_function()> scan_in(std::shared_ptr<process_pool> pool) {
  return [pool = std::move(pool)]() -> scan_function {
    const auto team = pool->join();
    return {[team](sample& x) { return call(*team, 0, x); },
            [team](sample& x, std::string_view result) { call(*team, 1, x, std::string{result}); }};
  };
}

std::function<void(std::uint64_t, sample&)> reader_in(std::shared_ptr<process_pool> pool) {
  return [pool = std::move(pool)](std::uint64_t record, sample& into) {
    call(*pool->join_for_good(), 0, into, bytes_of_number(record));
  };
}

} // namespace leat::python
