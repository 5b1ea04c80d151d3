#pragma once

#include <leat/leat.hpp>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::torch_demo {

/// A batch whose fields are tensors, without a copy: each tensor holds the lease. The batch's
/// memory returns to the loader when the last of them is gone, including those that autograd keeps
/// for backward(). Writing into such a tensor writes into the batch.
class lent_tensors {
public:
  /// The lease must not be empty.
  explicit lent_tensors(lease batch) : lease_(std::make_shared<lease>(std::move(batch))) {}

  const batch& operator*() const { return **lease_; }
  const batch* operator->() const { return &**lease_; }

  /// All rows of a field, [size(), ...]; rows without a sample are zero. Throws
  /// `errc::wrong_field`.
  template <class T, std::size_t N>
  torch::Tensor all(std::string_view field) const {
    const auto view = (*lease_)->view<T, N>(field);
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < N; ++i)
      sizes.push_back(static_cast<std::int64_t>(view.extent(i)));
    // from_blob takes no pointer to const.
    return torch::from_blob(
        const_cast<T*>(view.data()), sizes, [kept = lease_](void*) mutable { kept.reset(); },
        torch::CppTypeToScalarType<T>::value);
  }

  /// Rows that carry a sample: [valid_rows(), ...], in the batch's order. The others must be
  /// removed before the model, not in the loss: zero rows would enter the means and variances of
  /// BatchNorm. Copies only if a row is missing.
  template <class T, std::size_t N>
  torch::Tensor valid(std::string_view field) const {
    auto rows = all<T, N>(field);
    return (**this).valid_rows() == (**this).size() ? rows : rows.index_select(0, valid_rows());
  }

private:
  /// A masked bad sample leaves its row empty in the middle; an epoch's end leaves the last rows
  /// empty.
  torch::Tensor valid_rows() const {
    std::vector<std::int64_t> rows;
    const auto valid = (**this).valid();
    for (std::size_t row = 0; row < valid.size(); ++row)
      if (valid[row] != 0)
        rows.push_back(static_cast<std::int64_t>(row));
    return torch::tensor(rows);
  }

  std::shared_ptr<lease> lease_;
};

} // namespace leat::torch_demo
