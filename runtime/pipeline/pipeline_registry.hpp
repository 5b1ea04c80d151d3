#pragma once

#include <leat/pipeline.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class sequential_reader;

/// What `sequential` and `once` are called with.
using unit_opener = std::function<std::unique_ptr<sequential_reader>(std::uint64_t unit)>;
using record_maker = std::function<bool(sample&)>;

// The functions that a name and its parameters ("size=224 type=u8") stand for: leat's own, or those
// that the program registered. A function that the program made without parameters gets the given
// ones. All throw `errc::invalid_argument` for an unknown name, for parameters that do not fit, and
// for a registered function that throws or returns one with another name. Any thread.

/// Whether it is one of leat's own maps, in whose place the program has registered none.
bool is_own_map(const std::string& name);
/// The names of all maps that `make_map` knows.
std::vector<std::string> known_maps();

map_stage make_map(const std::string& name, const std::string& parameters);
filter_stage make_predicate(const std::string& name, const std::string& parameters);
flat_map_stage make_flat_map(const std::string& name, const std::string& parameters);
scan_stage make_scan(const std::string& name, const std::string& parameters);

// The sources of the program, by the names under which they were registered. All throw
// `errc::invalid_argument` for an unknown name. Any thread.

std::shared_ptr<const source> registered_source(const std::string& name);
unit_opener registered_sequential(const std::string& name);
record_maker registered_once(const std::string& name);

} // namespace leat
