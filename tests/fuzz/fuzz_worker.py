"""Run cases in another process, which may die or hang without taking the tests along.

Also the command that runs one case again:
``python tests/fuzz/fuzz_worker.py build/fuzz/failures.jsonl [line]``.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

FOLDER = Path(__file__).parent


def find(module, name):
    """Return the check of a test: what hypothesis calls with each case."""
    spec = importlib.util.spec_from_file_location(module, FOLDER / f"{module}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(module, loaded)
    spec.loader.exec_module(loaded)
    return getattr(loaded, name).check


def run_one(job, checks={}):  # noqa: B006 - loaded once a process
    """Run a job; return None or how it failed."""
    key = job["module"], job["test"]
    if key not in checks:
        checks[key] = find(*key)
    try:
        checks[key](job["case"])
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
        return {
            "error": type(error).__name__,
            "message": str(error)[:2000],
            "frames": lines[-3:],
        }
    return None


def serve():
    """Answer each line of the input, a job, by a line that says how it went."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps(run_one(json.loads(line))) + "\n")
        answers.flush()


class Worker:
    """A process that runs cases; a new one is started when it has died.

    Parameters
    ----------
    seconds : float
        How long a case may take.
    """

    def __init__(self, seconds):
        self.seconds = seconds
        self._process = None

    def _start(self):
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._answers = Queue()
        Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process):
        for line in process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def run(self, job):
        """Run a job; return None or how it failed: an error, a crash or a hang."""
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=self.seconds)
        except Empty:
            self._process.kill()
            self.close()
            return {"error": "Hang", "message": f"longer than {self.seconds} s"}
        except BrokenPipeError:
            line = None
        if line is not None:
            return json.loads(line)
        code = self._process.wait()
        self._log.seek(0)
        said = self._log.read()[-2000:]
        self.close()
        return {"error": f"Crash {code}", "message": said}

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.kill()
            self._process.wait()
            self._log.close()
        self._process = None


def replay(path, number=None):
    """Run the jobs of a file (or one line of it) again, in this process."""
    for i, line in enumerate(Path(path).read_text().splitlines(), start=1):
        if number is None or i == int(number):
            job = json.loads(line)
            print(json.dumps(job), flush=True)
            print(i, "->", run_one(job), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        replay(*sys.argv[1:])
    else:
        serve()
