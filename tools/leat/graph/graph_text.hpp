#pragma once

#include <leat/graph.hpp>

#include <string>
#include <vector>

namespace leat::command {

/// What holds for the whole pipeline: "world sizes", "any".
struct graph_fact {
  std::string about;
  std::string text;
};

/// Order, lanes, length of an epoch, world sizes, snapshots: what limits a job.
std::vector<graph_fact> facts_of(const plan_graph& x);

/// The remark beside a step's call: "3 units; keeps unit, and place in it, about 12 bytes".
std::string remark_of(const plan_step& x);
/// "round 2", and what it works on.
std::string title_of(const plan_graph& x, std::size_t round);
/// Where iterators run, or what takes their place.
std::string iterator_caption(const plan_graph& x);
std::string function_caption();
std::string batch_caption();

/// The graph for a terminal: facts, then the rounds in data order, each with its operators from the
/// sources down. Ends with a newline.
std::string to_text(const plan_graph& x);

} // namespace leat::command
