#include "runtime/lending/files_below.hpp"

#include "runtime/base/map_parameters.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <variant>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// What of a pattern stands for one folder or file, whatever there is: up to the first character
/// that may stand for others.
std::string fixed_part(const std::string& pattern) {
  const auto end = pattern.find_first_of("*?[{\\");
  if (end == std::string::npos)
    return pattern;
  const auto slash = pattern.rfind('/', end);
  return slash == std::string::npos ? std::string{} : pattern.substr(0, slash + 1);
}

bool is_below(const std::string& pattern, const std::vector<std::string>& folders) {
  const auto fixed = fixed_part(pattern);
  // Relative names mean other files here.
  if (fixed.empty() || fixed.front() != '/' || pattern.find("..") != std::string::npos)
    return false;
  std::error_code problem;
  const auto path = fs::weakly_canonical(fixed, problem);
  if (problem)
    return false;
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    const auto root = fs::canonical(folder, problem);
    if (problem)
      return false;
    const auto [end, at] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return end == root.end();
  });
}

/// The options that name files, or folders of files.
constexpr std::array names_of_files{"patterns", "path", "directory", "index_dir"};

bool is_below(const option_value& x, const std::vector<std::string>& folders) {
  if (const auto* text = std::get_if<std::string>(&x))
    return text->empty() || is_below(*text, folders);
  const auto* texts = std::get_if<std::vector<std::string>>(&x);
  return texts && std::all_of(texts->begin(), texts->end(), [&](const auto& text) {
           return is_below(text, folders);
         });
}

} // namespace

bool reads_only_below(const pipeline& x, const std::vector<std::string>& folders) {
  bool all = true;
  for_each_operator(x.root(), [&](const operator_node& node) {
    for (const auto& option : node.options)
      if (node.is_source()
          && std::count(names_of_files.begin(), names_of_files.end(), std::string_view{option.name})
                 > 0)
        all = all && is_below(option.value, folders);
  });
  return all;
}

std::string model_not_below(const pipeline& x, const std::vector<std::string>& folders) {
  std::string found;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (node.op != "map" || node.is_source() || node.get<std::string>("name") != "sentencepiece@1")
      return;
    const auto words = split_parameters(node.get<std::string>("parameters"));
    for (const auto& word : words ? *words : std::vector<map_parameter>{})
      if (word.name == "model" && !is_below(word.value, folders))
        found = word.value;
  });
  return found;
}

} // namespace leat
