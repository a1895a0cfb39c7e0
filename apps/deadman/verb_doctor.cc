// deadman doctor: what is wrong here, and what to do about it.

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>

#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/store_backend.h"
#include "apps/deadman/verb.h"
#include "apps/deadman/versions.h"
#include "deadman/config/render.h"

namespace deadman {
namespace {

using Severity = store::Finding::Severity;

struct DoctorArguments {
    cli::ConfigFlags config;
    cli::OutputFormat output = cli::OutputFormat::table;
};

std::string_view severity_name(Severity severity) {
    switch (severity) {
    case Severity::ok:
        return "ok";
    case Severity::notice:
        return "notice";
    case Severity::warning:
        return "warning";
    case Severity::problem:
        break;
    }
    return "problem";
}

store::Finding about_versions() {
    const cli::Versions versions = cli::versions();
    return {.severity = Severity::ok,
            .name = "versions",
            .message = "deadman " + versions.deadman + " (commit " + versions.commit +
                       "), SQLite " + versions.sqlite +
                       (versions.libpq.empty() ? "" : ", libpq " + versions.libpq)};
}

store::Finding problem(std::string name, std::string message) {
    return {.severity = Severity::problem, .name = std::move(name), .message = std::move(message)};
}

/// The URL to look at: a broken configuration does not keep a store named by a flag from being
/// seen.
std::optional<std::string> examine_config(const DoctorArguments& arguments,
                                          std::vector<store::Finding>& findings) {
    const auto config = cli::load_config(arguments.config);
    if (config) {
        findings.push_back({.severity = Severity::ok,
                            .name = "config",
                            .message = config->file.empty()
                                           ? "no file; flags, environment, defaults"
                                           : config->file});
        return config->store;
    }
    std::istringstream mistakes(config.error().message); // one a line
    for (std::string mistake; std::getline(mistakes, mistake);)
        findings.push_back(problem("config", mistake));
    const auto flag = arguments.config.flags.find("store");
    return flag == arguments.config.flags.end() ? std::nullopt : std::optional(flag->second);
}

void examine_store(const std::string& url, std::vector<store::Finding>& findings) {
    base::SystemClock clock;
    const auto store = cli::open_existing_store(url, clock);
    if (!store) {
        findings.push_back(problem("store", store.error().message));
        return;
    }
    findings.push_back(
        {.severity = Severity::ok, .name = "store", .message = config::without_password(url)});
    auto found = (*store)->examine();
    if (!found) {
        findings.push_back(problem("store", found.error().message));
        return;
    }
    findings.insert(findings.end(), found->begin(), found->end());
}

void print_findings(const std::vector<store::Finding>& findings, cli::OutputFormat output) {
    if (output == cli::OutputFormat::table) {
        cli::Table table({"SEVERITY", "NAME", "WHAT"});
        for (const store::Finding& finding : findings)
            table.add(
                {std::string(severity_name(finding.severity)), finding.name, finding.message});
        cli::print(table.text());
        return;
    }
    std::vector<std::string> items;
    for (const store::Finding& finding : findings)
        items.push_back(cli::JsonObject()
                            .text("severity", severity_name(finding.severity))
                            .text("name", finding.name)
                            .text("message", finding.message)
                            .str());
    cli::print_items(items, output);
}

int run(const DoctorArguments& arguments) {
    std::vector<store::Finding> findings{about_versions()};
    if (const auto url = examine_config(arguments, findings))
        examine_store(*url, findings);
    print_findings(findings, arguments.output);
    const bool sound = std::none_of(findings.begin(), findings.end(), [](const auto& finding) {
        return finding.severity == Severity::problem;
    });
    return cli::after_output(sound ? exit_ok : exit_error);
}

} // namespace

void add_doctor_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb = app.add_subcommand(
        "doctor",
        "Look for what is wrong with the configuration and the store; exits 1 on a problem");
    const auto arguments = std::make_shared<DoctorArguments>();
    cli::add_config_flags(*verb, arguments->config, {"", "worker", "lease", "limits"});
    cli::add_output(*verb, arguments->output);
    verb->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

} // namespace deadman
