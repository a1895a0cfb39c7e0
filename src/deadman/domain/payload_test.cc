// Goal: what every store can carry unchanged is accepted, the rest refused, nothing crashes.
// Method: tables of corners, then random and mutated JSON against a second, recursive reading of
// the rules.

#include "deadman/domain/payload.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <yyjson.h>

#include "deadman/base/utf8.h"

namespace deadman::domain {
namespace {

class AcceptsPayload : public testing::TestWithParam<const char*> {};

TEST_P(AcceptsPayload, AsItIs) {
    const auto status = validate_payload(GetParam());
    EXPECT_TRUE(status.has_value()) << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Payload, AcceptsPayload,
    testing::Values(
        "{}", "[]", "null", "0", "\"\"", " {\"a\" : [1, 2.5, -3e-7] } ",
        R"({"id":1970670598291982290,"neg":-9223372036854775808,"u":18446744073709551615})",
        R"({"d":0.1000000000000000055,"tiny":1e-400,"big":1.7976931348623157e308})",
        R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})", R"(["\ud83d\ude00"])",
        "[\"\xF0\x9F\x98\x80\"]", R"({"":1})", R"(["\u0001"])", "-0", "[[[[[[[[]]]]]]]]",
        R"("]]]]{{{{")"));

struct Refusal {
    const char* json;
    const char* why;
};

class RefusesPayload : public testing::TestWithParam<Refusal> {};

TEST_P(RefusesPayload, SayingWhyAndWhere) {
    const auto status = validate_payload(GetParam().json);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, base::ErrorCode::invalid_argument);
    EXPECT_NE(status.error().message.find(GetParam().why), std::string::npos)
        << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Payload, RefusesPayload,
    testing::Values(Refusal{"", "empty"}, Refusal{"{", "not valid JSON"},
                    Refusal{"{} x", "not valid JSON"}, Refusal{"{'a':1}", "not valid JSON"},
                    Refusal{"[1,]", "not valid JSON"}, Refusal{"NaN", "not valid JSON"},
                    Refusal{"01", "not valid JSON"}, Refusal{"// x\n{}", "not valid JSON"},
                    Refusal{"\xEF\xBB\xBF{}", "not valid JSON"},
                    Refusal{"\"a\nb\"", "not valid JSON"}, Refusal{R"("\ud800")", "not valid JSON"},
                    Refusal{R"("\ude00\ud83d")", "not valid JSON"},
                    Refusal{R"("\ud800\u0041")", "not valid JSON"},
                    Refusal{"\"\xED\xA0\x80\"", "UTF-8 at byte 1"}, Refusal{"\"\xFF\"", "UTF-8"},
                    Refusal{"\"\xC0\xAF\"", "UTF-8"},
                    Refusal{R"({"a":["x","b\u0000c"]})", "a NUL in text at /a/1"},
                    Refusal{R"({"k\u0000":1})", "a NUL in a key at the top"},
                    Refusal{R"({"a":{"dup":1,"dup":2}})", "'dup' stands twice at /a"},
                    Refusal{R"({"a":1,"\u0061":2})", "'a' stands twice"},
                    Refusal{R"([1,1e400])", "fits neither 64 bits nor a double at /1"},
                    Refusal{"18446744073709551616", "fits neither"},
                    Refusal{"-9223372036854775809", "fits neither"}));

TEST(Payload, RefusesARawNulByte) {
    EXPECT_FALSE(validate_payload(std::string_view("\"a\0b\"", 5)).has_value());
    EXPECT_FALSE(validate_payload(std::string_view("{}\0", 3)).has_value());
}

TEST(Payload, TheLimitsAreTheLastThatIsAllowed) {
    const PayloadLimits limits{.max_bytes = 10, .max_depth = 3};
    EXPECT_TRUE(validate_payload("\"12345678\"", limits).has_value());
    EXPECT_FALSE(validate_payload("\"123456789\"", limits).has_value());
    EXPECT_TRUE(validate_payload("[[[1]]]", limits).has_value());
    const auto deep = validate_payload("[[[[]]]]", limits);
    ASSERT_FALSE(deep.has_value());
    EXPECT_NE(deep.error().message.find("deeper than 3 at byte 3"), std::string::npos);
}

TEST(Payload, TenThousandDeepIsRefusedAndAMillionDeepToo) {
    for (const std::size_t depth : {10'000U, 400'000U}) {
        EXPECT_FALSE(validate_payload(std::string(depth, '[')).has_value());
        EXPECT_FALSE(
            validate_payload(std::string(depth, '[') + std::string(depth, ']')).has_value());
        std::string objects;
        for (std::size_t i = 0; i < depth / 5; ++i)
            objects += "{\"a\":";
        EXPECT_FALSE(validate_payload(objects).has_value());
    }
}

TEST(Payload, WithALooseLimitDepthCostsMemoryNotStack) {
    const std::size_t depth = 200'000;
    const std::string json = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_TRUE(validate_payload(json, {.max_depth = depth}).has_value());
}

TEST(Payload, BracketsInTextAreNoDepth) {
    const std::string json = "\"" + std::string(5000, '[') + "\\\"" + std::string(5000, '{') + "\"";
    EXPECT_TRUE(validate_payload(json).has_value());
}

TEST(Payload, ManyKeysAreComparedInReasonableTime) {
    std::string json = "{";
    for (int i = 0; i < 50'000; ++i)
        json += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    EXPECT_TRUE(validate_payload(json + "\"last\":0}").has_value());
    EXPECT_FALSE(validate_payload(json + "\"key7\":0}").has_value());
}

// --- a second reading of the rules, plain and recursive
// --------------------------------------------

bool number_fits(std::string_view raw) {
    const std::string text(raw);
    errno = 0;
    if (text.find_first_of(".eE") != std::string::npos)
        return std::isfinite(std::strtod(text.c_str(), nullptr));
    if (text.front() == '-')
        (void)std::strtoll(text.c_str(), nullptr, 10);
    else
        (void)std::strtoull(text.c_str(), nullptr, 10);
    return errno == 0;
}

bool within_rules(yyjson_val* value, std::size_t depth_left) {
    const std::string_view text(yyjson_is_str(value) ? yyjson_get_str(value) : "",
                                yyjson_is_str(value) ? yyjson_get_len(value) : 0);
    if (text.find('\0') != std::string_view::npos)
        return false;
    if (yyjson_is_raw(value))
        return number_fits({yyjson_get_raw(value), yyjson_get_len(value)});
    if (yyjson_is_ctn(value) && depth_left == 0)
        return false;
    std::size_t index = 0;
    std::size_t count = 0;
    yyjson_val* key = nullptr;
    yyjson_val* item = nullptr;
    bool good = true;
    yyjson_arr_foreach(value, index, count, item) good = good && within_rules(item, depth_left - 1);
    std::set<std::string> keys;
    yyjson_obj_foreach(value, index, count, key, item) {
        const std::string name(yyjson_get_str(key), yyjson_get_len(key));
        good = good && keys.insert(name).second && name.find('\0') == std::string::npos &&
               within_rules(item, depth_left - 1);
    }
    return good;
}

bool acceptable(const std::string& json, std::size_t max_depth) {
    std::string copy = json;
    const std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)> document(
        yyjson_read_opts(copy.data(), copy.size(), YYJSON_READ_NUMBER_AS_RAW, nullptr, nullptr),
        &yyjson_doc_free);
    return document && within_rules(yyjson_doc_get_root(document.get()), max_depth);
}

rc::Gen<std::string> scalar_text() {
    return rc::gen::elementOf(std::vector<std::string>{"0",
                                                       "-1",
                                                       "1.5",
                                                       "1e308",
                                                       "1e309",
                                                       "-1e400",
                                                       "18446744073709551615",
                                                       "18446744073709551616",
                                                       "-9223372036854775808",
                                                       "-9223372036854775809",
                                                       "true",
                                                       "null",
                                                       "\"\"",
                                                       "\"a\"",
                                                       "\"\\u0000\"",
                                                       "\"\\ud83d\\ude00\"",
                                                       "\"\\ud83d\"",
                                                       "\"]\"",
                                                       "\"\\\"[\"",
                                                       "\"\xC3\xA4\"",
                                                       "1e-400"});
}

std::string json_text(int depth) {
    const int shape = *rc::gen::inRange(0, depth <= 0 ? 1 : 3);
    if (shape == 0)
        return *scalar_text();
    const int count = *rc::gen::inRange(0, 4);
    std::string inner;
    for (int i = 0; i < count; ++i) {
        if (i > 0)
            inner += ",";
        if (shape == 2)
            inner +=
                "\"" + *rc::gen::element<std::string>("a", "b", "c", "\\u0061", "d\\u0000") + "\":";
        inner += json_text(depth - 1);
    }
    return shape == 1 ? "[" + inner + "]" : "{" + inner + "}";
}

RC_GTEST_PROP(PayloadProperty, AcceptsExactlyWhatParsesAndKeepsTheRules, ()) {
    const std::string json = json_text(5);
    const std::size_t max_depth = *rc::gen::inRange<std::size_t>(1, 6);
    RC_ASSERT(validate_payload(json, {.max_depth = max_depth}).has_value() ==
              acceptable(json, max_depth));
}

RC_GTEST_PROP(PayloadProperty, AgreesOnDamagedTextToo, ()) {
    std::string json = json_text(4);
    const int slips = *rc::gen::inRange(1, 4);
    for (int i = 0; i < slips; ++i)
        json[*rc::gen::inRange<std::size_t>(0, json.size())] = *rc::gen::oneOf(
            rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("[]{}\",:\\0e")));
    RC_ASSERT(validate_payload(json).has_value() == acceptable(json, 64));
}

