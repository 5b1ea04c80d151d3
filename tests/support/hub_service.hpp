#pragma once

#include "runtime/storage/remote/web_address.hpp"
#include "tests/support/fault_server.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace leat::test {

/// What the Hub does for one data set, "o/n", whose files lie in `folder`: it checks who asks, says
/// which commit "main" is, lists page by page, and sends whoever wants a large file, *.tar, on to
/// another server.
struct hub_service_of_test {
  std::string folder = {};
  /// Gives the large files.
  std::string other_server = {};
  /// Of this service, which its lists name.
  std::string address = {};
  std::string token = "T";
  std::string commit = std::string(40, 'a');
  /// Stands in the addresses to which it sends.
  std::string signature = "1";
  std::size_t files_per_page = 1000;

  std::optional<fault_server::response> operator()(const fault_server::request& x) const {
    const auto shown = x.headers.find("Authorization");
    if (!token.empty() && (shown == x.headers.end() || shown->second != "Bearer " + token))
      return fault_server::response{"401 Unauthorized", "X-Error-Code: RepoNotFound\r\n", "{}"};
    const auto path = x.path.substr(0, x.path.find('?'));
    if (path == "api/datasets/o/n/revision/main" || path == "api/datasets/o/n/revision/a/b")
      return fault_server::response{"200 OK", "", nlohmann::json{{"sha", commit}}.dump()};
    const auto tree = "api/datasets/o/n/tree/" + commit;
    if (path == tree || path.starts_with(tree + "/"))
      return list(path == tree ? "" : path.substr(tree.size() + 1), x);
    const auto files = "datasets/o/n/resolve/" + commit + "/";
    if (path.starts_with(files) && path.ends_with(".tar"))
      return fault_server::response{"302 Found",
                                    "Location: " + other_server + "/"
                                        + percent_encoded(path.substr(files.size()), true)
                                        + "?sign=" + signature + "\r\n"};
    return {}; // a file, or none
  }

private:
  std::optional<fault_server::response> list(const std::string& path,
                                             const fault_server::request& x) const {
    const auto place = std::filesystem::path{folder} / path;
    if (!std::filesystem::is_directory(place))
      return fault_server::response{"404 Not Found", "X-Error-Code: EntryNotFound\r\n", "{}"};
    std::vector<nlohmann::json> all;
    for (const auto& entry : std::filesystem::directory_iterator{place}) {
      const auto name = (path.empty() ? "" : path + "/") + entry.path().filename().string();
      if (entry.is_directory())
        all.push_back({{"type", "directory"}, {"path", name}, {"oid", "d"}, {"size", 0}});
      else
        all.push_back({{"type", "file"},
                       {"path", name},
                       {"oid", "g"},
                       {"size", entry.file_size()},
                       {"lfs", {{"oid", "sha"}, {"size", entry.file_size()}}}});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a["path"].template get<std::string>() < b["path"].template get<std::string>();
    });
    const auto cursor = x.target.find("cursor=");
    const std::size_t begin =
        cursor == std::string::npos ? 0 : std::stoull(x.target.substr(cursor + 7));
    const auto end = std::min(all.size(), begin + files_per_page);
    auto page = nlohmann::json::array();
    for (auto i = begin; i < end; ++i)
      page.push_back(all[i]);
    // The Hub names itself, whatever mirror was asked.
    const auto next = "Link: <" + address + x.target.substr(0, x.target.find('?'))
                      + "?recursive=false&cursor=" + std::to_string(end) + ">; rel=\"next\"\r\n";
    return fault_server::response{"200 OK", end < all.size() ? next : "", page.dump()};
  }
};

} // namespace leat::test
