#include "runtime/order/order.hpp"

#include "runtime/base/xxh3.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15;

/// The finalizer of SplitMix64: every bit of the result depends on every bit of x.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Maps 64 random bits to 0 .. n-1; the bias of n / 2^64 is far too small to be noticed.
constexpr std::uint64_t reduce(std::uint64_t x, std::uint64_t n) noexcept {
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>((uint128{x} * n) >> 64);
}

/// (a + b) mod n, for a and b below n.
constexpr std::uint64_t add_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t n) noexcept {
  const std::uint64_t sum = a + b;
  return sum < n ? sum : sum - n;
}

/// The smallest even number, at least 2, whose square is not below n. It is even because rotating a
/// column of odd length is an even permutation: a square with odd sides would never give an odd
/// permutation.
std::uint64_t even_root(std::uint64_t n) noexcept {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
  while (root * root < n) // the square root may be rounded up or down
    ++root;
  while (root > 0 && (root - 1) * (root - 1) >= n)
    --root;
  return std::max<std::uint64_t>(2, root + root % 2);
}

/// Two items in one row or column keep their distance through all rounds with a probability of
/// about side^(-rounds / 2), so short sides need more rounds: 2^-12 at the worst, 2^-20 from
/// `wide` up.
constexpr unsigned narrow_rounds = 24;
constexpr unsigned wide_rounds = 8;
constexpr std::uint64_t wide = 1024;

} // namespace

permutation::permutation(std::uint64_t n, std::uint64_t key) noexcept
    : n_(n), rows_(even_root(n)), columns_(n / rows_ + (n % rows_ != 0 ? 1 : 0)),
      rounds_(n < wide ? narrow_rounds : wide_rounds) {
  static_assert(max_rounds == narrow_rounds);
  for (unsigned i = 0; i < rounds_; ++i)
    round_keys_[i] = mix(key += golden_gamma);
}

template <class... Cells>
void permutation::move(Cells&... cells) const noexcept {
  const auto turn = [this](cell& x, unsigned k) {
    x.row = add_modulo(x.row, reduce(mix(x.column ^ round_keys_[k]), rows_), rows_);
    x.column = add_modulo(x.column, reduce(mix(x.row ^ round_keys_[k + 1]), columns_), columns_);
  };
  for (unsigned k = 0; k < rounds_; k += 2)
    (turn(cells, k), ...);
}

std::uint64_t permutation::settle(cell x) const noexcept {
  while (number_of(x) >= n_)
    move(x);
  return number_of(x);
}

std::uint64_t permutation::operator()(std::uint64_t i) const noexcept {
  auto x = cell_of(i);
  move(x);
  return settle(x);
}

std::array<std::uint64_t, 2>
permutation::operator()(std::array<std::uint64_t, 2> i) const noexcept {
  auto x = cell_of(i[0]);
  auto y = cell_of(i[1]);
  // Each step of one waits for the one before it; the other's fill the time.
  move(x, y);
  return {settle(x), settle(y)};
}

namespace {

/// One key for each use of a permutation in an epoch; `tag` distinguishes the uses.
std::uint64_t epoch_key(std::string_view tag, const order_config& config, std::uint64_t epoch,
                        std::uint64_t pass) {
  hash_stream bytes;
  bytes.add(tag);
  for (std::uint64_t x : {config.shuffle.seed, epoch, pass, config.source, config.data_digest.low,
                          config.data_digest.high})
    bytes.add(x);
  if (config.level != 0)
    bytes.add(config.level);
  return bytes.digest64();
}

std::uint64_t window_key(std::uint64_t epoch_key, std::uint64_t lane,
                         std::uint64_t window) noexcept {
  const std::array words{epoch_key, lane, window};
  return xxh3_64(std::as_bytes(std::span{words}));
}

/// Sum of the shares of the lanes before this one.
std::uint64_t share_begin(std::uint64_t n, std::uint64_t lane, std::uint64_t lanes) noexcept {
  return lane * (n / lanes) + std::min(lane, n % lanes);
}

} // namespace

epoch_item epoch_geometry::item_at(std::uint64_t epoch, std::uint64_t position) const noexcept {
  if (!is_endless())
    return {position, epoch};
  const auto lane = position % lanes;
  const auto k = position / lanes;
  const auto n = lane_items(lane);
  return {lane + k % n * lanes, k / n};
}

