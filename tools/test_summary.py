#!/usr/bin/env python3
"""Sums up the results of `./dev test`: ctest's JUnit files, and the GoogleTest cases inside them.

The last line is 'N passed, N failed', counted in ctest cases.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as xml


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    passed, failed = 0, []
    for file in sorted(folder.glob("*.xml")):
        for case in xml.parse(file).getroot().iter("testcase"):
            if case.get("status") == "run":
                passed += 1
            elif case.get("status") != "disabled":
                failed.append(case.get("name"))

    cases, skipped = 0, []
    for file in sorted(folder.glob("*.json")):
        try:
            suites = json.loads(file.read_text())["testsuites"]
        except (ValueError, KeyError):
            continue  # the program died while writing; ctest has counted it
        for suite in suites:
            for case in suite["testsuite"]:
                cases += 1
                if case.get("result") == "SKIPPED":
                    why = " ".join(note.get("message", "") for note in case.get("skipped", []))
                    skipped.append(f"{suite['name']}.{case['name']}: {' '.join(why.split()) or 'no reason given'}")

    for line in skipped:
        print(f"skipped  {line}")
    for name in failed:
        print(f"failed   {name}")
    print(f"{cases} GoogleTest cases in these programs, {len(skipped)} skipped")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
