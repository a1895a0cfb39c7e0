#include "deadman/store/sqlite/internal/database.h"

#include <algorithm>
#include <utility>

#include <sqlite3.h>

#include "deadman/base/check.h"

namespace deadman::store::sqlite {
namespace {

// Our tables; see restrict_statements.
constexpr std::string_view own_prefix = "deadman_";

/// Short naps first: a commit of another process takes a few milliseconds.
int nap_ms(int tries) {
    if (tries < 20)
        return 1;
    return tries < 60 ? 3 : 10;
}

int slept_ms(int tries) {
    const int short_naps = std::min(tries, 20);
    const int middle_naps = std::clamp(tries - 20, 0, 40);
    const int long_naps = std::max(tries - 60, 0);
    return short_naps + middle_naps * 3 + long_naps * 10;
}

// The patience is counted in naps, not read from a clock: it must pass under a simulated one too.
int wait_while_busy(void* budget_ms, int tries) {
    if (slept_ms(tries) >= *static_cast<int*>(budget_ms))
        return 0;
    sqlite3_sleep(nap_ms(tries));
    return 1;
}

int tell_commit(void* told, sqlite3*, const char*, int pages) {
    (*static_cast<std::function<void(int)>*>(told))(pages);
    return SQLITE_OK;
}

int ask_interrupt(void* should_stop) {
    return (*static_cast<std::function<bool()>*>(should_stop))() ? 1 : 0;
}

bool writes_table(int action) {
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_DROP_TABLE:
    case SQLITE_ALTER_TABLE:
        return true;
    default:
        return false;
    }
}

int authorize(void* is_restricted, int action, const char* first, const char* second, const char*,
              const char*) {
    if (!*static_cast<const bool*>(is_restricted))
        return SQLITE_OK;
    switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return SQLITE_DENY;
    case SQLITE_PRAGMA: // one without a value may act too: wal_checkpoint
        return std::string_view(first).ends_with("_info") ? SQLITE_OK : SQLITE_DENY;
    default:
        break;
    }
    const char* table = action == SQLITE_ALTER_TABLE ? second : first;
    const bool is_own = table != nullptr && std::string_view(table).starts_with(own_prefix);
    return is_own && writes_table(action) ? SQLITE_DENY : SQLITE_OK;
}

} // namespace

Cursor::Cursor(Connection& connection, sqlite3_stmt* statement, KeptStatement* kept)
    : connection_(&connection), statement_(statement), kept_(kept) {}

Cursor::Cursor(Cursor&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)),
      kept_(other.kept_), borrows_texts_(other.borrows_texts_) {}

Cursor::~Cursor() {
    if (statement_ == nullptr)
        return;
    if (kept_ == nullptr)
        sqlite3_finalize(statement_);
    else
        Connection::give_back(*kept_);
}

bool Cursor::next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        connection_->raise(code);
    return false;
}

int Cursor::parameters() const {
    return sqlite3_bind_parameter_count(statement_);
}

int Cursor::columns() const {
    return sqlite3_column_count(statement_);
}

bool Cursor::is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Cursor::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

int Cursor::small(int column) const {
    return sqlite3_column_int(statement_, column);
}

bool Cursor::flag(int column) const {
    return small(column) != 0;
}

double Cursor::real(int column) const {
    return sqlite3_column_double(statement_, column);
}

std::string Cursor::text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_, column);
    if (bytes == nullptr)
        return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

SqlValue Cursor::value(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
        return integer(column);
    case SQLITE_FLOAT:
        return real(column);
    case SQLITE_NULL:
        return std::monostate{};
    default:
        return text(column);
    }
}

std::optional<std::int64_t> Cursor::optional_integer(int column) const {
    if (is_null(column))
        return std::nullopt;
    return integer(column);
}

void Cursor::bind(int index, std::int64_t value) {
    if (const int code = sqlite3_bind_int64(statement_, index, value); code != SQLITE_OK)
        connection_->raise(code);
}

void Cursor::bind_real(int index, double value) {
    if (const int code = sqlite3_bind_double(statement_, index, value); code != SQLITE_OK)
        connection_->raise(code);
}

void Cursor::bind_text(int index, std::string_view value) {
    // An empty view may have no address at all, which SQLite would take for NULL.
    const char* bytes = value.data() != nullptr ? value.data() : "";
    const int code =
        sqlite3_bind_text64(statement_, index, bytes, value.size(),
                            borrows_texts_ ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
    if (code != SQLITE_OK)
        connection_->raise(code);
}

void Cursor::bind_null(int index) {
    if (const int code = sqlite3_bind_null(statement_, index); code != SQLITE_OK)
        connection_->raise(code);
}

void Cursor::bind_value(int index, const SqlValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value))
        bind(index, *number);
    else if (const auto* fraction = std::get_if<double>(&value))
        bind_real(index, *fraction);
    else if (const auto* text = std::get_if<std::string>(&value))
        bind_text(index, *text);
    else
        bind_null(index);
}

