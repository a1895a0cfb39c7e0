"""Goal: the verbs of `deadman bench` count what they say they count, on every store. Method: small runs, their JSON, and what
they leave behind. How fast anything is on a busy machine is not asked here; plans and counts are."""

import pytest

from cli_support import OK, USAGE

STORES = ["sqlite:auto", "postgres:auto"]


def bench(cli, *arguments):
    done = cli.run("bench", *arguments, "--json")
    assert done.code == OK, done
    return done.json()


@pytest.mark.parametrize("store", ["memory:", *STORES])
def test_enqueue_counts_every_job(cli, store):
    measured = bench(cli, "enqueue", "--store", store, "--jobs", "500", "--threads", "4", "--batch", "7")
    assert measured["bench"] == "enqueue" and measured["store"] == store
    assert measured["jobs"] == 500 and measured["jobs_per_s"] > 0
    assert measured["call"]["n"] == 72


@pytest.mark.parametrize("store", STORES)
def test_enqueue_from_processes_and_by_http(cli, store):
    assert bench(cli, "enqueue", "--store", store, "--jobs", "200", "--processes", "2")["jobs"] == 200
    measured = bench(cli, "enqueue", "--store", store, "--jobs", "200", "--http", "--connections", "4", "--batch", "50")
    assert measured["how"] == "http" and measured["call"]["n"] == 4


@pytest.mark.parametrize("store", ["memory:", *STORES])
def test_drain_ends_every_job(cli, store):
    measured = bench(cli, "drain", "--store", store, "--jobs", "3000", "--workers", "2")
    assert measured["jobs"] == 3000 and measured["jobs_per_s"] > 0 and measured["worker_peak_rss_mb"] > 0


@pytest.mark.parametrize("store", STORES)
def test_transactional_jobs_leave_one_effect_each(cli, store):
    # The verb itself compares the rows with the jobs.
    assert bench(cli, "drain", "--store", store, "--jobs", "200", "--transactional")["transactional"] is True


@pytest.mark.parametrize("store", ["memory:", *STORES])
def test_latency_sees_every_job_start(cli, store):
    measured = bench(cli, "latency", "--store", store, "--rate", "50", "--seconds", "1")
    assert measured["enqueue_to_start"]["n"] == 50
    assert measured["enqueue_to_start"]["max_ms"] >= measured["enqueue_to_start"]["p50_ms"] > 0


def test_latency_of_open_transactions_counts_from_their_commit(cli):
    measured = bench(cli, "latency", "--store", "postgres:auto", "--rate", "50", "--seconds", "1", "--open-transactions", "0.2",
                     "--hold", "300ms")
    assert measured["commit_to_start"]["n"] == 10 and measured["enqueue_to_start"]["n"] == 40


def test_depth_asserts_the_plans_of_the_hot_path(cli):
    measured = bench(cli, "depth", "--store", "postgres:auto", "--jobs", "20000", "--claims", "20")
    assert measured["plans"]["statements"] > 0 and measured["plans"]["faults"] == []
    assert measured["claim_cost_ratio"] > 0
    assert measured["retried_to_start"]["n"] == measured["lapsed_to_start"]["n"] == 20
    assert 0 < measured["bytes_per_waiting_job"] and 0 < measured["bytes_per_finished_job"]


def test_depth_of_a_file(cli):
    measured = bench(cli, "depth", "--store", "sqlite:auto", "--jobs", "10000", "--claims", "10")
    assert measured["plans"]["statements"] == 0 and measured["lapsed_to_start"]["n"] == 20


@pytest.mark.parametrize("store", STORES)
def test_horizon_streams_everything_under_one_snapshot(cli, store):
    measured = bench(cli, "horizon", "--store", store, "--jobs", "10000")
    assert [run["claim"] for run in measured["runs"]] == [1000, 50] and measured["end_over_start"] > 0


@pytest.mark.parametrize("store", ["memory:", *STORES])
def test_mixed_ends_every_job(cli, store):
    measured = bench(cli, "mixed", "--store", store, "--rate", "100", "--seconds", "1")
    assert measured["jobs"] == 100 and measured["due_to_start"]["n"] == 100


def test_bad_input_is_a_usage_error(cli):
    assert cli.run("bench", "drain", "--jobs", "0").code == USAGE
    assert cli.run("bench", "drain", "--store", "nonsense:x").code == USAGE
    assert cli.run("bench", "enqueue", "--http", "--processes", "2").code == USAGE
    assert cli.run("bench", "enqueue", "--store", "memory:", "--processes", "2").code == USAGE
    assert cli.run("bench", "depth", "--store", "memory:").code == USAGE
    assert cli.run("bench", "latency", "--store", "sqlite:auto", "--open-transactions", "0.5").code == USAGE
    assert cli.run("bench", "--jobs", "10", "drain").code == USAGE
    assert cli.run("bench", "nonsense").code == USAGE
