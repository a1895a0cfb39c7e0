"""A report of compare.py as Markdown."""

COLUMNS = [
    ("enqueue1", "enqueue, 1"), ("enqueue16", "enqueue, 16"), ("bulk", "bulk"), ("drain1", "drain, 1 worker"),
    ("drain2", "drain, 2 workers"), ("drain_transactional", "drain, insert in the job's transaction"),
    ("p50", "p50, ms"), ("p95", "p95, ms"), ("p99", "p99, ms"), ("worker_mb", "worker, MB"),
]
ONLY_OURS = [("enqueue16p", "enqueue, 16 processes"), ("http16", "HTTP, 16 connections"), ("http_batch", "HTTP, batches of 1,000"),
             ("commit_p50", "a bare commit beside the latency, p50, ms"), ("commit_p99", "... p99, ms")]


def shown(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rows(header: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *lines])


def markdown(report: dict) -> str:
    medians, where = report["medians"], report["machine"]
    text = (f"{report['jobs']:,} jobs in a drain, medians of {report['repetitions']}; {where['cores']} cores of {where['cpu']}, "
            f"{where['memory_gib']} GiB, Linux {where['kernel']}, Postgres {report['postgres']}; load average "
            f"{report['load']['before']:.1f} before, {report['load']['after']:.1f} after; {report['at']}. Jobs/s.\n\n")
    text += rows(["", *[title for _, title in COLUMNS]],
                 [[name, *[shown(medians[name].get(key)) for key, _ in COLUMNS]] for name in medians])
    ours = medians.get("deadman", {})
    text += "\n\n" + rows(["Deadman alone", ""], [[title, shown(ours.get(key))] for key, title in ONLY_OURS])
    text += "\n\n" + rows(["ratio", ""], [[name, shown(value)] for name, value in report["ratios"].items()])
    for name, why in report["skipped"].items():
        text += f"\n\n{name} was left out: {why}."
    for failure in report["failures"]:
        text += f"\n\nfailed: {failure}"
    return text
