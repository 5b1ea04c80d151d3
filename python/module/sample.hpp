#pragma once

#include <leat/sample.hpp>

#include "python/module/python.hpp"

#include <string>

namespace leat::python {

/// A sample or context as Python sees it, while C++ lends it.
struct lent_sample {
  sample* at = nullptr;
  /// Owner of all arrays over the sample's memory, made with the first of them.
  nb::object owner;

  sample& get() const;
};
struct lent_context {
  context* at = nullptr;

  context& get() const;
};

/// Lends samples to Python functions one after the other. All members require the GIL.
class sample_lender {
public:
  sample_lender();

  /// Lends a sample for one call. If the function has kept the sample, later uses of it throw
  /// instead of dangling; if it has kept an array over the sample's memory, this throws.
  template <class Call>
  auto lend(sample& x, context* in, Call call) {
    begin(x, in);
    try {
      if constexpr (std::is_void_v<decltype(call(sample_, context_))>) {
        call(sample_, context_);
        end();
      } else {
        auto result = call(sample_, context_);
        end();
        return result;
      }
    } catch (...) {
      abandon();
      throw;
    }
  }

  // The same in steps, to lend several at once:
  void begin(sample& x, context* in);
  /// Throws `bad_sample` if an array is still there.
  void end();
  void abandon() noexcept;
  const nb::object& lent() const noexcept { return sample_; }
  const nb::object& place() const noexcept { return context_; }

private:
  nb::object sample_;
  nb::object context_;
  lent_sample* lent_ = nullptr;
  lent_context* lent_context_ = nullptr;
};

/// All fields of a sample as a dict; arrays are copies.
nb::dict fields_of(const sample& x);

void bind_sample(nb::module_& m);

} // namespace leat::python
