// leat-bare-http IN-FLIGHT < RANGES: fetches ranges of objects with libcurl's multi interface, in
// one thread, and does nothing with them: what leat's own reading is measured by. RANGES has lines
// "URL BEGIN END". Prints a JSON object.

#include <curl/curl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct wanted_range {
  std::string url;
  std::uint64_t begin;
  std::uint64_t end;
};

constexpr long partial_content = 206;

/// A connection's transfer, one range after the other into the same memory.
class bare_transfer {
public:
  bare_transfer() : handle_(curl_easy_init(), curl_easy_cleanup) {
    constexpr long block = 256L * 1024;
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_BUFFERSIZE, block);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_WRITEFUNCTION, &bare_transfer::take);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_PRIVATE, this);
  }
  bare_transfer(const bare_transfer&) = delete;
  bare_transfer& operator=(const bare_transfer&) = delete;
  ~bare_transfer() = default;

  void begin(const wanted_range& x) {
    size_ = x.end - x.begin;
    got_ = 0;
    if (bytes_.size() < size_)
      bytes_.resize(size_);
    set(CURLOPT_URL, x.url.c_str());
    set(CURLOPT_RANGE, (std::to_string(x.begin) + "-" + std::to_string(x.end - 1)).c_str());
  }
  void check(CURLcode result) const {
    long status = 0;
    curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &status);
    if (result != CURLE_OK || status != partial_content || got_ != size_)
      throw std::runtime_error{std::string{"a request failed: "} + curl_easy_strerror(result)
                               + ", status " + std::to_string(status)};
  }
  CURL* handle() const noexcept { return handle_.get(); }
  std::uint64_t size() const noexcept { return size_; }

private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(handle(), option, value) != CURLE_OK)
      throw std::runtime_error{"libcurl refuses an option"};
  }
  static std::size_t take(const char* bytes, std::size_t, std::size_t n, bare_transfer* to) {
    if (to->got_ + n > to->size_)
      return 0;
    std::memcpy(to->bytes_.data() + to->got_, bytes, n);
    to->got_ += n;
    return n;
  }

  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::vector<char> bytes_;
  std::uint64_t size_ = 0;
  std::uint64_t got_ = 0;
};

std::vector<wanted_range> read_ranges() {
  std::vector<wanted_range> all;
  for (wanted_range x; std::cin >> x.url >> x.begin >> x.end;)
    all.push_back(x);
  if (all.empty())
    throw std::runtime_error{"no ranges on standard input"};
  return all;
}

double cpu_seconds() {
  constexpr double micro = 1e-6;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& x) {
    return static_cast<double>(x.tv_sec) + micro * static_cast<double>(x.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Returns the bytes that came.
std::uint64_t fetch_all(const std::vector<wanted_range>& ranges, std::size_t in_flight) {
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi{curl_multi_init(), curl_multi_cleanup};
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(in_flight));
  std::vector<std::unique_ptr<bare_transfer>> transfers;
  std::size_t next = 0;
  std::uint64_t bytes = 0;
  const auto begin = [&](bare_transfer& x) {
    x.begin(ranges[next++]);
    curl_multi_add_handle(multi.get(), x.handle());
  };
  while (transfers.size() < std::min(in_flight, ranges.size()))
    begin(*transfers.emplace_back(std::make_unique<bare_transfer>()));
  for (auto left = ranges.size(); left > 0;) {
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    int queued = 0;
    bool has_begun = false;
    while (const auto* told = curl_multi_info_read(multi.get(), &queued)) {
      const auto result = told->data.result;
      bare_transfer* x = nullptr;
      curl_easy_getinfo(told->easy_handle, CURLINFO_PRIVATE, &x);
      x->check(result);
      bytes += x->size();
      --left;
      curl_multi_remove_handle(multi.get(), x->handle());
      if (next < ranges.size()) {
        begin(*x);
        has_begun = true;
      }
    }
    constexpr int longest_wait = 1000; // ms
    if (left > 0 && !has_begun)
      curl_multi_poll(multi.get(), nullptr, 0, longest_wait, nullptr);
  }
  for (const auto& x : transfers)
    curl_multi_remove_handle(multi.get(), x->handle());
  return bytes;
}

} // namespace

int main(int count, char** words) {
  try {
    const auto in_flight = count == 2 ? std::stoul(words[1]) : 0;
    if (in_flight == 0)
      throw std::invalid_argument{"one argument is needed, how many requests are in flight"};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const auto ranges = read_ranges();
    const auto cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const auto bytes = fetch_all(ranges, in_flight);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << "{\"seconds\": " << took.count() << ", \"cpu_seconds\": " << cpu_seconds() - cpu
              << ", \"bytes\": " << bytes << ", \"requests\": " << ranges.size() << "}\n";
    return EXIT_SUCCESS;
  } catch (const std::exception& x) {
    std::cerr << "leat-bare-http: " << x.what() << "\n";
    return EXIT_FAILURE;
  }
}
