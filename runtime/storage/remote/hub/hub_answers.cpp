#include "runtime/storage/remote/hub/hub_answers.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>

namespace leat {

namespace {

using json = nlohmann::json;

[[noreturn]] void refuse_answer(const std::string& name, std::string got) {
  throw_file_error(errc::io, "list", name, std::move(got),
                   "a list of files, as the Hub gives it (/api/datasets/ORG/NAME/tree)");
}

std::string text_member(const json& from, const char* name) {
  if (!from.is_object())
    return {};
  const auto at = from.find(name);
  return at != from.end() && at->is_string() ? at->get<std::string>() : std::string{};
}

/// The descriptions of data sets, which stand in the facts of a revision, are some levels deep.
constexpr int deepest = 64;

/// What is no JSON is discarded. Without a limit each "[" of an answer would become a value.
json parsed(std::string_view text, const char* stage, const std::string& name) {
  return json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) {
        if (depth > deepest)
          throw_file_error(errc::io, stage, name,
                           "JSON of more than " + std::to_string(deepest) + " levels",
                           "an answer of the Hub");
        return true;
      },
      false);
}

/// The hash of its content, as the Hub's responses have it in their ETag.
std::string hash_of_file(const json& x) {
  const auto large = x.find("lfs");
  auto hash = large == x.end() ? std::string{} : text_member(*large, "oid");
  if (hash.empty())
    hash = text_member(x, "oid");
  return "\"" + hash + "\"";
}

} // namespace

std::string commit_in_facts(std::string_view text, const std::string& name) {
  auto commit = text_member(parsed(text, "open", name), "sha");
  if (commit.size() != 40 || commit.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw_file_error(errc::io, "open", name, "an answer that names no commit",
                     "the facts of a revision, as the Hub gives them");
  return commit;
}

std::vector<listed_object> entries_in_tree(std::string_view text, const std::string& path,
                                           const std::string& name) {
  const auto all = parsed(text, "list", name);
  if (!all.is_array())
    refuse_answer(name, "no list");
  const auto folder = path.empty() ? path : path + "/";
  std::vector<listed_object> entries;
  for (const auto& x : all) {
    const auto full = text_member(x, "path");
    if (!full.starts_with(folder) || full.size() == folder.size()
        || full.find('/', folder.size()) != std::string::npos)
      refuse_answer(name, "a file that lies elsewhere");
    const auto type = text_member(x, "type");
    listed_object entry{.name = full.substr(folder.size())};
    if (type == "directory")
      entry.is = object_kind::folder;
    else if (type == "file") {
      const auto size = x.find("size");
      if (size == x.end() || !size->is_number_unsigned())
        refuse_answer(name, "a file without a size");
      entry.version = object_version{.size = size->get<std::uint64_t>(),
                                     .mtime_ns = object_version::no_time,
                                     .tag = hash_of_file(x)};
    } else
      entry.is = object_kind::other;
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace leat
