// Goal: a slice is the very bytes of its value, and no text makes it read past the end. Method:
// tables, and random cuts and changes of a valid text.

#include "deadman/base/json_slices.h"

#include <string>

#include <gtest/gtest.h>

#include "deadman/base/random.h"

namespace deadman::base {
namespace {

std::string shown(std::string_view text) {
    const auto members = slice_object(text);
    if (!members)
        return "refused";
    std::string out;
    for (const JsonMember& member : *members)
        out += "<" + std::string(member.key) + "=" + std::string(member.value) + ">";
    return out;
}

TEST(JsonSlices, KeepTheBytesOfEachValue) {
    EXPECT_EQ(shown("{}"), "");
    EXPECT_EQ(shown(" { } \n"), "");
    EXPECT_EQ(shown(R"({"a":1,"b" : "x\"}y" , "c":[1, {"d":"]"}],"e":{ "f" : 1.0e5 }})"),
              R"(<a=1><b="x\"}y"><c=[1, {"d":"]"}]><e={ "f" : 1.0e5 }>)");
    EXPECT_EQ(shown(R"({"":null,"a\"b":true})"), R"(<=null><a\"b=true>)");
}

TEST(JsonSlices, RefuseWhatIsNotOneObject) {
    for (const char* text : {"", "{", "}", "[]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
                             "{\"a\":1}x", "{a:1}", "{\"a\":\"}", "{\"a\":[}", "{\"a\":1 \"b\":2}",
                             "{\"a\\\":1}", "\xEF\xBB\xBF{}", "{\"a\":[1,2"})
        EXPECT_EQ(shown(text), "refused") << text;
}

TEST(JsonSlices, TakeArraysApart) {
    const auto values = slice_array(R"([ {"a":[1]} ,2,"x,y" , [] ])");
    ASSERT_TRUE(values);
    ASSERT_EQ(values->size(), 4U);
    EXPECT_EQ((*values)[0], R"({"a":[1]})");
    EXPECT_EQ((*values)[2], R"("x,y")");
    EXPECT_TRUE(slice_array("[]")->empty());
    for (const char* text : {"", "[", "[1,]", "[,1]", "[1]]", "{}", "[1 2]"})
        EXPECT_FALSE(slice_array(text)) << text;
}

TEST(JsonSlices, DepthCostsNoStack) {
    const std::string deep =
        "{\"a\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
    const auto members = slice_object(deep);
    ASSERT_TRUE(members);
    EXPECT_EQ(members->front().value.size(), 2'000'000U);
}

TEST(JsonSlices, BrokenTextNeverReadsBeyondItsEnd) {
    const auto seed = random_seed();
    Random random(seed);
    const std::string whole = R"({"a":1,"b":"x\"y\\","c":[1,{"d":"]"}],"e":{"f":null}})";
    for (int round = 0; round < 20'000; ++round) {
        std::string text = whole.substr(0, random.below(whole.size() + 1));
        if (!text.empty() && random.chance(0.5))
            text[random.below(text.size())] = whole[random.below(whole.size())];
        const auto members = slice_object(text);
        if (!members)
            continue;
        for (const JsonMember& member : *members)
            ASSERT_NE(text.find(member.value), std::string::npos) << "seed " << seed;
    }
}

} // namespace
} // namespace deadman::base
