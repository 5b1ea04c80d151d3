#include "runtime/order/iterators/iterator.hpp"

#include "runtime/base/xxh3.hpp"
#include "runtime/sample/sample_access.hpp"

#include <cstring>
#include <span>

namespace leat {

void identify(sample& x, const iterator_form& from, const item_reader& what, const item_place& at,
              order_cache& orders) {
  sample_access::identify(x, [&from, what, at, &orders](std::string& to) {
    auto reader = what;
    from.append_id(reader, at, orders, to);
  });
}

draws::draws(std::string_view tag, std::uint64_t seed, std::uint64_t ordinal, const lap& g,
             std::uint64_t lane) {
  auto add = [this](std::uint64_t x) {
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof(x));
  };
  add(tag.size());
  bytes_ += tag;
  for (const auto x : {seed, ordinal, g.epoch, pass_word(g.pass), lane, std::uint64_t{0}})
    add(x);
}

std::uint64_t draws::draw(std::uint64_t k) noexcept {
  std::memcpy(bytes_.data() + bytes_.size() - sizeof(k), &k, sizeof(k));
  return xxh3_128(std::as_bytes(std::span{bytes_})).low;
}

} // namespace leat
