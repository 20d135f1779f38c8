"""Where the log lies, and that nobody else can read it: names, private files, kinds of file system."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import subprocess
from pathlib import Path

from tui.log.errors import LogUnwritable

__all__ = [
    "catalogue_file",
    "create_private",
    "database_file",
    "is_network",
    "mount_type",
    "private_folder",
    "project_folder",
    "projects_folder",
    "read_mounts",
    "real_project",
    "search_file",
    "tighten",
]

MOUNTS = Path("/proc/self/mounts")
"""Linux' table of mounts."""
_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afpfs",
        "afs",
        "ncpfs",
        "9p",
        "v9fs",
        "drvfs",
        "ceph",
        "glusterfs",
        "lustre",
        "gpfs",
        "beegfs",
        "orangefs",
        "pvfs2",
        "virtiofs",
        "vboxsf",
        "prl_fs",
        "vmhgfs",
        "webdav",
        "davfs",
        "coda",
        "ocfs2",
        "gfs2",
        "osxfs",
        "macfuse",
    ]
)


def real_project(project: Path) -> Path:
    """Return the one real path a project directory is known by; it need not exist."""
    return Path(os.path.realpath(project))


def projects_folder(home: Path) -> Path:
    """Return the folder that holds one folder per project."""
    return home / "projects"


def project_folder(home: Path, project: Path) -> Path:
    """Return the folder of a project's database: a short readable slug and a hash, at most 62 bytes of ASCII.

    The path itself never becomes a name: 90 CJK letters over nine levels are too long for any file system
    (pi#9836). The real path is stored in the database.
    """
    real = real_project(project)
    raw = os.fsencode(real)
    slug = re.sub(r"[^a-z0-9]+", "-", real.name.lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(raw).hexdigest()[:20]
    return projects_folder(home) / f"{slug or 'project'}-{digest}"


def database_file(home: Path, project: Path) -> Path:
    """Return the path of a project's database."""
    return project_folder(home, project) / "log.sqlite"


def search_file(home: Path, project: Path) -> Path:
    """Return the path of a project's rebuildable search index."""
    return project_folder(home, project) / "search.sqlite"


def catalogue_file(home: Path) -> Path:
    """Return the path of the rebuildable catalogue of all projects and sessions."""
    return home / "catalogue.sqlite"


def private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700, whatever the umask. Raises `LogUnwritable`."""
    missing = [folder] if not folder.is_dir() else []
    while missing and not missing[-1].parent.is_dir():
        missing.append(missing[-1].parent)
    try:
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another window was quicker
                each.mkdir(mode=0o700)
                each.chmod(0o700)  # a strange umask must not take our own rights away
        if not folder.is_dir():
            raise NotADirectoryError(20, "Not a directory", str(folder))
    except OSError as error:
        raise _cannot("create the folder", folder, error) from error


def create_private(path: Path) -> None:
    """Create an empty file with mode 0600 unless it is there; SQLite gives its companions the same mode.

    An existing file is never opened here: closing any descriptor of it would drop the locks that another
    connection of this process holds on it. Raises `LogUnwritable`.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise _cannot("create", path, error) from error
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def tighten(path: Path) -> None:
    """Take the rights of group and others from a file or folder of ours (codex#21660), if it is ours to do."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        found = path.stat()
        if found.st_mode & 0o077 and os.access(path, os.W_OK):
            path.chmod(stat.S_IMODE(found.st_mode) & ~0o077)


def is_network(path: Path, mounts: str | None = None) -> bool:
    """Whether a path lies on a file system where shared memory cannot be trusted between machines: no WAL there.

    `mounts` as for `mount_type`; None: this machine's. What is not known counts as local.
    """
    kind = mount_type(os.path.realpath(path), _mounts() if mounts is None else mounts)
    return kind in _NETWORK or kind.startswith("fuse.")


def mount_type(path: str, mounts: str) -> str:
    """Return the file system type of the mount that holds `path`; empty if unknown.

    `mounts` is the text of `/proc/self/mounts`, or the output of macOS `mount`.
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        point, found = _mount(line)
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if point and inside and len(point) >= len(best):
            best, kind = point, found
    return kind


def _mount(line: str) -> tuple[str, str]:
    """Return mount point and type of one line, in the form of Linux or of macOS."""
    mac = re.match(r"^.+? on (/.*) \(([\w.]+)[,)]", line)
    if mac:
        return mac[1], mac[2]
    fields = line.split(" ")
    if len(fields) < 3:
        return "", ""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1]), fields[2]


def _mounts() -> str:
    if MOUNTS.exists():
        return read_mounts(MOUNTS)
    try:
        done = subprocess.run(["/sbin/mount"], capture_output=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


def read_mounts(table: Path) -> str:
    """Return a table of mounts as text; empty where it cannot be read."""
    try:
        return table.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _cannot(doing: str, path: Path, error: OSError) -> LogUnwritable:
    return LogUnwritable(
        f"Cannot {doing} {path}: {error.strerror or error}. Nothing was saved. "
        "Free space or mend the rights, set CLEW_HOME to another folder, or use --no-session."
    )
