#include "tools/leat/shares.hpp"

#include "runtime/base/utf8.hpp"

#include "tools/leat/output.hpp"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>

namespace leat::command {

namespace {

/// A line of progress has no room for more.
constexpr std::size_t most_inputs_in_line = 8;

/// An input's share of the sum over all inputs of some number.
double part_of(const mix_counts& mix, const mixed_input& x, std::uint64_t mixed_input::*number) {
  std::uint64_t all = 0;
  for (const auto& input : mix.inputs)
    all += input.*number;
  return all == 0 ? 0 : static_cast<double>(x.*number) / static_cast<double>(all);
}

double share_of(const mix_counts& mix, const mixed_input& x) {
  return part_of(mix, x, mix.cost.empty() ? &mixed_input::samples : &mixed_input::cost);
}

/// False if the weights are unknown.
bool has_weights(const mix_counts& mix) {
  return std::any_of(mix.inputs.begin(), mix.inputs.end(), [](auto& x) { return x.weight > 0; });
}

std::string text_of(const mix_counts& mix, const mixed_input& x) {
  auto text = as_utf8(x.name) + ": " + percent(share_of(mix, x), 1);
  if (!mix.cost.empty())
    text += " of " + mix.cost;
  if (has_weights(mix))
    text += ", weight " + percent(part_of(mix, x, &mixed_input::weight), 1);
  text += "; " + with_commas(x.samples) + " samples";
  if (!mix.cost.empty())
    text += ", " + with_commas(x.cost) + ' ' + mix.cost;
  return text;
}

} // namespace

std::vector<mix_counts> mixes_of(const std::vector<loader_stats>& ranks) {
  std::vector<mix_counts> sum;
  for (const auto& rank : ranks) {
    if (sum.empty()) {
      sum = rank.mixes;
      continue;
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t k = 0; k < sum[i].inputs.size(); ++k) {
        sum[i].inputs[k].samples += rank.mixes[i].inputs[k].samples;
        sum[i].inputs[k].cost += rank.mixes[i].inputs[k].cost;
      }
  }
  return sum;
}

std::string shares_text(const std::vector<mix_counts>& mixes) {
  if (mixes.empty() || mixes.back().inputs.size() > most_inputs_in_line)
    return {};
  const auto& mix = mixes.back();
  std::string text;
  double all = 0;
  for (const auto& x : mix.inputs) {
    text += (text.empty() ? "shares " : ", ") + percent(share_of(mix, x), 1);
    all += share_of(mix, x);
  }
  return all > 0 ? text : std::string{};
}

std::vector<std::string> share_lines(const std::vector<mix_counts>& mixes, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    auto label = mixes.size() == 1 ? std::string{"mix"} : "mix " + std::to_string(i + 1);
    label.resize(std::max(width, label.size() + 1), ' ');
    for (const auto& x : mixes[i].inputs)
      lines.push_back(label + text_of(mixes[i], x));
  }
  return lines;
}

nlohmann::json mixes_to_json(const std::vector<mix_counts>& mixes) {
  auto list = nlohmann::json::array();
  for (const auto& mix : mixes) {
    auto inputs = nlohmann::json::array();
    for (const auto& x : mix.inputs)
      inputs.push_back({{"name", as_utf8(x.name)},
                        {"share", share_of(mix, x)},
                        {"weight", x.weight},
                        {"samples", x.samples},
                        {"cost", x.cost}});
    list.push_back({{"cost", mix.cost}, {"inputs", inputs}});
  }
  return list;
}

} // namespace leat::command
