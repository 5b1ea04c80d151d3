#pragma once

#include "runtime/storage/cache/cache_counts.hpp"
#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/remote/range_fetcher.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

namespace leat {

/// Keeps what is fetched in a directory that many processes share. What is wanted and not there is
/// fetched in whole blocks, each by one of the processes, and each process has at most 32 blocks in
/// hand. What has no room is fetched as it is wanted, and so is all of an object whose server names
/// no version that differs whenever the content does. No failure of the directory fails a fetch.
class cached_fetches final : public range_fetcher {
public:
  /// What happens is added to `counts`. Throws as cache_directory and begin_thread.
  cached_fetches(std::shared_ptr<range_fetcher> from, const cache_settings& how,
                 std::shared_ptr<cache_counts> counts = std::make_shared<cache_counts>());
  /// No fetch may be in flight.
  ~cached_fetches() override;

  void begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) override;
  bool read_at_hand(const remote_object& x, std::uint64_t begin,
                    std::span<const std::span<std::byte>> into) override;
  void look_for(const std::shared_ptr<remote_object>& x, const byte_range& range,
                std::function<void(bool)> then) override;
  bool is_open(const remote_object& x, const byte_range& range) noexcept override;
  const transfer_counts& counts() const noexcept override;
  const cache_counts& cached() const noexcept;

  /// Another limit than that of the settings. Throws `errc::invalid_argument` if it is below a
  /// block.
  void set_limit(std::uint64_t bytes);

private:
  class core;
  std::unique_ptr<core> core_;
};

} // namespace leat
