#include <string>

#include <yyjson.h>

#include "apps/deadman/bench/plans.h"

namespace deadman::bench {
namespace {

/// What follows a line that ends in "plan:", without the tabs that continue it.
std::string next_plan(std::string_view log, std::size_t& at) {
    constexpr std::string_view head = "plan:\n";
    const std::size_t found = log.find(head, at);
    at = found == std::string_view::npos ? log.size() : found + head.size();
    std::string json;
    while (at < log.size() && log[at] == '\t') {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        json += log.substr(at + 1, end - at - 1);
        json += '\n';
        at = std::min(end + 1, log.size());
    }
    return json;
}

std::string text_of(yyjson_val* node, const char* name) {
    const char* text = yyjson_get_str(yyjson_obj_get(node, name));
    return text == nullptr ? "" : text;
}

double number_of(yyjson_val* node, const char* name) {
    return yyjson_get_num(yyjson_obj_get(node, name));
}

void walk(yyjson_val* node, std::vector<Scan>& scans) {
    if (const std::string table = text_of(node, "Relation Name");
        !table.empty() && text_of(node, "Node Type") != "ModifyTable") {
        const double rows = number_of(node, "Actual Rows") +
                            number_of(node, "Rows Removed by Filter") +
                            number_of(node, "Rows Removed by Index Recheck");
        scans.push_back({.node = text_of(node, "Node Type"),
                         .table = table,
                         .index = text_of(node, "Index Name"),
                         .rows = rows * number_of(node, "Actual Loops")});
    }
    std::size_t index = 0;
    std::size_t count = 0;
    yyjson_val* child = nullptr;
    yyjson_arr_foreach(yyjson_obj_get(node, "Plans"), index, count, child) walk(child, scans);
}

} // namespace

std::vector<std::vector<Scan>> read_plans(std::string_view log) {
    std::vector<std::vector<Scan>> plans;
    for (std::size_t at = 0; at < log.size();) {
        const std::string json = next_plan(log, at);
        yyjson_doc* document = yyjson_read(json.data(), json.size(), 0);
        if (document == nullptr)
            continue;
        std::vector<Scan> scans;
        walk(yyjson_obj_get(yyjson_doc_get_root(document), "Plan"), scans);
        yyjson_doc_free(document);
        plans.push_back(std::move(scans));
    }
    return plans;
}

} // namespace deadman::bench
