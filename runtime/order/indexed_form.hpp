#pragma once

#include "runtime/base/pass_number.hpp"

#include <leat/sample.hpp>
#include <leat/stored_source.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class order_cache;
class sample_maker;

/// Which item of an indexed form: its number, in an epoch, in a pass of an enclosing repeat.
struct place {
  std::uint64_t item = 0;
  std::uint64_t epoch = 0;
  pass_number pass = 0;
};

/// An operator over indexed data, with all operators below it, as an indexed form: any item of any
/// epoch is found in constant time and without state. Immutable, shared by all threads; what a
/// thread keeps for it lies in the order_cache or sample_maker that the thread passes.
class indexed_form {
public:
  virtual ~indexed_form() = default;

  /// Items per epoch; the same in all epochs.
  virtual std::uint64_t size() const noexcept = 0;

  virtual void append_id(const place& at, order_cache& orders, std::string& to) const = 0;

  /// Sets the item's fields in a sample without fields, and returns its key: its identity for
  /// random numbers, wherever in the order it stands. Throws what sources and maps throw.
  virtual std::uint64_t make(const place& at, sample& into, sample_maker& with) const = 0;

  /// Appends where the item's bytes lie, and returns the objects that they lie in; null, and
  /// nothing appended, if that is not known. Throws what reading them would throw.
  virtual stored_objects* locate(const place&, order_cache&, std::vector<extent>&) const {
    return nullptr;
  }
};

using indexed_form_ptr = std::shared_ptr<const indexed_form>;

/// An operator with one input, whose items it passes on.
class indexed_over : public indexed_form {
public:
  explicit indexed_over(indexed_form_ptr input) : input_(std::move(input)) {}

  std::uint64_t size() const noexcept override { return input_->size(); }
  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    input_->append_id(source_of(at, orders), orders, to);
  }
  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override;
  stored_objects* locate(const place& at, order_cache& orders,
                         std::vector<extent>& into) const override {
    return input_->locate(source_of(at, orders), orders, into);
  }

protected:
  /// The place of the item in the input.
  virtual place source_of(const place& at, order_cache&) const { return at; }

  const indexed_form& input() const noexcept { return *input_; }

private:
  indexed_form_ptr input_;
};

/// Tells the sample which item it is; `from` and `orders` must outlive its row.
void identify(sample& x, const indexed_form& from, const place& at, order_cache& orders);

} // namespace leat
