#include "tools/leat/bench/decode_ways.hpp"

#include "tools/leat/output.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace leat::command {

const char* name_of(decode_way x) {
  constexpr std::array names{"plain loop", "exact reference", "libjpeg's planes", "own decoder",
                             "with the row index"};
  return names.at(static_cast<std::size_t>(x));
}

decode_worker::decode_worker() : exact_({.exact = true}), libjpeg_({.own_decoder = false}) {}

void decode_worker::make(decode_way by, const decode_case& x, const tensor_form& form) {
  const auto to = ring_.next();
  auto plain_form = form;
  if (form.type != dtype::u8)
    plain_form.type = dtype::f32;
  switch (by) {
  case decode_way::plain:
    plain_.open(x.file);
    return plain_.make(x.what, plain_form, to.data());
  case decode_way::exact:
    return x.decode(exact_, false, form, to);
  case decode_way::libjpeg:
    return x.decode(libjpeg_, false, form, to);
  case decode_way::own:
    return x.decode(own_, false, form, to);
  case decode_way::own_with_places:
    return x.decode(own_, true, form, to);
  }
}

decode_workers make_workers(std::size_t threads) {
  decode_workers result(threads);
  for (auto& worker : result)
    worker = std::make_unique<decode_worker>();
  return result;
}

double decode_all(decode_way by, const std::vector<decode_case>& images, const tensor_form& form,
                  const decode_workers& workers, std::size_t threads) {
  std::atomic<std::size_t> next{0};
  auto work = [&](decode_worker& worker) {
    for (auto i = next++; i < images.size(); i = next++)
      worker.make(by, images[i], form);
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] { work(*workers[i]); });
  for (auto& thread : running)
    thread.join();
  return in_seconds(std::chrono::steady_clock::now() - start);
}

} // namespace leat::command
