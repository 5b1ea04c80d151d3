#pragma once

#include "runtime/order/iterators/program.hpp"

#include <memory>
#include <string>
#include <utility>

namespace leat {

/// A stage whose items are those of its one input, as they are. Input: item_stage or edge_stage.
template <class Input>
class over_input : public item_stage {
public:
  explicit over_input(std::shared_ptr<const Input> input) : input_(std::move(input)) {}

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     row_maker& with) const override {
    return input_->make(from, at, into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    input_->append_id(from, at, orders, to);
  }

protected:
  const Input& input() const noexcept { return *input_; }

private:
  std::shared_ptr<const Input> input_;
};

using over_items = over_input<item_stage>;

/// A program over one input's.
class program_over : public program {
public:
  explicit program_over(std::unique_ptr<program> input) : input_(std::move(input)) {}

  void save(item& to) const override { input_->save(to); }
  void load(item_reader& from) override { input_->load(from); }

protected:
  program& input() noexcept { return *input_; }

private:
  std::unique_ptr<program> input_;
};

} // namespace leat