std::uint64_t epoch_geometry::batches() const noexcept {
  const bool part = end == epoch_end::mask && items % batch_rows != 0;
  return items / batch_rows + (part ? 1 : 0);
}

std::uint64_t epoch_geometry::positions() const noexcept {
  return end == epoch_end::mask ? items : batches() * batch_rows;
}

std::uint64_t epoch_geometry::lane_items(std::uint64_t lane) const noexcept {
  return share(items, lane, lanes);
}

/// All files laid end to end in the epoch's shuffled order. A place is a record's number in that
/// sequence.
struct epoch_order::file_table {
  file_table(const order_config& config, std::uint64_t epoch, std::uint64_t pass);

  std::uint64_t files() const noexcept { return first_record.size(); }

  /// The file of the shuffled order that contains a place; empty files contain none.
  std::uint64_t file_at(std::uint64_t place) const noexcept {
    const auto next = std::upper_bound(first_place.begin(), first_place.end(), place);
    return static_cast<std::uint64_t>(next - first_place.begin()) - 1;
  }

  std::uint64_t record_at(std::uint64_t place) const noexcept {
    const auto file = file_at(place);
    return first_record[file] + (place - first_place[file]);
  }

  /// First place of each file in shuffled order, followed by the number of all records.
  std::vector<std::uint64_t> first_place;
  /// For each file in shuffled order: its first record in stored order.
  std::vector<std::uint64_t> first_record;
  std::uint64_t windows_key;
};

epoch_order::file_table::file_table(const order_config& config, std::uint64_t epoch,
                                    std::uint64_t pass)
    : windows_key(epoch_key("leat.order.windows", config, epoch, pass)) {
  const auto& sizes = config.records_per_file;
  std::vector<std::uint64_t> stored_begin(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), stored_begin.begin(), std::uint64_t{0});
  const permutation shuffled{sizes.size(), epoch_key("leat.order.files", config, epoch, pass)};
  first_place.reserve(sizes.size() + 1);
  first_place.push_back(0);
  first_record.reserve(sizes.size());
  for (std::uint64_t i = 0; i < sizes.size(); ++i) {
    const auto file = shuffled(i);
    first_record.push_back(stored_begin[file]);
    first_place.push_back(first_place.back() + sizes[file]);
  }
}

epoch_order::epoch_order(std::shared_ptr<const order_config> config, std::uint64_t epoch,
                         std::uint64_t pass)
    : config_(std::move(config)), epoch_(epoch), pass_(pass),
      records_(std::accumulate(config_->records_per_file.begin(), config_->records_per_file.end(),
                               std::uint64_t{0})),
      shuffled_(records_, epoch_key("leat.order.full", *config_, epoch, pass)) {
  if (config_->shuffle.kind == shuffle_kind::windowed)
    files_ = std::make_shared<const file_table>(*config_, epoch, pass);
}

std::uint64_t epoch_order::record(std::uint64_t position) const noexcept {
  switch (config_->shuffle.kind) {
  case shuffle_kind::none:
    break;
  case shuffle_kind::full:
    return shuffled_(position);
  case shuffle_kind::windowed:
    return windowed_record(position);
  }
  return position;
}

std::array<std::uint64_t, 2>
epoch_order::records_at(std::array<std::uint64_t, 2> positions) const noexcept {
  if (config_->shuffle.kind == shuffle_kind::full)
    return shuffled_(positions);
  return {record(positions[0]), record(positions[1])};
}

std::uint64_t epoch_order::windowed_record(std::uint64_t position) const noexcept {
  const auto lanes = config_->lanes;
  const auto lane = position % lanes;
  const auto run_begin = share_begin(records_, lane, lanes);
  const auto run_end = run_begin + share(records_, lane, lanes);
  const auto place = run_begin + position / lanes;

  // Windows count files from the run's first; a file on a border belongs to both neighbours.
  const auto first_file = files_->file_at(run_begin);
  const auto window_files = std::min(config_->shuffle.window, files_->files());
  const auto window = (files_->file_at(place) - first_file) / window_files;
  const auto window_first = first_file + window * window_files;
  const auto window_last = std::min(window_first + window_files, files_->files());
  const auto begin = std::max(run_begin, files_->first_place[window_first]);
  const auto end = std::min(run_end, files_->first_place[window_last]);

  const permutation within{end - begin, window_key(files_->windows_key, lane, window)};
  return files_->record_at(begin + within(place - begin));
}

} // namespace leat
