"""Gets the rivals from their registries into the cache folder. What cannot be had here is left out, by name."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def say(text: str) -> None:
    print(f"compare: {text}", file=sys.stderr, flush=True)


def run(command: list[str], where: pathlib.Path, log: pathlib.Path) -> bool:
    with log.open("a") as out:
        return subprocess.run(command, cwd=where, stdout=out, stderr=out, check=False).returncode == 0


def stamp_of(*files: pathlib.Path) -> str:
    return "".join(file.read_text() for file in files)


def made(folder: pathlib.Path, want: str, make) -> bool:
    """Makes it unless it stands already as wanted."""
    stamp = folder / "made-from"
    if stamp.is_file() and stamp.read_text() == want:
        return True
    folder.mkdir(parents=True, exist_ok=True)
    if not make():
        return False
    stamp.write_text(want)
    return True


def go_rivals(cache: pathlib.Path) -> str | None:
    """What stands in the way, or nothing."""
    if not shutil.which("go"):
        return "there is no go"
    source, folder = HERE / "go", cache / "go"

    def make() -> bool:
        say("building River and Asynq (go)")
        for file in source.iterdir():
            shutil.copy(file, folder)
        log = cache / "go.log"
        return run(["go", "mod", "tidy"], folder, log) and run(["go", "build", "-o", str(cache / "rivals"), "."], folder, log)

    want = stamp_of(source / "go.mod", source / "rivals.go")
    return None if made(folder, want, make) else f"go could not build it: {cache / 'go.log'}"


def node_rivals(cache: pathlib.Path) -> str | None:
    if not shutil.which("npm"):
        return "there is no npm"
    folder = cache / "node"

    def make() -> bool:
        say("installing graphile-worker, pg-boss and BullMQ (npm)")
        shutil.copy(HERE / "node/package.json", folder)
        return run(["npm", "install", "--no-audit", "--no-fund"], folder, cache / "node.log")

    return None if made(folder, stamp_of(HERE / "node/package.json"), make) else f"npm failed: {cache / 'node.log'}"


def python_rivals(cache: pathlib.Path) -> str | None:
    folder = cache / "python"

    def make() -> bool:
        say("installing pgqueuer (pip)")
        log = cache / "python.log"
        return run([sys.executable, "-m", "venv", str(folder)], cache, log) and run(
            [str(folder / "bin/pip"), "install", "-q", "-r", str(HERE / "python/requirements.txt")], cache, log)

    return None if made(folder, stamp_of(HERE / "python/requirements.txt"), make) else f"pip failed: {cache / 'python.log'}"


def redis_server() -> str | None:
    return None if shutil.which("redis-server") else "there is no redis-server"