// --- clean_text
// --------------------------------------------------------------------------------------

TEST(CleanText, LeavesGoodTextAlone) {
    EXPECT_EQ(clean_text("gr\xC3\xBC\xC3\x9F", 100), "gr\xC3\xBC\xC3\x9F");
    EXPECT_EQ(clean_text("12345", 5), "12345");
    EXPECT_EQ(clean_text("", 0), "");
}

TEST(CleanText, ReplacesBadBytesAndNul) {
    EXPECT_EQ(clean_text("a\x97\xC7\xFF"
                         "b",
                         100),
              "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
              "b");
    EXPECT_EQ(clean_text(std::string_view("a\0b", 3), 100), "a\xEF\xBF\xBD"
                                                            "b");
    EXPECT_EQ(clean_text("\xE2\x82", 100), "\xEF\xBF\xBD");
}

TEST(CleanText, CutsOnACharacterBorderAndSaysSo) {
    const std::string text(1000, 'x');
    const std::string cut = clean_text(text, 100);
    EXPECT_EQ(cut.size(), 100U);
    EXPECT_TRUE(cut.ends_with(" [cut from 1000 bytes]"));
    EXPECT_EQ(clean_text("\xC3\xBC\xC3\xBC\xC3\xBC", 3), "\xC3\xBC");
}

RC_GTEST_PROP(CleanTextProperty, IsAlwaysValidAndWithinTheLimit, (const std::string& text)) {
    const std::size_t limit = *rc::gen::inRange<std::size_t>(0, 200);
    const std::string clean = clean_text(text, limit);
    RC_ASSERT(clean.size() <= limit);
    RC_ASSERT(base::find_invalid_utf8(clean) == std::string_view::npos);
    RC_ASSERT(clean.find('\0') == std::string::npos);
    RC_ASSERT(clean_text(clean, limit) == clean);
}

} // namespace
} // namespace deadman::domain
