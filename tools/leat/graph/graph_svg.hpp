#pragma once

#include <leat/graph.hpp>

#include <string>

namespace leat::command {

/// The graph as an SVG picture, facts above it and a legend below: needs no other file, and any
/// font of fixed width.
std::string to_svg(const plan_graph& x);

} // namespace leat::command
