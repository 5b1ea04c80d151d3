#pragma once

#include <Eigen/Dense>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leat::train {

/// Row-major like a batch: one sample per row.
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The rows that one step learns from.
struct examples {
  /// [rows, features].
  matrix features;
  /// 0 .. classes - 1, one per row.
  Eigen::VectorXi labels;
};

/// How well the model predicted a step's rows before it learned from them.
struct step_result {
  /// Mean cross entropy in nats.
  double loss = 0;
  /// Share of rows whose class was predicted correctly, 0 .. 1.
  double accuracy = 0;
};

struct model_options {
  Eigen::Index features = 1;
  Eigen::Index hidden = 64;
  Eigen::Index classes = 10;
  std::uint64_t seed = 0;
  float learning_rate = 0.02F;
  float momentum = 0.9F;
};

/// A classifier with one hidden layer (tanh), trained by gradient descent with momentum.
/// Single-threaded, so the same rows in the same order give the same weights to the last bit.
class model {
public:
  explicit model(const model_options& options);

  /// Learns from one global batch.
  step_result learn(const examples& rows);

  /// Weights and momentum as bytes, for a checkpoint on this kind of machine.
  std::string save() const;
  /// Restores what save() returned. Throws `leat::error` (mismatch) if sizes differ.
  void load(std::string_view bytes);

  /// FNV-1a over save(): two models with the same fingerprint have learned the same.
  std::uint64_t fingerprint() const;

private:
  /// A layer's weights, with the biases as their last row.
  struct layer {
    matrix weights;
    matrix momentum;
  };

  void descend(layer& x, const matrix& gradient) const;
  std::size_t num_bytes() const;

  model_options options_;
  layer hidden_;
  layer output_;
};

} // namespace leat::train
