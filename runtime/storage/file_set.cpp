#include "runtime/storage/file_set.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/remote/listed_matches.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

namespace leat {

namespace {

namespace fs = std::filesystem;

void check_count(std::uint64_t count, std::string_view pattern) {
  if (count > max_files)
    refuse_argument(
        "braces", excerpt(without_secrets(std::string{pattern})) + ", which stands for more files",
        "at most " + std::to_string(max_files) + " files for one pattern");
}

/// Position of the brace that closes the one at `open`, or npos.
std::size_t closing(std::string_view pattern, std::size_t open) {
  int depth = 0;
  for (auto i = open; i < pattern.size(); ++i) {
    depth += pattern[i] == '{' ? 1 : pattern[i] == '}' ? -1 : 0;
    if (depth == 0)
      return i;
  }
  return std::string_view::npos;
}

/// The parts between the commas that are not inside an inner brace.
std::vector<std::string_view> choices(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    depth += list[i] == '{' ? 1 : list[i] == '}' ? -1 : 0;
    if (list[i] == ',' && depth == 0) {
      parts.push_back(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(list.substr(begin));
  return parts;
}

std::optional<std::uint64_t> parse(std::string_view digits) {
  std::uint64_t value = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || end != digits.data() + digits.size())
    return {};
  return value;
}

std::string padded(std::uint64_t value, std::size_t width) {
  auto digits = std::to_string(value);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

/// The numbers of a range such as "000..099", as texts; empty for anything else.
std::vector<std::string> count_range(std::string_view range) {
  const auto dots = range.find("..");
  if (dots == std::string_view::npos)
    return {};
  const auto left = range.substr(0, dots);
  const auto right = range.substr(dots + 2);
  const auto first = parse(left);
  const auto last = parse(right);
  if (!first || !last)
    return {};
  const auto steps = *first < *last ? *last - *first : *first - *last;
  check_count(steps, range);
  const bool zeros = (left.size() > 1 && left[0] == '0') || (right.size() > 1 && right[0] == '0');
  const auto width = zeros ? std::max(left.size(), right.size()) : 0;
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i <= steps; ++i)
    texts.push_back(padded(*first < *last ? *first + i : *first - i, width));
  return texts;
}

/// The texts that the inside of one pair of braces stands for; empty if it is not a list or range.
std::vector<std::string> alternatives(std::string_view inside) {
  auto parts = choices(inside);
  if (parts.size() == 1)
    return count_range(inside);
  std::vector<std::string> texts;
  for (auto part : parts)
    for (auto& text : expand_braces(part))
      texts.push_back(std::move(text));
  return texts;
}

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Why a path that a pattern matches is not a file of the source.
passed_over_reason reason_for_path(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return passed_over_reason::folder;
  return fs::exists(path, ignored) ? passed_over_reason::special : passed_over_reason::lost_link;
}

std::vector<std::string> match_glob(const std::string& pattern, passed_over& others) {
  glob_t found{};
  std::unique_ptr<glob_t, void (*)(glob_t*)> owner{&found, ::globfree};
  ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_NOESCAPE, nullptr, &found);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    std::string path{found.gl_pathv[i]};
    if (path.ends_with(".leat-index") || path.ends_with(".leat-manifest"))
      continue;
    if (is_file(path))
      paths.push_back(std::move(path));
    else
      others.add_by_name(reason_for_path(path), path);
  }
  // glob() itself would sort by locale.
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_pipe(const std::string& path) {
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  return type == fs::file_type::fifo || type == fs::file_type::character;
}

/// Objects that are not on this machine: opening them finds out whether they exist.
std::vector<std::string> match_far(const object_store& store, const std::string& pattern,
                                   const std::string& stage, passed_over& others) {
  auto name = store.full_name(pattern);
  if (!is_glob(std::string_view{pattern}.substr(pattern.find('/', pattern.find("://") + 3))))
    return {std::move(name)};
  if (!store.can_list())
    throw_file_error(errc::invalid_argument, stage, pattern,
                     "a pattern for files of a server that cannot be listed",
                     "their names; braces stand for several: \"{000..099}.tar\"");
  return listed_matches(store, name, others);
}

std::vector<std::string> match(const std::string& pattern, file_kinds kinds, passed_over& others) {
  if (is_file(pattern) || (kinds == file_kinds::with_pipes && is_pipe(pattern)))
    return {pattern};
  return is_glob(pattern) ? match_glob(pattern, others) : std::vector<std::string>{};
}

/// A "?" of a pattern is shown. What has a value after it may be a query, and a secret.
std::string without_values(const std::string& name) {
  return name.find_first_of("=@") == std::string::npos ? name : without_secrets(name);
}

/// The path is not a file, or does not exist.
[[noreturn]] void refuse_name(const std::string& name, const std::string& pattern,
                              const std::string& stage) {
  const auto shown = without_values(name);
  if (auto kind = kind_of_path(name); kind && !is_file(name))
    throw_file_error(errc::invalid_argument, stage, shown, kind.what + ", which is not a file",
                     std::move(kind.instead));
  std::string needed = "at least one file";
  if (name.find('[') != std::string::npos)
    needed += "; \"[\" begins a set of characters in a pattern, and \"[[]\" stands for itself";
  throw_file_error(errc::not_found, stage, shown,
                   "no file that matches " + excerpt(without_values(pattern)), std::move(needed));
}

std::string common_directory(const std::vector<std::string>& paths) {
  // What the bytewise smallest and largest path share, all those between them share.
  auto [low, high] = std::minmax_element(paths.begin(), paths.end());
  auto common = std::mismatch(low->begin(), low->end(), high->begin(), high->end()).first;
  auto prefix = std::string{low->begin(), common};
  return prefix.substr(0, prefix.rfind('/') + 1);
}

} // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
  // Expands the first braces that are a list or a range; recursion expands the ones inside and
  // after them.
  for (auto open = pattern.find('{'); open != std::string_view::npos;
       open = pattern.find('{', open + 1)) {
    const auto close = closing(pattern, open);
    if (close == std::string_view::npos)
      continue;
    const auto heads = alternatives(pattern.substr(open + 1, close - open - 1));
    if (heads.empty())
      continue;
    const auto tails = expand_braces(pattern.substr(close + 1));
    check_count(std::uint64_t{heads.size()} * tails.size(), pattern);
    std::vector<std::string> texts;
    for (const auto& head : heads)
      for (const auto& tail : tails)
        texts.push_back(std::string{pattern.substr(0, open)} + head + tail);
    return texts;
  }
  return {std::string{pattern}};
}

