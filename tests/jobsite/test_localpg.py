"""A local PostgreSQL lives exactly as long as the command it is for."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ASK = "import os, psycopg; print(psycopg.connect(os.environ['DATABASE_URL']).execute({!r}).fetchone()[0])"
CREATE = (
    "import os, psycopg; psycopg.connect(os.environ['DATABASE_URL'], autocommit=True).execute('create table kept ()')"
)
WAIT = "import os, time; print(os.environ['DATABASE_URL'], flush=True); time.sleep(60)"
LOCALPG = [sys.executable, "-m", "jobsite.localpg", "run"]


def on_local_postgres(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*LOCALPG, *options, "--", sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def folder_of(url: str) -> Path:
    return Path(url.strip().partition("?host=")[2])


def test_the_command_gets_a_server_with_room_for_many_connections() -> None:
    assert on_local_postgres(ASK.format("show max_connections")).stdout == "200\n"


def test_the_exit_code_is_the_commands_and_nothing_stays_behind() -> None:
    ended = on_local_postgres("import os; print(os.environ['DATABASE_URL']); raise SystemExit(7)")

    assert ended.returncode == 7
    assert not folder_of(ended.stdout).exists()


def test_it_waits_for_the_disk_unless_nobody_needs_the_data() -> None:
    ask = ASK.format("show fsync")
    assert (on_local_postgres(ask).stdout, on_local_postgres(ask, "--unsafe").stdout) == ("on\n", "off\n")


def test_data_in_a_named_folder_are_there_the_next_time(tmp_path: Path) -> None:
    data = str(tmp_path / "data")

    assert on_local_postgres(CREATE, "--data", data).returncode == 0
    assert on_local_postgres(ASK.format("select to_regclass('kept')::text"), "--data", data).stdout == "kept\n"


def test_a_signal_reaches_the_command_and_the_server_is_stopped_after_it() -> None:
    command = [*LOCALPG, "--", sys.executable, "-c", WAIT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as runner:
        assert runner.stdout is not None
        folder = folder_of(runner.stdout.readline())
        server = int((folder / "postmaster.pid").read_text().splitlines()[0])
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(30) == 128 + signal.SIGTERM

    assert not folder.exists()
    assert not is_alive(server)


def is_alive(pid: int) -> bool:
    """A zombie has ended, whether or not anyone asked it how."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
