"""Check that text files end with one newline and that no line ends with blanks.

``python .ci/text_files.py file ...``; without files, all that git knows of.
"""

import subprocess
import sys
from pathlib import Path


def faults(data):
    """What is wrong with a file's bytes, in words."""
    if b"\0" in data or not data:
        return []
    lines = data.split(b"\n")
    found = [
        f"{number}: blanks at the end of the line"
        for number, line in enumerate(lines, 1)
        if line != line.rstrip()
    ]
    if not data.endswith(b"\n"):
        found.append(f"{len(lines)}: no newline at the end of the file")
    elif data.endswith(b"\n\n"):
        found.append(f"{len(lines) - 1}: blank lines at the end of the file")
    return found


def main(paths):
    """Print the faults of all files; 1 if there are any."""
    if not paths:
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True)
        paths = [path for path in listed.stdout.decode().split("\0") if path]
    messages = [
        f"{path}:{fault}"
        for path in paths
        if Path(path).is_file()
        for fault in faults(Path(path).read_bytes())
    ]
    print(*messages, sep="\n", end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
