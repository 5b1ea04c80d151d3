#include "runtime/pipeline/pipeline_registry.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/functions/built_in.hpp"
#include "runtime/pipeline/name_table.hpp"

#include <leat/once.hpp>
#include <leat/streams.hpp>

#include <utility>

namespace leat {

namespace {

template <class Stage>
using maker_table = name_table<stage_maker<Stage>>;

maker_table<map_stage>& maps() {
  static maker_table<map_stage> table{built_in_maps()};
  return table;
}

/// Those that the program has registered.
name_table<bool>& maps_of_program() {
  static name_table<bool> table;
  return table;
}

maker_table<filter_stage>& predicates() {
  static maker_table<filter_stage> table{built_in_predicates()};
  return table;
}

maker_table<flat_map_stage>& flat_maps() {
  static maker_table<flat_map_stage> table{built_in_flat_maps()};
  return table;
}

maker_table<scan_stage>& scans() {
  static maker_table<scan_stage> table{built_in_scans()};
  return table;
}

name_table<std::shared_ptr<const source>>& sources() {
  static name_table<std::shared_ptr<const source>> table;
  return table;
}

name_table<unit_opener>& sequentials() {
  static name_table<unit_opener> table;
  return table;
}

name_table<record_maker>& once_sources() {
  static name_table<record_maker> table;
  return table;
}

template <class T>
void add(name_table<T>& to, const char* caller, std::string name, T known,
         const char* what = "function") {
  if (name.empty() || !known)
    refuse_argument(caller, std::string{"no "} + (known ? "name" : what),
                    std::string{"a name (\"label@1\") and a "} + what);
  to.set(std::move(name), std::move(known));
}

template <class Stage>
Stage call(const stage_maker<Stage>& make, const std::string& name, const std::string& parameters) {
  try {
    return make(parameters);
  } catch (...) {
    throw error_in_flight(errc::invalid_argument, {.stage = name});
  }
}

/// `kind` is what errors call it: "map".
template <class Stage>
Stage make_stage(const maker_table<Stage>& from, const std::string& kind, const std::string& name,
                 const std::string& parameters) {
  auto made = call(from.get(name, kind), name, parameters);
  if (made.name != name)
    refuse_argument(name, "a " + kind + " named " + excerpt(made.name), name);
  if (made.parameters.empty())
    made.parameters = parameters;
  return made;
}

} // namespace

void register_map(std::string name, stage_maker<map_stage> make) {
  add(maps(), "register_map", name, std::move(make));
  maps_of_program().set(std::move(name), true);
}

void register_predicate(std::string name, stage_maker<filter_stage> make) {
  add(predicates(), "register_predicate", std::move(name), std::move(make));
}

void register_flat_map(std::string name, stage_maker<flat_map_stage> make) {
  add(flat_maps(), "register_flat_map", std::move(name), std::move(make));
}

void register_scan(std::string name, stage_maker<scan_stage> make) {
  add(scans(), "register_scan", std::move(name), std::move(make));
}

void register_source(std::string name, std::shared_ptr<const source> data) {
  add(sources(), "register_source", std::move(name), std::move(data), "source");
}

void register_sequential(std::string name, unit_opener open) {
  add(sequentials(), "register_sequential", std::move(name), std::move(open));
}

void register_once(std::string name, record_maker next) {
  add(once_sources(), "register_once", std::move(name), std::move(next));
}

bool is_own_map(const std::string& name) {
  return built_in_maps().contains(name) && !maps_of_program().has(name);
}

std::vector<std::string> known_maps() {
  return maps().all();
}

map_stage make_map(const std::string& name, const std::string& parameters) {
  return make_stage(maps(), "map", name, parameters);
}

filter_stage make_predicate(const std::string& name, const std::string& parameters) {
  return make_stage(predicates(), "filter", name, parameters);
}

flat_map_stage make_flat_map(const std::string& name, const std::string& parameters) {
  return make_stage(flat_maps(), "flat_map", name, parameters);
}

scan_stage make_scan(const std::string& name, const std::string& parameters) {
  return make_stage(scans(), "scan", name, parameters);
}

std::shared_ptr<const source> registered_source(const std::string& name) {
  return sources().get(name, "indexed");
}

unit_opener registered_sequential(const std::string& name) {
  return sequentials().get(name, "sequential");
}

record_maker registered_once(const std::string& name) {
  return once_sources().get(name, "once");
}

} // namespace leat
