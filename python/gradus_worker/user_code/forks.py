# User code may fork, to run a model's code in a disposable process.
import contextlib
import os
import sys
import traceback


@contextlib.contextmanager
def children_end():
    """A forked child that runs past this block ends there, with the status it would have as a program. It must not answer the
    worker's call, which is its parent's to answer."""
    worker, status = os.getpid(), 0
    try:
        yield
    except SystemExit as end:
        status = _status(end.code)
        raise
    except BaseException:
        status = 1
        raise
    finally:
        if os.getpid() != worker:
            _leave(status)


def _status(code):
    if code is None or isinstance(code, int):
        return (code or 0) & 255
    return 1


def _leave(status):
    with contextlib.suppress(Exception):  # user code may have closed them
        if status == 1:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
