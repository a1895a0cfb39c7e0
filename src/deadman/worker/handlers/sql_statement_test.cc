// Goal: names become positions; nothing inside quotes, comments or casts is taken for a name.

#include "deadman/worker/handlers/sql_statement.h"

#include <gtest/gtest.h>

namespace deadman::worker {
namespace {

SqlStatement compile(std::string_view text, SqlDialect dialect = SqlDialect::postgres) {
    auto compiled = compile_statement(text, dialect);
    EXPECT_TRUE(compiled.has_value()) << text;
    return compiled.value_or(SqlStatement{});
}

TEST(SqlStatement, NamesBecomePositionsInOrderOfFirstUse) {
    const auto statement = compile("insert into t values (:fence, :payload, :fence)");
    EXPECT_EQ(statement.text, "insert into t values ($1, $2, $1)");
    EXPECT_EQ(statement.parameters, (std::vector{SqlParameter::fence, SqlParameter::payload}));
    EXPECT_EQ(compile("select :job_id", SqlDialect::sqlite).text, "select ?1");
}

TEST(SqlStatement, LeavesQuotesCommentsAndCastsAlone) {
    for (const char* text : {"select ':payload'", "select 'it''s :x'", "select \":payload\"",
                             "select 1 -- :nope", "select 1 /* :nope ' */", "select '1'::text",
                             "do $$ begin perform ':x'; end $$", "select $tag$ :x $$ :y $tag$"}) {
        EXPECT_EQ(compile(text).text, text);
        EXPECT_TRUE(compile(text).parameters.empty()) << text;
    }
    EXPECT_EQ(compile("select :payload::json").text, "select $1::json");
}

// F1: such a parameter was passed on unbound: SQLite wrote null, and the job succeeded.
TEST(SqlStatement, RefusesParametersThatNothingWouldBeBoundTo) {
    for (const char* text : {"values ($1)", "values (?1)", "values (?)", "values ( ? , 1)",
                             "select @x", "select 1 where a = ?"}) {
        for (const SqlDialect dialect : {SqlDialect::sqlite, SqlDialect::postgres}) {
            const auto compiled = compile_statement(text, dialect);
            ASSERT_FALSE(compiled.has_value()) << text;
            EXPECT_EQ(compiled.error().code, base::ErrorCode::invalid_argument);
            EXPECT_NE(compiled.error().message.find(":payload, :job_id, :fence, :attempt"),
                      std::string::npos)
                << compiled.error().message;
        }
    }
    for (const char* text : {"select $name", "select :2", "select a ? 'b'"})
        EXPECT_FALSE(compile_statement(text, SqlDialect::sqlite).has_value()) << text;
}

TEST(SqlStatement, LeavesWhatOnlyLooksLikeAParameterAlone) {
    for (const char* text : {"select a ? 'b'", "select a ?| array['b']", "select a <@ b",
                             "select a @> b", "select a[1:2]", "select tab$1", "select '$1 ? @x'",
                             "select E'it\\'s :x $1'", "select 1 -- $1 ?", "/* ? */ select 1"})
        EXPECT_EQ(compile(text).text, text);
    for (const char* text : {"select [a :b ?]", "select `a ?`", "select '$.a'"})
        EXPECT_EQ(compile(text, SqlDialect::sqlite).text, text);
}

TEST(SqlStatement, RefusesUnknownNamesAndUnfinishedText) {
    for (const char* text : {"select :nope", "select 'open", "select /* open", "select $$ open"}) {
        const auto compiled = compile_statement(text, SqlDialect::postgres);
        ASSERT_FALSE(compiled.has_value()) << text;
        EXPECT_EQ(compiled.error().code, base::ErrorCode::invalid_argument);
    }
}

} // namespace
} // namespace deadman::worker
