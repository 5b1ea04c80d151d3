#include "runtime/storage/remote/listed_matches.hpp"

#include <leat/error.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// Adds what matches the rest of a pattern below a folder.
void add_matches(const object_store& store, const std::string& folder, std::string_view rest,
                 passed_over& others, std::vector<std::string>& to) {
  const auto end = std::min(rest.find('/'), rest.size());
  const std::string component{rest.substr(0, end)};
  const bool is_last = end == rest.size();
  const auto after = is_last ? std::string_view{} : rest.substr(end + 1);
  std::vector<std::string> folders;
  // With its "/": that of a folder whose name ends with one is the second.
  store.list(folder + "/", [&](const listed_object& x) {
    if (::fnmatch(component.c_str(), x.name.c_str(), FNM_PERIOD | FNM_NOESCAPE) != 0)
      return;
    auto name = folder + "/" + x.name;
    if (!is_last && x.is == object_kind::folder)
      folders.push_back(std::move(name));
    else if (is_last && x.is == object_kind::folder)
      others.add_by_name(passed_over_reason::folder, name);
    else if (is_last && !name.ends_with(".leat-index") && !name.ends_with(".leat-manifest"))
      to.push_back(std::move(name));
  });
  for (const auto& x : folders)
    try {
      add_matches(store, x, after, others, to);
    } catch (const error& problem) {
      if (problem.code() != errc::not_found) // otherwise it has been removed meanwhile
        throw;
    }
}

} // namespace

std::vector<std::string> listed_matches(const object_store& store, const std::string& pattern,
                                        passed_over& others) {
  const auto glob = pattern.find_first_of("*?[");
  const auto slash = pattern.rfind('/', glob);
  std::vector<std::string> names;
  add_matches(store, pattern.substr(0, slash), std::string_view{pattern}.substr(slash + 1), others,
              names);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace leat
