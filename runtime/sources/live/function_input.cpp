#include "runtime/base/error_in_flight.hpp"
#include "runtime/sources/live/once_input.hpp"
#include "runtime/sources/live/sole_right.hpp"

#include <atomic>
#include <utility>

namespace leat {

namespace {

class function_input : public once_input {
public:
  function_input(std::string name, std::function<bool(sample&)> next)
      : name_(std::move(name)), next_(std::move(next)) {}

  const std::string& name() const override { return name_; }
  record_format format() const override { return record_format::frames; }
  std::unique_ptr<record_reader> begin() override;
  void set_fields(sample& into, std::span<const std::byte> content) const override {
    leat::set_fields(into, content);
  }

private:
  class reader;

  const std::string name_;
  const std::function<bool(sample&)> next_;
  std::atomic<bool> taken_ = false;
};

class function_input::reader : public record_reader {
public:
  explicit reader(function_input& from)
      : from_(from), right_(from.taken_, "once source \"" + from.name_ + '"') {}

  result take(record_store& into) override {
    sample made;
    if (!call(made))
      return {state::ended};
    const auto content = bytes_of(made);
    into.append(content);
    return {state::going_on, content.size()};
  }

  /// A function of the program cannot be made to return.
  void interrupt() override {}

private:
  bool call(sample& made) {
    try {
      return from_.next_(made);
    } catch (...) {
      throw error_in_flight(errc::io, {.stage = "once source \"" + from_.name_ + '"',
                                       .needed = "a sample, or the end"});
    }
  }

  function_input& from_;
  sole_right right_;
};

std::unique_ptr<record_reader> function_input::begin() {
  return std::make_unique<reader>(*this);
}

} // namespace

std::shared_ptr<once_input> function_samples(std::string name, std::function<bool(sample&)> next) {
  return std::make_shared<function_input>(std::move(name), std::move(next));
}

} // namespace leat
