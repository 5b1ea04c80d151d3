#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include "tools/leat/output.hpp"
#include "tools/leat/remote/remote_arguments.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::command {

namespace {

struct ls_options {
  std::vector<std::string> names = {};
  remote_options remote = {};
  bool json = false;
};

/// What one line shows.
struct listed_name {
  std::string name;
  bool is_folder = false;
  object_version version = {};
};

listed_name named(std::string name, const object_stat& x) {
  return {.name = std::move(name), .is_folder = x.is == object_kind::folder, .version = x.version};
}

/// The entries of a folder, in bytewise order.
std::vector<listed_name> entries_of(const object_store& store, const std::string& folder) {
  const auto begin = folder.ends_with('/') ? folder : folder + "/";
  std::vector<listed_name> found;
  store.list(folder, [&](const listed_object& x) {
    const auto name = begin + x.name;
    if (x.is == object_kind::folder)
      found.push_back({.name = name, .is_folder = true});
    else if (x.version)
      found.push_back({.name = name, .version = *x.version});
    else if (x.is != object_kind::other)
      found.push_back(named(name, store.stat(name)));
  });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

/// What a name or pattern stands for: files, or the entries of a folder.
std::vector<listed_name> listed_of(const std::string& name, const store_set& in) {
  const auto& store = in.of(name);
  const bool is_pattern = name.find_first_of("*?[{") != std::string::npos;
  if (!is_pattern) {
    const auto full = store.full_name(name);
    const auto what = store.stat(full);
    if (what.is == object_kind::folder)
      return entries_of(store, full);
    return {named(full, what)};
  }
  const auto files = find_files({name}, "ls", file_kinds::plain, in);
  const auto objects = files.store->open(files.paths);
  objects->expect_stats();
  std::vector<listed_name> found;
  for (std::size_t i = 0; i < files.paths.size(); ++i)
    found.push_back({.name = files.paths[i], .version = objects->stat(i)});
  return found;
}

void print_names(const ls_options& x) {
  const store_set in{x.remote};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (const auto& name : x.names)
    for (const auto& found : listed_of(name, in)) {
      files += found.is_folder ? 0 : 1;
      bytes += found.version.size;
      if (!x.json) {
        const auto size = found.is_folder ? std::string{"folder"} : with_commas(found.version.size);
        print_line(std::string(size.size() < 16 ? 16 - size.size() : 0, ' ') + size + "  "
                   + found.name + (found.is_folder ? "/" : ""));
        continue;
      }
      nlohmann::json line{{"name", as_utf8(found.name)},
                          {"kind", found.is_folder ? "folder" : "file"}};
      if (!found.is_folder) {
        line["bytes"] = found.version.size;
        line["version"] = as_utf8(found.version.tag);
      }
      print_line(line.dump());
    }
  if (!x.json)
    print_line(with_commas(files) + (files == 1 ? " file, " : " files, ") + readable_bytes(bytes));
}

} // namespace

void add_ls(CLI::App& app) {
  auto* sub = app.add_subcommand("ls", "List files and folders of servers, and of this machine");
  auto x = std::make_shared<ls_options>();
  sub->add_option("NAME", x->names,
                  "Names of files and folders: paths, s3://, gs://, hf:// and, of files, https://; "
                  "braces and globs stand for files")
      ->required()
      ->expected(1, -1);
  add_remote_options(*sub, x->remote);
  sub->add_flag("--json", x->json, "Print a JSON object per line");
  sub->callback([x] { print_names(*x); });
}

} // namespace leat::command
