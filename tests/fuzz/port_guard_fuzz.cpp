#include "runtime/network/links/greeting.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/link_site.hpp"

#include <string_view>
#include <utility>

using namespace leat;

namespace {

/// What a guard makes of whoever connects, without its socket: plain, and with TLS. In the latter
/// the bytes come within a session of a peer with a certificate, too.
class guards {
public:
  guards() {
    rules_.roles = link_role::rank;
    rules_.token = secret{"token"};
  }

  void hear(std::uint8_t how, std::string_view bytes) {
    const bool is_secured = (how & 1) != 0;
    out_.clear();
    greeting one{rules_, is_secured ? coordinator_ : nullptr};
    if ((how & 3) == 3)
      hear_inside(one, 1 + (how >> 2), bytes);
    else
      give(one, 1 + (how >> 2), bytes);
  }

private:
  /// Returns whether the greeting continues.
  bool give(greeting& to, std::size_t piece, std::string_view bytes) {
    auto state = greeting::state::open;
    for (; state == greeting::state::open && !bytes.empty();
         bytes.remove_prefix(std::min(piece, bytes.size())))
      state = to.receive(bytes.substr(0, piece), out_);
    check(out_.size() < 100'000);
    if (state == greeting::state::admitted) {
      check(to.hello().token.is("token"));
      check(to.hello().role == link_role::rank);
      to.welcome(out_);
    }
    return state == greeting::state::open;
  }

  void hear_inside(greeting& to, std::size_t piece, std::string_view bytes) {
    tls_session peer{rank_, link_side::dials};
    byte_buffer sent;
    for (bool is_shaken = false; !is_shaken;) {
      const auto heard = std::exchange(out_, {});
      std::string_view came{heard.data(), heard.size()};
      is_shaken = peer.shake_hands(came, sent);
      check(give(to, 100'000, take(sent)));
    }
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      peer.write(bytes.substr(0, piece), sent);
      if (!give(to, 100'000, take(sent)))
        break;
    }
  }

  std::string take(byte_buffer& from) {
    std::string text{from.begin(), from.end()};
    from.clear();
    return text;
  }

  test::link_site site_;
  std::shared_ptr<const certificates> coordinator_ = site_.make(link_role::coordinator);
  std::shared_ptr<const certificates> rank_ = site_.make(link_role::rank);
  admission rules_;
  byte_buffer out_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static guards all;
  if (size > 0)
    all.hear(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
