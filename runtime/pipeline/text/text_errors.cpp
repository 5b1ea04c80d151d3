#include "runtime/pipeline/text/text_errors.hpp"

#include <utility>

namespace leat {

namespace {

constexpr std::size_t max_listed = 20;

} // namespace

void text_errors::add(const text_position& at, const std::string& got, std::string needed) {
  add(text_error(at, got, std::move(needed)));
}

void text_errors::add(const text_position& at, const error& x) {
  auto details = x.details();
  details.got += (details.got.empty() ? "an error at " : " at ") + to_string(at);
  add(error{x.code(), std::move(details)});
}

void text_errors::add(error x) {
  ++count_;
  if (first_.size() < max_listed)
    first_.push_back(std::move(x));
}

void text_errors::check() const {
  if (count_ == 0)
    return;
  if (count_ == 1)
    throw first_.front();
  std::vector<std::string> list;
  for (const auto& x : first_)
    list.emplace_back(x.what());
  if (count_ > first_.size())
    list.push_back("and " + std::to_string(count_ - first_.size()) + " more");
  throw error(
      first_.front().code(),
      {.stage = stage_, .got = std::to_string(count_) + " errors:", .list = std::move(list)});
}

} // namespace leat
