#include "apps/deadman/demo/hash_check.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "deadman/platform/process.h"

namespace deadman::demo {
namespace {

constexpr std::size_t files_per_call = 250; // of sha256sum, and rows per INSERT
constexpr std::size_t hash_digits = 64;

std::string quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text)
        quoted += c == '\'' ? std::string("''") : std::string(1, c);
    return quoted + "'";
}

// Lines of "<hash>  <path>", one for each file that could be read.
base::Result<std::string> run_sha256sum(std::span<const SampledFile> files) {
    platform::SpawnOptions options;
    options.argv = {"sha256sum", "--"};
    for (const SampledFile& file : files)
        options.argv.push_back(file.path);
    options.stdout_to = platform::StreamTo::pipe;
    options.stderr_to = platform::StreamTo::null;
    DEADMAN_TRY(auto child, platform::ChildProcess::spawn(options));
    return child.read_stdout();
}

base::Status insert_expected(chaos::Probe& probe, const std::string& lines) {
    std::string values;
    for (std::size_t from = 0, to = 0; (to = lines.find('\n', from)) != std::string::npos;
         from = to + 1) {
        const std::string line = lines.substr(from, to - from);
        if (line.size() < hash_digits + 3)
            return base::fail(base::ErrorCode::internal, "sha256sum printed: " + line);
        values += (values.empty() ? "(" : ", (") + quoted(line.substr(hash_digits + 2)) + ", " +
                  quoted(line.substr(0, hash_digits)) + ")";
    }
    if (values.empty())
        return {};
    return probe.execute("INSERT INTO sha256_expected (path, sha256) VALUES " + values);
}

} // namespace

base::Result<HashCheck> check_hashes(chaos::Probe& probe, const std::string& table,
                                     const std::vector<SampledFile>& files) {
    DEADMAN_TRY_STATUS(
        probe.execute("CREATE TABLE sha256_expected (path TEXT NOT NULL, sha256 TEXT NOT NULL)"));
    for (std::size_t from = 0; from < files.size(); from += files_per_call) {
        const auto some =
            std::span(files).subspan(from, std::min(files_per_call, files.size() - from));
        DEADMAN_TRY(const std::string lines, run_sha256sum(some));
        DEADMAN_TRY_STATUS(insert_expected(probe, lines));
    }
    DEADMAN_TRY(const auto rows, probe.query("SELECT e.path FROM sha256_expected e JOIN " + table +
                                             " a ON a.path = e.path GROUP BY e.path, e.sha256 "
                                             "HAVING count(*) = 1 AND max(a.sha256) = e.sha256"));
    std::map<std::string, bool> equal;
    for (const auto& row : rows)
        equal[row.at(0)] = true;

    HashCheck check;
    for (const SampledFile& file : files) {
        if (equal.contains(file.path))
            ++check.equal;
        else
            (has_changed(file) ? check.changed : check.wrong).push_back(file.path);
    }
    return check;
}

} // namespace deadman::demo
