#include "tests/support/command.hpp"
#include "tests/support/tar_writer.hpp"

// Names of files are bytes. Whatever they are, ids are UTF-8 and different (docs/digest.md), and
// the audit reads what leat writes.
namespace leat::test::odd_ids_test {
namespace {

/// Latin-1, UTF-8, what looks like an escape, and what JSON escapes.
const words odd_names{"caf\xE9",   "caf\xC3\xA9", "caf\\xE9", "a\\\\b",
                      "new\nline", "quote\"d",    "\xFF"};

class odd_files : public command_bench {
public:
  odd_files() {
    for (const auto* folder : {"text", "tar", "folder/class\xFE"})
      std::filesystem::create_directories(at / folder);
    tar_writer members;
    std::ofstream list{at / "list"};
    for (const auto& name : odd_names) {
      std::ofstream{at / ("text/" + name)} << "{\"a\":1}\n{\"a\":2}\n";
      std::ofstream{at / ("folder/class\xFE/" + name + ".jpg")} << "no image";
      members.file(name + ".txt", "x");
      if (name.find('\n') == std::string::npos)
        list << name << '\n';
    }
    members.end();
    for (const auto& name : odd_names)
      members.save(at / ("tar/" + name + ".tar"));
  }

  std::string quoted(const std::string& path) const {
    std::string text = "\"";
    for (const char c : at / path) {
      constexpr const char* digits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      (text += "\\x") += {digits[byte >> 4], digits[byte & 15]};
    }
    return text + '"';
  }
};

TEST_CASE("ids: odd names of files come through order, run and verify, from every source") {
  odd_files x;
  const auto lines = odd_names.size();
  std::vector<std::pair<std::string, std::size_t>> pipelines{
      {"tar_shards(" + x.quoted("tar/*") + ")", lines * lines},
      {"tar_stream(" + x.quoted("tar/*") + ")", lines * lines},
      {"tokens(" + x.quoted("text/*") + ", type=\"u8\", length=4)", 4 * lines},
      {"tokens(" + x.quoted("text/*") + ", type=\"u8\", length=4, random_windows=50)", 50},
      {"image_folder(" + x.quoted("folder") + ")", lines},
      {"lines(" + x.quoted("text/*") + ")", 2 * lines},
      {"lines(" + x.quoted("text/*") + ", ranges=2)", 2 * lines},
      {"json_lines(" + x.quoted("text/*") + ")", 2 * lines},
      {"lines(" + x.quoted("list") + ").read_files(\"lines\", folder=" + x.quoted("text") + ")",
       2 * (lines - 1)},
      {"lines(" + x.quoted("list") + ").read_files(\"lines\", folder=" + x.quoted("text")
           + ").flat_map(\"copies@1\", n=1)",
       2 * (lines - 1)}};
  for (const auto& name : odd_names)
    pipelines.emplace_back("raw_records(" + x.quoted("text/" + name) + ", \"u8\", [8])", 2);
  for (const auto& [source, samples] : pipelines) {
    CAPTURE(source);
    const auto job = x.pipeline(source + ".batch(1, end=\"mask\")\n");
    const auto order = x.order(job, 1, x.at / "order.log");
    std::set<std::string> ids;
    for (const auto& [at, batch] : order)
      for (const auto& row : batch)
        ids.insert(row.id);
    REQUIRE(ids.size() == samples);
    std::filesystem::remove(x.at / "run.log");
    x.succeed(words{"run"} + job + words{"--log", x.at / "run.log", "--json"});
    x.verify_good({x.at / "order.log", x.at / "run.log"});
  }
}

} // namespace
} // namespace leat::test::odd_ids_test
