#include "runtime/pipeline/tokenizer/json_of_package.hpp"

#include "runtime/pipeline/tokenizer/package_number.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace leat {

namespace {

using nlohmann::json;

constexpr std::size_t most_depth = 30;

class reader final : public nlohmann::json_sax<json> {
public:
  explicit reader(bool has_nearest_numbers) : has_nearest_numbers_(has_nearest_numbers) {}

  json take() { return std::move(all_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool x) override { return put(x); }
  bool number_integer(std::int64_t x) override { return put(x); }
  bool number_unsigned(std::uint64_t x) override { return put(x); }
  bool number_float(double nearest, const std::string& text) override {
    const auto x = has_nearest_numbers_ ? nearest : number_of_package(text);
    return std::isfinite(x) && put(x);
  }
  bool string(std::string& x) override { return put(std::move(x)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool key(std::string& x) override {
    key_ = std::move(x);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

private:
  json& placed(json x) {
    if (open_.empty())
      return all_ = std::move(x);
    auto& in = *open_.back();
    if (in.is_object())
      return in[key_] = std::move(x); // the last of equal keys counts
    in.push_back(std::move(x));
    return in.back();
  }
  bool put(json x) {
    placed(std::move(x));
    return true;
  }
  bool open(json x) {
    if (open_.size() == most_depth)
      throw std::invalid_argument("deeply nested lists, needed a tokenizer.json");
    open_.push_back(&placed(std::move(x)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  bool has_nearest_numbers_;
  json all_;
  /// From the outermost to the innermost: none moves while those in it are open.
  std::vector<json*> open_;
  std::string key_;
};

} // namespace

json json_of_package(const std::string& text, bool has_nearest_numbers) {
  reader to{has_nearest_numbers};
  return json::sax_parse(text, &to) ? to.take() : json(json::value_t::discarded);
}

} // namespace leat
