#pragma once

#include <leat/pipeline.hpp>

#include <memory>
#include <string>

namespace leat {

/// The map that a name and its parameters ("size=224 type=u8") stand for: of leat, or registered
/// with `register_map`. One that a program made without parameters gets the given ones.
/// Throws `errc::invalid_argument` for an unknown name, parameters that do not fit, and a
/// registered function that throws or makes another map. Any thread.
map_stage make_map(const std::string& name, const std::string& parameters);

/// The source registered under this name. Throws `errc::invalid_argument`. Any thread.
std::shared_ptr<const source> registered_source(const std::string& name);

} // namespace leat
