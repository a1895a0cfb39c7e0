#include "apps/deadman/store_url.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace deadman {
namespace {

TEST(StoreUrl, KnowsTheThreeStores) {
    EXPECT_EQ(parse_store_url("memory:")->kind, StoreUrl::Kind::memory);
    const auto sqlite = parse_store_url("sqlite:/var/lib/x.db");
    EXPECT_EQ(sqlite->kind, StoreUrl::Kind::sqlite);
    EXPECT_EQ(sqlite->target, "/var/lib/x.db");
    EXPECT_EQ(parse_store_url("sqlite:///var/lib/x.db")->target, "/var/lib/x.db");
    EXPECT_EQ(parse_store_url("sqlite:relative.db")->target, "relative.db");
    EXPECT_EQ(parse_store_url("postgres://h/d")->kind, StoreUrl::Kind::postgres);
    EXPECT_EQ(parse_store_url("postgresql://h/d")->target, "postgresql://h/d");
    EXPECT_TRUE(parse_store_url("sqlite:auto")->automatic);
    EXPECT_TRUE(parse_store_url("postgres:auto")->automatic);
}

TEST(StoreUrl, ReadsBackWhatItWrites) {
    for (const char* text :
         {"memory:", "sqlite:auto", "postgres:auto", "sqlite:/a b.db", "postgresql://u:p@h/d"})
        EXPECT_EQ(parse_store_url(text)->text(), text);
}

TEST(StoreUrl, RefusesTheRestWithoutRepeatingIt) {
    for (const std::string& text :
         {std::string(), std::string("sqlite:"), std::string("memory"), std::string("mysql://h/d"),
          std::string("postgresq://u:secret@h/d"), std::string("sqlite:a\0b", 10)}) {
        const auto url = parse_store_url(text);
        ASSERT_FALSE(url) << text;
        EXPECT_EQ(url.error().code, base::ErrorCode::invalid_argument);
        EXPECT_EQ(url.error().message.find("secret"), std::string::npos);
    }
}

TEST(StoreUrl, HidesPasswords) {
    const auto redacted = [](const char* text) { return parse_store_url(text)->redacted(); };
    EXPECT_EQ(redacted("postgresql://u:secret@h:5432/d"), "postgresql://u:***@h:5432/d");
    EXPECT_EQ(redacted("postgresql://u:s@cret@h/d"), "postgresql://u:***@h/d");
    EXPECT_EQ(redacted("postgresql://h:5432/d"), "postgresql://h:5432/d");
    EXPECT_EQ(redacted("postgresql://u@h/d?password=secret&x=1"),
              "postgresql://u@h/d?password=***&x=1");
    EXPECT_EQ(redacted("sqlite:/a:b@c.db"), "sqlite:/a:b@c.db");
}

TEST(ThrowawayStore, GoesWithItsObject) {
    std::string path;
    {
        const auto store = ThrowawayStore::resolve(*parse_store_url("sqlite:auto"));
        ASSERT_TRUE(store);
        path = store->url().target;
        EXPECT_FALSE(store->url().automatic);
        EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::path(path).parent_path()));
    }
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST(ThrowawayStore, LeavesAStoreThatWasNamed) {
    const auto url = *parse_store_url("sqlite:/nowhere/x.db");
    EXPECT_EQ(ThrowawayStore::resolve(url)->url().text(), url.text());
}

} // namespace
} // namespace deadman
