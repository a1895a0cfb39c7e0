"""The check that each test here ends with: it finds what was left behind, and ends it."""

import subprocess

import leftovers


def test_a_process_that_outlives_its_parent_is_found_and_ended():
    known = leftovers.living_children()
    subprocess.run(["sh", "-c", "setsid sleep 1001 </dev/null >/dev/null 2>&1 &"], check=True)
    left = leftovers.end_all_but(known, patience_s=0.2)
    assert len(left) == 1 and left[0].endswith("sleep 1001")
    assert leftovers.end_all_but(known) == []


def test_a_child_that_ends_in_a_moment_is_not_complained_of():
    known = leftovers.living_children()
    child = subprocess.Popen(["sleep", "0.3"])
    assert leftovers.end_all_but(known) == []
    child.wait()
