"""Files that are written whole or not at all."""

import os
import pathlib
import stat
import tempfile


class OutputFile:
    """A file to be written later, proved writable now: opened beside its place, renamed at the end.

    A name that is no regular file (`/dev/stdout`) is written directly, since nothing may replace
    it. Use as a context manager: without `commit` nothing is left behind.

    Raises:
        OSError: from the constructor, where the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike):
        # Through links: the file that they name is replaced, not the link.
        self.path = pathlib.Path(os.path.realpath(path))
        self._temporary: str | None = None
        if self.path.exists() and not self.path.is_file():
            if self.path.is_dir():
                raise IsADirectoryError(21, "it is a folder", str(self.path))
            return
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise PermissionError(13, "Permission denied", str(self.path))
        descriptor, self._temporary = tempfile.mkstemp(
            prefix=f".{self.path.name[:100]}.", suffix=".part", dir=self.path.parent
        )
        os.close(descriptor)

    def __enter__(self) -> "OutputFile":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._temporary is not None:
            pathlib.Path(self._temporary).unlink(missing_ok=True)

    def commit(self, content: str | bytes) -> None:
        """Puts the whole content in place."""
        raw = content.encode("utf-8") if isinstance(content, str) else content
        if self._temporary is None:
            self.path.write_bytes(raw)
            return
        pathlib.Path(self._temporary).write_bytes(raw)
        os.chmod(self._temporary, self._mode())
        os.replace(self._temporary, self.path)
        self._temporary = None

    def _mode(self) -> int:
        """What an ordinary open() would have given the file; a temporary one is private."""
        if self.path.exists():
            return stat.S_IMODE(self.path.stat().st_mode)
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def write_whole(path: str | os.PathLike, content: str | bytes) -> None:
    """Writes the file, or leaves what was there untouched."""
    with OutputFile(path) as file:
        file.commit(content)
