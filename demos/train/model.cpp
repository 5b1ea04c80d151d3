#include "demos/train/model.hpp"

#include <leat/error.hpp>
#include <leat/rng.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace leat::train {

namespace {

/// Uniform weights whose sums over `inputs` have a spread of about one; biases zero.
matrix initial_weights(Eigen::Index inputs, Eigen::Index outputs, rng& random) {
  const double reach = 1 / std::sqrt(static_cast<double>(inputs));
  matrix weights = matrix::Zero(inputs + 1, outputs);
  for (Eigen::Index i = 0; i < inputs * outputs; ++i)
    weights.data()[i] = static_cast<float>(random.uniform(-reach, reach));
  return weights;
}

/// The layer's inputs with a column of ones, which the biases multiply.
matrix with_ones(const matrix& x) {
  matrix result(x.rows(), x.cols() + 1);
  result << x, matrix::Ones(x.rows(), 1);
  return result;
}

matrix softmax(const matrix& x) {
  matrix powers = (x.colwise() - x.rowwise().maxCoeff()).array().exp();
  return powers.array().colwise() / powers.rowwise().sum().array();
}

step_result judge(const matrix& probabilities, const Eigen::VectorXi& labels) {
  step_result result;
  for (Eigen::Index i = 0; i < labels.size(); ++i) {
    Eigen::Index guess = 0;
    probabilities.row(i).maxCoeff(&guess);
    result.loss -= std::log(std::max(probabilities(i, labels[i]), 1e-12F));
    result.accuracy += guess == labels[i] ? 1 : 0;
  }
  result.loss /= static_cast<double>(labels.size());
  result.accuracy /= static_cast<double>(labels.size());
  return result;
}

} // namespace

model::model(const model_options& options) : options_(options) {
  rng random(options.seed, 0);
  hidden_.weights = initial_weights(options.features, options.hidden, random);
  output_.weights = initial_weights(options.hidden, options.classes, random);
  for (auto* x : {&hidden_, &output_})
    x->momentum = matrix::Zero(x->weights.rows(), x->weights.cols());
}

step_result model::learn(const examples& rows) {
  const matrix inputs = with_ones(rows.features);
  const matrix activity = (inputs * hidden_.weights).array().tanh();
  const matrix inner = with_ones(activity);
  const matrix probabilities = softmax(inner * output_.weights);

  // Backwards: the gradient of the mean cross entropy.
  matrix error = probabilities;
  for (Eigen::Index i = 0; i < rows.labels.size(); ++i)
    error(i, rows.labels[i]) -= 1;
  error /= static_cast<float>(rows.labels.size());
  const matrix hidden_error = (error * output_.weights.topRows(options_.hidden).transpose()).array()
                              * (1 - activity.array().square());
  descend(output_, inner.transpose() * error);
  descend(hidden_, inputs.transpose() * hidden_error);
  return judge(probabilities, rows.labels);
}

void model::descend(layer& x, const matrix& gradient) const {
  x.momentum = options_.momentum * x.momentum - options_.learning_rate * gradient;
  x.weights += x.momentum;
}

std::size_t model::num_bytes() const {
  return 2 * sizeof(float)
         * static_cast<std::size_t>(hidden_.weights.size() + output_.weights.size());
}

std::string model::save() const {
  std::string bytes;
  bytes.reserve(num_bytes());
  for (const auto* x : {&hidden_.weights, &hidden_.momentum, &output_.weights, &output_.momentum})
    bytes.append(reinterpret_cast<const char*>(x->data()),
                 static_cast<std::size_t>(x->size()) * sizeof(float));
  return bytes;
}

void model::load(std::string_view bytes) {
  if (bytes.size() != num_bytes())
    throw error(errc::mismatch, {.stage = "model",
                                 .got = std::to_string(bytes.size()) + " bytes of weights",
                                 .needed = std::to_string(num_bytes())});
  const char* from = bytes.data();
  for (auto* x : {&hidden_.weights, &hidden_.momentum, &output_.weights, &output_.momentum}) {
    const auto size = static_cast<std::size_t>(x->size()) * sizeof(float);
    std::memcpy(x->data(), from, size);
    from += size;
  }
}

std::uint64_t model::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (char x : save())
    hash = (hash ^ static_cast<unsigned char>(x)) * 0x100000001b3;
  return hash;
}

} // namespace leat::train
