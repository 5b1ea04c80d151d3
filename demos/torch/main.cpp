// leat-torch: trains a small network with BatchNorm in libtorch, and resumes exactly where it was
// killed.
//   leat-torch 'data/*.tar' job.pt [STEPS]       STEPS: ends abruptly after this many steps, for a
//   test
// The same command starts a job and resumes it: job.pt holds weights, optimizer and the position in
// the data.

#include "demos/torch/lent_tensors.hpp"

#include <leat/leat.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

namespace leat::torch_demo {

namespace {

constexpr std::uint64_t num_epochs = 3;
constexpr std::uint64_t checkpoint_every = 5;

pipeline training_data(const std::string& shards) {
  return tar_shards(shards)
      .shuffle({.seed = 7})
      .map(train_image("jpg", {.size = 64}))
      .map(int_label("cls"))
      .batch(32, {.end = epoch_end::mask, .fields = {"image", "label"}});
}

struct network : torch::nn::Module {
  network() {
    using namespace torch::nn;
    layers = register_module(
        "layers", Sequential(Conv2d(Conv2dOptions(3, 16, 3).stride(2)), BatchNorm2d(16), ReLU(),
                             Conv2d(Conv2dOptions(16, 32, 3).stride(2)), BatchNorm2d(32), ReLU(),
                             AdaptiveAvgPool2d(1), Flatten(), Linear(32, 10)));
  }
  torch::nn::Sequential layers;
};

class trainer {
public:
  /// One step on the rows that carry a sample; returns the loss. The graph, and with it the batch,
  /// is dropped at its end.
  double learn(const lent_tensors& batch) {
    optimizer_.zero_grad();
    const auto scores = net_->layers->forward(batch.valid<float, 4>("image"));
    const auto loss =
        torch::nn::functional::cross_entropy(scores, batch.valid<std::int64_t, 1>("label"));
    loss.backward();
    optimizer_.step();
    return loss.item<double>();
  }

  /// Weights, optimizer and position in one file, so that they always belong to one step.
  void save(const std::string& path, const std::string& snapshot) {
    torch::serialize::OutputArchive file;
    torch::serialize::OutputArchive weights;
    torch::serialize::OutputArchive momentum;
    net_->save(weights);
    optimizer_.save(momentum);
    file.write("weights", weights);
    file.write("optimizer", momentum);
    file.write("place",
               torch::tensor(at::ArrayRef<std::uint8_t>(
                   reinterpret_cast<const std::uint8_t*>(snapshot.data()), snapshot.size())));
    file.save_to(path + ".new");
    std::filesystem::rename(path + ".new", path);
  }

  /// Returns the position in the data.
  std::string load(const std::string& path) {
    torch::serialize::InputArchive file;
    torch::serialize::InputArchive weights;
    torch::serialize::InputArchive momentum;
    file.load_from(path);
    file.read("weights", weights);
    file.read("optimizer", momentum);
    net_->load(weights);
    optimizer_.load(momentum);
    torch::Tensor place;
    file.read("place", place);
    return {reinterpret_cast<const char*>(place.data_ptr<std::uint8_t>()),
            static_cast<std::size_t>(place.numel())};
  }

  /// A number that changes with any bit of a weight or of BatchNorm's running means.
  double sum() const {
    double result = 0;
    for (const auto& x : net_->parameters())
      result += x.to(torch::kDouble).abs().sum().item<double>();
    for (const auto& x : net_->buffers())
      result += x.to(torch::kDouble).abs().sum().item<double>();
    return result;
  }

private:
  std::shared_ptr<network> net_ = std::make_shared<network>();
  torch::optim::SGD optimizer_{net_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
};

void train(const std::string& shards, const std::string& checkpoint, std::uint64_t stop_after) {
  torch::manual_seed(7);
  torch::set_num_threads(1); // so that sums are added in one order
  at::globalContext().setDeterministicAlgorithms(true, false);

  trainer job;
  loader loader(training_data(shards),
                {.workers = 2, .epochs = num_epochs, .bad_samples = bad_sample_policy::mask});
  if (std::filesystem::exists(checkpoint))
    loader.restore_parts({job.load(checkpoint)});

  std::uint64_t steps = 0;
  while (auto next = loader.next()) {
    const lent_tensors batch(std::move(next));
    const auto loss = batch->valid_rows() > 0 ? job.learn(batch) : 0.0;
    std::printf("epoch %d step %d rows %d of %d digest %s loss %.9g\n",
                static_cast<int>(batch->epoch()), static_cast<int>(batch->step()),
                static_cast<int>(batch->valid_rows()), static_cast<int>(batch->size()),
                to_string(batch->digest()).c_str(), loss);
    if (batch->global_step() % checkpoint_every == checkpoint_every - 1)
      job.save(checkpoint, batch->snapshot());
    if (++steps == stop_after) {
      std::fflush(stdout);
      std::_Exit(0);
    }
  }
  std::printf("weights %a\n", job.sum());
}

} // namespace

} // namespace leat::torch_demo

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) {
    std::cerr << "leat-torch SHARDS CHECKPOINT [STEPS]\n";
    return 2;
  }
  leat::torch_demo::train(argv[1], argv[2], argc > 3 ? std::stoull(argv[3]) : 0);
} catch (const std::exception& e) {
  std::cerr << "leat-torch: " << e.what() << '\n';
  return 1;
}
