#include "tools/leat/graph/graph_text.hpp"

#include "runtime/base/text.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/output.hpp"

#include <algorithm>

namespace leat::command {

namespace {

/// Calls up to this length have their remarks in one column.
constexpr std::size_t widest_call = 48;

std::string about(std::uint64_t bytes) {
  return "about " + (bytes == 1 ? "1 byte" : readable_bytes(bytes));
}

/// "rounds 4, 6"
std::string rounds_of(const plan_step& x) {
  return (x.rounds.size() == 1 ? "round " : "rounds ")
         + listed(x.rounds, [](auto round) { return std::to_string(round + 1); });
}

std::string epoch_of(const plan_graph& x) {
  const auto rule = std::string{name_of(x.epoch.end)} + ": ";
  if (x.epoch.is_endless())
    return rule + "one epoch without end";
  if (const auto batches = x.epoch.batches)
    return rule + with_commas(*batches) + (*batches == 1 ? " batch of " : " batches of ")
           + with_commas(x.epoch.samples.value_or(0)) + " samples";
  return rule + "as many batches as the data gives, not known beforehand";
}

std::string world_sizes_of(const plan_graph& x) {
  if (x.is_indexed())
    return "any";
  return listed(x.epoch.world_sizes(), [](auto size) { return std::to_string(size); })
         + " (a lane and its state belong to one rank)";
}

std::string snapshots_of(const plan_graph& x) {
  if (!x.unkept.empty())
    return "refused: " + listed(x.unkept) + " without a journal (--journal DIR)";
  if (x.is_indexed())
    return "the position, no state";
  const auto others = x.of_unknown_size();
  return about(x.lane_bytes()) + " per lane"
         + (others.empty() ? "" : ", apart from what these keep: " + listed(others));
}

/// Each kind of work once; what is done with samples of earlier rounds goes without saying.
std::string work_text(const std::vector<std::string>& x) {
  std::vector<std::string> kinds;
  for (const auto& work : x)
    if (!work.starts_with("samples of ")
        && std::find(kinds.begin(), kinds.end(), work) == kinds.end())
      kinds.push_back(work);
  return kinds.empty() ? "nothing" : listed(kinds);
}

/// Which work helpers do where they join, and which is left for the rank.
void add_cuts(const plan_graph& x, std::string& to) {
  to += "\nhelpers\n";
  if (x.cuts.empty())
    to += "  none: " + x.not_lent + '\n';
  for (const auto& cut : x.cuts) {
    to += cut.sent == "items" ? "  with the data: " : "  sent records: ";
    to += work_text(cut.by_helper);
    if (!cut.by_rank.empty())
      to += "; the rank: " + work_text(cut.by_rank);
    to += '\n';
  }
}

/// A column for each branch that has not been joined yet: "| o-'". All have the same width.
std::vector<std::string> branch_marks(const plan_round& round) {
  std::vector<std::string> marks;
  std::size_t open = 0;
  std::size_t widest = 0;
  for (const auto& step : round.iterator) {
    const auto joined = std::max<std::size_t>(1, step.inputs.size());
    open -= step.inputs.size();
    std::string mark;
    for (std::size_t i = 0; i < open; ++i)
      mark += "| ";
    mark += 'o';
    for (std::size_t i = 1; i < joined; ++i)
      mark += i + 1 < joined ? "-+" : "-'";
    ++open;
    widest = std::max(widest, mark.size());
    marks.push_back(std::move(mark));
  }
  for (auto& x : marks)
    x.resize(widest, ' ');
  return marks;
}

void add_iterator(const plan_round& x, std::string& to) {
  std::size_t width = 0;
  for (const auto& step : x.iterator)
    if (step.call.size() <= widest_call)
      width = std::max(width, step.call.size());
  const auto marks = branch_marks(x);
  for (std::size_t i = 0; i < x.iterator.size(); ++i) {
    auto line = "    " + marks[i] + ' ' + x.iterator[i].call;
    if (const auto remark = remark_of(x.iterator[i]); !remark.empty()) {
      line.resize(std::max(line.size(), 5 + marks[i].size() + width), ' ');
      line += "  " + remark;
    }
    to += line + '\n';
  }
}

void add_round(const plan_graph& x, std::size_t round, std::string& to) {
  to += '\n' + title_of(x, round) + "\n  " + iterator_caption(x) + '\n';
  add_iterator(x.rounds[round], to);
  to += "  " + function_caption() + '\n';
  for (const auto& work : x.rounds[round].function)
    to += "    " + work + '\n';
}

} // namespace

std::vector<graph_fact> facts_of(const plan_graph& x) {
  const auto& epoch = x.epoch;
  std::vector<graph_fact> facts{
      {"order", x.is_indexed() ? "indexed, without state" : "by iterators, a state in every lane"},
      {"lanes", std::to_string(epoch.lanes) + "; a batch takes "
                    + counted(epoch.batch_rows / epoch.lanes, "item") + " of each"},
      {"epoch", epoch_of(x)},
      {"world sizes", world_sizes_of(x)}};
  if (epoch.needs_agreement())
    facts.push_back({"several ranks", "must agree on the end of an epoch (loader_options::agree)"});
  facts.push_back({"snapshots", snapshots_of(x)});
  for (const auto& name : x.feeds)
    facts.push_back({"feed", name + ": served by `leat feed " + name + " --join HOST:PORT`, or a "
                                 + "program (run_feed); record n goes to the rank of lane n mod "
                                 + std::to_string(epoch.lanes)});
  return facts;
}

std::string remark_of(const plan_step& x) {
  auto text = x.rounds.empty() ? x.note : "takes " + rounds_of(x);
  if (x.state.empty())
    return text;
  return text + (text.empty() ? "" : "; ") + "keeps " + x.state
         + (x.state_bytes ? ", " + about(*x.state_bytes) : "");
}

std::string title_of(const plan_graph& x, std::size_t round) {
  return "round " + std::to_string(round + 1) + " of " + std::to_string(x.rounds.size());
}

std::string iterator_caption(const plan_graph& x) {
  return x.is_indexed() ? "formula in the dispatcher, by position"
                        : "iterator in the workers, lane by lane";
}

std::string function_caption() {
  return "function in the workers, in any order";
}

std::string batch_caption() {
  return "in the batcher: rows in their places, batches in order, leased to the trainer";
}

std::string to_text(const plan_graph& x) {
  std::string text;
  for (const auto& fact : facts_of(x)) {
    auto about = fact.about;
    about.resize(14, ' ');
    text += about + fact.text + '\n';
  }
  for (std::size_t i = 0; i < x.rounds.size(); ++i)
    add_round(x, i, text);
  text += '\n' + x.batch + "\n  " + batch_caption() + '\n';
  add_cuts(x, text);
  return text;
}

} // namespace leat::command
