#pragma once

#include "runtime/order/iterators/iterator.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace leat {

/// A form that passes on the items of its one input unchanged. Input: iterator_form or edge_form.
template <class Input>
class over_input : public iterator_form {
public:
  explicit over_input(std::shared_ptr<const Input> input) : input_(std::move(input)) {}

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    return input_->make(from, at, into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    input_->append_id(from, at, orders, to);
  }
  void recall(item_reader& from, restored_content& to) const override { input_->recall(from, to); }
  stored_objects* locate(item_reader& from, std::vector<extent>& into) const override {
    if constexpr (std::is_same_v<Input, iterator_form>)
      return input_->locate(from, into);
    return nullptr;
  }
  void add_files(std::uint64_t lane, std::uint64_t lanes, const lap& g,
                 std::vector<std::string>& to) const override {
    if constexpr (std::is_same_v<Input, iterator_form>)
      input_->add_files(lane, lanes, g, to);
  }

protected:
  const Input& input() const noexcept { return *input_; }

private:
  std::shared_ptr<const Input> input_;
};

using over_items = over_input<iterator_form>;

/// One whose items are those of its input, each after a number.
template <class Input>
class over_numbered : public over_input<Input> {
public:
  using over_input<Input>::over_input;

  void recall(item_reader& from, restored_content& to) const override {
    from.number();
    over_input<Input>::recall(from, to);
  }
  stored_objects* locate(item_reader& from, std::vector<extent>& into) const override {
    from.number();
    return over_input<Input>::locate(from, into);
  }
};

/// An iterator over that of its one input.
class iterator_over : public iterator {
public:
  explicit iterator_over(std::unique_ptr<iterator> input) : input_(std::move(input)) {}

  void save(item& to) const override { input_->save(to); }
  void load(item_reader& from) override { input_->load(from); }

protected:
  iterator& input() noexcept { return *input_; }

private:
  std::unique_ptr<iterator> input_;
};

} // namespace leat
