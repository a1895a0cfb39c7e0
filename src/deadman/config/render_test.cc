// Goal: the sample and the reference say what the table says; nothing printed carries a password.

#include "deadman/config/render.h"

#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deadman/config/option.h"

namespace deadman::config {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string read(const std::string& path) {
    std::ifstream stream(path);
    EXPECT_TRUE(stream.is_open()) << path << ": tests run in the top folder";
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

Sources sources_with(std::string file_text) {
    Sources sources;
    sources.environment["HOME"] = "/users/ada";
    sources.file = FileText{.path = "deadman.toml", .text = std::move(file_text)};
    return sources;
}

/// The sample with every setting switched on.
std::string switched_on(const std::string& sample) {
    return std::regex_replace(sample, std::regex("(^|\n)#([a-z_]+ =|\\[)"), "$1$2");
}

TEST(Sample, TheShippedFileIsWhatTheTableSays) {
    EXPECT_EQ(read("docs/deadman.sample.toml"), render_sample())
        << "write it anew: deadman config sample > docs/deadman.sample.toml";
}

TEST(Reference, TheShippedPageIsWhatTheTableSays) {
    EXPECT_EQ(read("docs/CONFIGURATION.md"), render_reference())
        << "write it anew: deadman config reference > docs/CONFIGURATION.md";
}

TEST(Sample, ChangesNothingAsItIs) {
    const auto config = resolve(sources_with(render_sample()));
    ASSERT_TRUE(config.has_value()) << config.error().message;
    for (const Shown& shown : config->shown)
        EXPECT_EQ(shown.origin, Origin::fallback) << shown.name;
    EXPECT_TRUE(config->handlers.empty());
}

TEST(Sample, IsValidAndCompleteWithEverythingSwitchedOn) {
    const auto config = resolve(sources_with(switched_on(render_sample())));
    ASSERT_TRUE(config.has_value()) << config.error().message;
    for (const Option& option : options())
        EXPECT_EQ(config->origin_of(key_of(option)), Origin::file) << key_of(option);
    EXPECT_EQ(config->handlers.size(), 3U);
    for (const Shown& shown : config->shown)
        EXPECT_EQ(shown.origin, Origin::file) << shown.section << " " << shown.name;
}

TEST(Sample, WhatIsSwitchedOnIsTheDefaultWhereTheDefaultIsAValue) {
    const auto plain = resolve(sources_with("")).value();
    const auto on = resolve(sources_with(switched_on(render_sample()))).value();
    for (const Option& option : options()) {
        if (option.fallback.starts_with('('))
            continue;
        const auto text = [&](const Config& config) {
            for (const Shown& shown : config.shown)
                if (shown.section == option.section && shown.name == option.name)
                    return shown.text;
            return std::string("not shown");
        };
        EXPECT_EQ(text(plain), text(on)) << key_of(option);
    }
}

TEST(Origin, EachValueStandsWithItsPlace) {
    Sources sources = sources_with("[worker]\nslots = 3\n[handlers.x]\ntype = \"exec\"\n"
                                   "command = [\"a\\nb\"]\n");
    sources.environment["DEADMAN_LOG_LEVEL"] = "warn";
    sources.flags["lease"] = "4s";
    const std::string text = render_origin(resolve(sources).value());
    EXPECT_THAT(text, HasSubstr("# file: deadman.toml\n"));
    EXPECT_THAT(text, HasSubstr("slots = 3  # file deadman.toml:2\n"));
    EXPECT_THAT(text, HasSubstr("log_level = \"warn\"  # environment DEADMAN_LOG_LEVEL\n"));
    EXPECT_THAT(text, HasSubstr("lease = \"4s\"  # flag --lease\n"));
    EXPECT_THAT(text, HasSubstr("listen = \"127.0.0.1:7350\"  # default\n"));
    EXPECT_THAT(text, HasSubstr("[handlers.\"x\"]\n"));
    EXPECT_THAT(text, HasSubstr("command = [\"a\\u000Ab\"]  # file deadman.toml:5\n"));
}

TEST(Origin, WhatItPrintsIsAConfigOfTheSameMeaning) {
    const auto first = resolve(sources_with(switched_on(render_sample()))).value();
    const auto again = resolve(sources_with(render_origin(first)));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    ASSERT_EQ(again->shown.size(), first.shown.size());
    for (std::size_t i = 0; i < first.shown.size(); ++i)
        EXPECT_EQ(again->shown[i].text, first.shown[i].text) << first.shown[i].name;
}

TEST(Origin, PasswordsAreMasked) {
    Sources sources = sources_with("");
    sources.flags["store"] = "postgres://app:hunter2@db/jobs";
    const std::string text = render_origin(resolve(sources).value());
    EXPECT_THAT(text, HasSubstr("store = \"postgres://app:***@db/jobs\"  # flag --store"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
}

TEST(Origin, AnUnfinishedPasswordStillPrintsAsAConfig) {
    Sources sources = sources_with("");
    sources.flags["store"] = "host=h password='x=a";
    const std::string text = render_origin(resolve(sources).value());
    EXPECT_THAT(text, HasSubstr("store = \"host=h password=***\"  # flag --store"));
    EXPECT_TRUE(resolve(sources_with(text)).has_value());
}

TEST(WithoutPassword, MasksEveryForm) {
    EXPECT_EQ(without_password("postgres://a:b@h/d"), "postgres://a:***@h/d");
    EXPECT_EQ(without_password("postgres://a:b:c@d@h/d"), "postgres://a:***@h/d");
    EXPECT_EQ(without_password("postgres://a@h:5432/d"), "postgres://a@h:5432/d");
    EXPECT_EQ(without_password("postgres://h/d?password=x&user=a"),
              "postgres://h/d?password=***&user=a");
    EXPECT_EQ(without_password("host=h password=x user=a"), "host=h password=*** user=a");
    EXPECT_EQ(without_password("host=h password = 'x \\' y' user=a"),
              "host=h password = *** user=a");
    EXPECT_EQ(without_password("password="), "password=***");
    EXPECT_EQ(without_password("host=password-db sslpassword=a password=b"),
              "host=password-db sslpassword=*** password=***");
    EXPECT_EQ(without_password("postgres://a:b@h/d?sslpassword=x&password=y"),
              "postgres://a:***@h/d?sslpassword=***&password=***");
    EXPECT_EQ(without_password("postgres://a:b/c@h/d"), "postgres://a:***@h/d");
    EXPECT_EQ(without_password("password='x\\"), "password=***");
    EXPECT_EQ(without_password("sqlite:/var/x.db"), "sqlite:/var/x.db");
    EXPECT_EQ(without_password("://"), "://");
}

} // namespace
} // namespace deadman::config
