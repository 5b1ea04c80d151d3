#include "runtime/storage/hidden_entry.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace leat::hidden_entry_test {

TEST_CASE("an entry is hidden where any part of its path is") {
  for (const std::string name :
       {".x", "._0.jpg", "__MACOSX", "@eaDir", "Thumbs.db", "desktop.ini", "...", "..x"}) {
    CAPTURE(name);
    CHECK(is_hidden_entry(name));
    CHECK(is_hidden_entry("a/" + name));
    CHECK(is_hidden_entry(name + "/b.jpg"));
    CHECK(is_hidden_entry("/a/b/" + name + "/c/d.jpg"));
    CHECK(is_hidden_entry("./" + name));
  }
}

TEST_CASE("names that only resemble hidden ones are not") {
  for (const std::string path :
       {"",           "a",         "a.jpg",      "./a.jpg",    "../a.jpg",
        "a/../b",     "a//b",      "a/",         "/",          ".",
        "..",         "__MACOSX2", "x__MACOSX",  "@eaDir.jpg", "thumbs.db",
        "Thumbs.dbx", "Thumbs",    "desktop.in", "a.b/.",      "Thumbs.db.jpg",
        "a."}) {
    CAPTURE(path);
    CHECK(!is_hidden_entry(path));
  }
}

} // namespace leat::hidden_entry_test
