#include "runtime/sources/feed/feed_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sources/feed/feed_messages.hpp"

#include <leat/once.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view own_source_prefix = "rank 0's source ";

/// A feed that no loader reads: it has a name, and nothing else. A loader that feeds can reach puts
/// one in its place that is served.
class unserved_feed final : public live_source {
public:
  explicit unserved_feed(std::string name) : name_(std::move(name)) {}

  state peek(std::uint64_t) override { refuse(); }
  void wait(std::uint64_t, const std::atomic<bool>&) override { refuse(); }
  void wake() override {}
  std::function<void()> on_change(std::function<void()>) override {
    return [] {};
  }
  void read(std::uint64_t, sample&) const override { refuse(); }
  void append_id(std::uint64_t number, std::string& to) const override {
    to += name_ + '/' + std::to_string(number);
  }
  void release_below(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void hold_from(std::uint64_t, std::uint64_t, std::uint64_t) override {}
  void check_holds(std::uint64_t, std::uint64_t) const override {}
  bool has_journal() const noexcept override { return true; }
  source_facts facts() const override { return facts_of_feed(name_); }
  std::string name() const override { return name_; }

private:
  [[noreturn]] void refuse() const {
    throw_error(errc::invalid_argument, "feed \"" + name_ + '"', "a loader that no feed can reach",
                "one of a cluster, or one with feeds_at, where `leat feed` joins it");
  }

  const std::string name_;
};

} // namespace

void check_feed_name(const std::string& name, const std::string& option) {
  if (name.empty() || name.size() > most_feed_name)
    refuse_argument(option, name.empty() ? "no name" : std::to_string(name.size()) + " bytes",
                    "a name of 1 to " + std::to_string(most_feed_name) + " bytes");
  if (is_own_source(name))
    refuse_argument(option, '"' + name + '"',
                    "another name: those that begin so are of sources that rank 0 reads itself");
}

std::string name_of_own_source(std::uint64_t number, std::string_view title) {
  // Messages and reports have it as text: it is UTF-8, and ends with a whole character.
  const auto name = std::string{own_source_prefix} + std::to_string(number) + ", " + as_utf8(title);
  auto end = std::min(name.size(), most_feed_name);
  while (end < name.size() && (static_cast<unsigned char>(name[end]) >> 6) == 2)
    --end;
  return name.substr(0, end);
}

bool is_own_source(std::string_view name) noexcept {
  return name.starts_with(own_source_prefix);
}

source_facts facts_of_feed(const std::string& name) {
  hash_stream hash;
  hash.add(name);
  return {.digest = hash.digest128()};
}

bool has_feeds(const pipeline& x) {
  bool has = false;
  for_each_operator(x.root(), [&](const operator_node& node) { has = has || node.op == "feed"; });
  return has;
}

pipeline feed(std::string name) {
  check_feed_name(name, "feed");
  const node_option option{"name", name};
  return feed_pipeline("feed", {option},
                       [name = std::move(name)] { return std::make_shared<unserved_feed>(name); });
}

operator_type feed_operator() {
  return {.word = "feed",
          .role = operator_role::source,
          .options = {plain("name", option_type::text)},
          .make = [](const operator_node& call,
                     const std::vector<pipeline>&) { return feed(call.get<std::string>("name")); },
          .forms = {.state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts&) -> state_sizes {
            return {"a number", 3, 3};
          }}};
}

} // namespace leat