file_set find_files(const std::vector<std::string>& patterns, const std::string& stage,
                    file_kinds kinds, const store_set& in) {
  file_set files;
  std::set<std::string> seen;
  for (const auto& pattern : patterns)
    for (const auto& name : expand_braces(pattern)) {
      const auto& store = in.of(name);
      if (files.paths.empty())
        files.store = &store;
      else if (files.store != &store)
        throw_file_error(errc::invalid_argument, stage, without_secrets(name),
                         "a file elsewhere than the first one", one_store);
      auto matches = store.is_near() ? match(name, kinds, files.others)
                                     : match_far(store, name, stage, files.others);
      if (matches.empty())
        refuse_name(name, pattern, stage);
      for (const auto& file : matches) {
        auto path = store.is_near() ? fs::absolute(file).lexically_normal().string() : file;
        if (!seen.insert(path).second)
          throw_file_error(errc::invalid_argument, stage, path, "the same file twice",
                           "each file once");
        files.paths.push_back(std::move(path));
      }
    }
  if (files.paths.empty())
    refuse_argument(stage, "no pattern", "at least one pattern");
  const auto directory = common_directory(files.paths);
  for (const auto& path : files.paths)
    files.names.push_back(path.substr(directory.size()));
  return files;
}

} // namespace leat
