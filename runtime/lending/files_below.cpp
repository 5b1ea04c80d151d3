#include "runtime/lending/files_below.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/map_parameters.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/hidden_entry.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// The folders, without links.
using folder_list = std::vector<fs::path>;

folder_list found_folders(const std::vector<std::string>& names) {
  folder_list found;
  for (const auto& name : names) {
    std::error_code problem;
    if (auto path = fs::canonical(name, problem); !problem)
      found.push_back(std::move(path));
  }
  return found;
}

/// Follows links.
bool is_below(const fs::path& path, const folder_list& folders) {
  std::error_code problem;
  const auto at = fs::weakly_canonical(path, problem);
  return !problem && std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), at.begin(), at.end()).first == folder.end();
  });
}

/// Where a name leads cannot be told without looking: it goes up, or ends earlier than it says.
bool is_devious(const std::string& name) {
  const fs::path path{name};
  return name.find('\0') != std::string::npos
         || std::find(path.begin(), path.end(), "..") != path.end();
}

/// What relative names mean here is something else.
bool is_named_below(const std::string& name, const folder_list& folders) {
  return name.starts_with('/') && !is_devious(name) && is_below(name, folders);
}

/// What of a pattern stands for one folder or file, whatever there is: up to the first character
/// that may stand for others.
std::string fixed_part(const std::string& pattern) {
  const auto end = pattern.find_first_of("*?[{\\");
  if (end == std::string::npos)
    return pattern;
  const auto slash = pattern.rfind('/', end);
  return slash == std::string::npos ? std::string{} : pattern.substr(0, slash + 1);
}

bool are_below(const operator_node& source, const folder_list& folders) {
  return std::all_of(source.options.begin(), source.options.end(), [&](const node_option& x) {
    if (x.name == "path" || x.name == "directory")
      return is_named_below(std::get<std::string>(x.value), folders);
    if (x.name == "index_dir") {
      const auto& name = std::get<std::string>(x.value);
      return name.empty() || is_named_below(name, folders);
    }
    if (x.name != "patterns")
      return true;
    const auto& patterns = std::get<std::vector<std::string>>(x.value);
    return std::all_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return !is_devious(pattern) && is_named_below(fixed_part(pattern), folders);
    });
  });
}

/// Does not say what is there.
[[noreturn]] void refuse_link(const std::string& op, std::string named) {
  throw_file_error(errc::invalid_argument, op, std::move(named),
                   "a link that leads out of the folders of --data",
                   "--data with the folder that it leads to, too");
}

/// The tokens of a data set lie beside its index.
std::string data_of_index(std::string name) {
  for (const auto* ending : {".idx", ".bin"})
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view{ending}.size());
      break;
    }
  return name;
}

std::vector<std::string> files_of(const operator_node& source, const std::string& pattern) {
  if (source.op != "megatron")
    return find_files({pattern}, source.op).paths;
  std::vector<std::string> found;
  for (auto& index : find_files({data_of_index(pattern) + ".idx"}, source.op).paths) {
    found.push_back(data_of_index(index) + ".bin");
    found.push_back(std::move(index));
  }
  return found;
}

void check_matches(const operator_node& source, const folder_list& folders) {
  for (const auto& pattern : source.get<std::vector<std::string>>("patterns"))
    for (const auto& file : files_of(source, pattern))
      if (!is_below(file, folders))
        refuse_link(source.op, pattern);
}

/// `is_top`: entries are classes, which may be links to folders; those below them are not followed.
void check_folder(const std::string& folder, bool is_top, const folder_list& folders) {
  std::vector<std::string> more;
  local_store().list(folder, [&](const listed_object& x) {
    if (is_hidden_entry(x.name))
      return;
    auto path = folder + '/' + x.name;
    std::error_code ignored;
    if (x.is == object_kind::link && !is_below(path, folders))
      refuse_link("image_folder", folder);
    if (x.is == object_kind::folder
        || (is_top && x.is == object_kind::link && fs::is_directory(path, ignored)))
      more.push_back(std::move(path));
  });
  for (const auto& x : more)
    check_folder(x, false, folders);
}

/// A map that opens a file as soon as it is made.
struct reading_map {
  std::string_view name;
  std::string_view parameter;
};
constexpr std::array reading_maps{reading_map{"sentencepiece@1", "model"},
                                  reading_map{"tokenize@1", "tokenizer"}};

/// Nothing if the parameters can be read in more than one way, as by a map of the program that has
/// the name of one of leat's.
std::optional<std::string> only_value(const std::string& parameters, std::string_view name) {
  const auto words = split_parameters(parameters);
  const auto mark = std::string{name} + '=';
  if (!words || parameters.find(mark) != parameters.rfind(mark))
    return std::nullopt;
  for (const auto& word : *words)
    if (word.name == name)
      return text_of_percent(word.value);
  return std::nullopt;
}

bool may_open(const std::string& name, const folder_list& folders) {
  std::error_code problem;
  const fs::path path{name};
  if (!name.starts_with('/'))
    return !is_devious(name) && fs::status(path, problem).type() == fs::file_type::not_found;
  return is_named_below(name, folders)
         && (!fs::is_directory(path, problem) || is_below(path / "tokenizer.json", folders));
}

} // namespace

bool reads_only_below(const pipeline& x, const std::vector<std::string>& folders) {
  const auto found = found_folders(folders);
  bool all = true;
  for_each_operator(x.root(), [&](const operator_node& node) {
    all = all && (!node.is_source() || are_below(node, found));
  });
  return all;
}

void check_files_below(const pipeline& x, const std::vector<std::string>& folders) {
  const auto found = found_folders(folders);
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (!node.is_source())
      return;
    for (const auto& option : node.options)
      if (option.name == "patterns")
        check_matches(node, found);
      else if (option.name == "directory")
        check_folder(node.get<std::string>("directory"), true, found);
  });
}

std::vector<std::string> files_of_patterns(const operator_node& source) {
  std::vector<std::string> all;
  for (const auto& pattern : source.get<std::vector<std::string>>("patterns"))
    for (auto& file : files_of(source, pattern))
      all.push_back(std::move(file));
  return all;
}

std::string model_not_below(const operator_facts& root, const std::vector<std::string>& folders) {
  const auto found = found_folders(folders);
  std::string first;
  for_each_operator(root, [&](const operator_facts& node) {
    if (!first.empty() || !is_map(node))
      return;
    const auto name = node.get<std::string>("name");
    for (const auto& map : reading_maps) {
      if (name != map.name)
        continue;
      const auto parameters = node.get<std::string>("parameters");
      const auto file = only_value(parameters, map.parameter);
      if (!file || !may_open(*file, found))
        first = file && !file->empty() ? *file : "a file by " + excerpt(parameters);
    }
  });
  return first;
}

} // namespace leat
