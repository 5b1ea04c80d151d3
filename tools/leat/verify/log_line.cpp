#include "tools/leat/verify/log_line.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

namespace leat::command {

namespace {

using nlohmann::json;

hash128 hash_of(const json& x) {
  auto hash = parse_hash128(x.get_ref<const std::string&>());
  if (!hash)
    throw std::runtime_error("\"" + x.get<std::string>() + "\" is not a hash of 32 digits");
  return *hash;
}

std::optional<std::uint64_t> optional_number(const json& x, const char* name) {
  auto found = x.find(name);
  if (found == x.end() || found->is_null())
    return std::nullopt;
  return found->get<std::uint64_t>();
}

/// Far above any job; a log's numbers must not decide how much memory its reader takes.
constexpr std::uint64_t max_world_size = 1'000'000;

void check_rank(const std::optional<std::uint64_t>& rank, std::uint64_t world_size) {
  if (rank.value_or(0) >= world_size || world_size > max_world_size)
    throw std::runtime_error("rank " + std::to_string(rank.value_or(0)) + " of "
                             + std::to_string(world_size));
}

attempt_start parse_start(const json& x) {
  attempt_start result;
  const auto program = x.find("leat");
  if (program == x.end() || !program->is_string())
    throw std::runtime_error(
        "neither a batch, which has \"step\", nor a start, which has \"leat\"");
  program->get_to(result.program);
  result.world_size = x.value("world_size", std::uint64_t{1});
  result.rank = optional_number(x, "rank");
  if (auto at = x.find("resumed_at"); at != x.end() && !at->is_null())
    result.resumed_at = {at->at("epoch"), at->at("step")};
  result.continues = x.value("continues", false);
  result.term = optional_number(x, "term");
  result.records = x.value("records", std::uint64_t{0});
  if (auto digest = x.find("data_digest"); digest != x.end())
    result.data_digest = hash_of(*digest);
  check_rank(result.rank, result.world_size);
  return result;
}

logged_bad parse_bad(const json& x) {
  logged_bad result{x.at(0), x.at(1), x.at(2), {}};
  if (!x.at(3).is_null())
    result.substitute = x.at(3);
  return result;
}

void check_consistent(const batch_line& x) {
  check_rank(x.rank, x.world_size);
  if (x.ids.size() != x.positions.size())
    throw std::runtime_error(std::to_string(x.positions.size()) + " positions but "
                             + std::to_string(x.ids.size()) + " ids");
  if (!x.pixels.empty() && x.pixels.size() != x.ids.size())
    throw std::runtime_error(std::to_string(x.ids.size()) + " ids but "
                             + std::to_string(x.pixels.size()) + " pixel hashes");
}

batch_line parse_batch(const json& x) {
  batch_line result;
  x.at("epoch").get_to(result.epoch);
  x.at("step").get_to(result.step);
  result.rank = optional_number(x, "rank");
  x.at("world_size").get_to(result.world_size);
  x.at("positions").get_to(result.positions);
  x.at("ids").get_to(result.ids);
  result.digest = hash_of(x.at("digest"));
  if (auto pixels = x.find("pixels"); pixels != x.end())
    std::transform(pixels->begin(), pixels->end(), std::back_inserter(result.pixels), hash_of);
  if (auto bad = x.find("bad"); bad != x.end())
    std::transform(bad->begin(), bad->end(), std::back_inserter(result.bad), parse_bad);
  check_consistent(result);
  return result;
}

} // namespace

log_line parse_log_line(std::string_view text) {
  auto x = json::parse(text);
  if (!x.is_object())
    throw std::runtime_error("not a JSON object");
  return x.contains("step") ? log_line{parse_batch(x)} : log_line{parse_start(x)};
}

} // namespace leat::command