base::Result<std::unique_ptr<Connection>> Connection::open(ConnectionOptions options) {
    std::unique_ptr<Connection> connection(new Connection(std::move(options)));
    const int mode = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                     (connection->options_.may_create ? SQLITE_OPEN_CREATE : 0);
    const int code =
        sqlite3_open_v2(connection->options_.path.c_str(), &connection->handle_, mode, nullptr);
    try {
        if (code != SQLITE_OK)
            connection->raise(code);
        connection->configure();
    } catch (const SqliteFailure& failure) {
        base::Error error = translate_sqlite(failure, Moment::statement);
        error.message = "cannot open " + connection->options_.path + ": " + error.message;
        return error;
    }
    return connection;
}

Connection::Connection(ConnectionOptions options) : options_(std::move(options)) {
    set_busy_patience(options_.busy_patience);
}

Connection::~Connection() {
    for (const auto& [sql, kept] : kept_)
        sqlite3_finalize(kept.statement);
    sqlite3_close(handle_);
}

void Connection::configure() {
    sqlite3_busy_handler(handle_, wait_while_busy, &busy_budget_ms_);
    // The last one to leave would otherwise copy the log back, with nobody's leave.
    set_checkpoint_at_close(false);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    run("PRAGMA foreign_keys = ON");
    run("PRAGMA temp_store = MEMORY");
    run("PRAGMA cache_size = -16000");
    run("PRAGMA wal_autocheckpoint = 0");
    if (options_.read_only)
        run("PRAGMA query_only = ON");
    else
        run(options_.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    const std::string limit = std::to_string(options_.log_bytes_at_rest);
    prepare("PRAGMA journal_size_limit = " + limit, false).next();
    // Setting the automatic checkpoint takes this hook away: so it comes last.
    if (options_.on_commit)
        sqlite3_wal_hook(handle_, tell_commit, &options_.on_commit);
    sqlite3_set_authorizer(handle_, authorize, &is_restricted_);
}

Cursor Connection::prepare(std::string_view sql, bool cached) {
    KeptStatement* kept = nullptr;
    if (cached) {
        kept = &kept_[sql.data()];
        if (kept->is_lent)
            kept = nullptr; // the same one twice at once
        else if (kept->statement != nullptr)
            return lend(*kept);
    }
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        cached ? SQLITE_PREPARE_PERSISTENT : 0, &statement, &tail);
    if (code != SQLITE_OK)
        raise(code);
    if (statement == nullptr)
        throw SqliteFailure{SQLITE_ERROR, "an empty statement"};
    Cursor cursor(*this, statement, nullptr);
    const std::string_view rest(tail, static_cast<std::size_t>(sql.data() + sql.size() - tail));
    if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
        throw SqliteFailure{SQLITE_ERROR, "more than one statement"};
    if (kept == nullptr)
        return cursor;
    kept->statement = std::exchange(cursor.statement_, nullptr);
    return lend(*kept);
}

Cursor Connection::lend(KeptStatement& kept) {
    kept.is_lent = true;
    return {*this, kept.statement, &kept};
}

void Connection::give_back(KeptStatement& kept) {
    sqlite3_reset(kept.statement);
    sqlite3_clear_bindings(kept.statement);
    kept.is_lent = false;
}

void Connection::raise(int code) const {
    std::string message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    throw SqliteFailure{code, std::move(message)};
}

int Connection::changes() const {
    return sqlite3_changes(handle_);
}

bool Connection::in_transaction() const {
    return sqlite3_get_autocommit(handle_) == 0;
}

void Connection::roll_back() noexcept {
    if (in_transaction())
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Connection::set_interrupt(std::function<bool()> should_stop) {
    constexpr int operations_between = 1'000;
    should_stop_ = std::move(should_stop);
    sqlite3_progress_handler(handle_, should_stop_ ? operations_between : 0,
                             should_stop_ ? ask_interrupt : nullptr, &should_stop_);
}

void Connection::set_checkpoint_at_close(bool wanted) {
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wanted ? 0 : 1, nullptr);
}

void Connection::set_busy_patience(base::Duration patience) {
    busy_budget_ms_ =
        static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(patience).count());
}

WriteTransaction::WriteTransaction(Connection& connection) : connection_(connection) {
    DEADMAN_CHECK(!connection.in_transaction());
    connection_.run("BEGIN IMMEDIATE");
}

WriteTransaction::~WriteTransaction() {
    connection_.roll_back();
}

void WriteTransaction::commit() {
    connection_.run("COMMIT");
}

} // namespace deadman::store::sqlite
