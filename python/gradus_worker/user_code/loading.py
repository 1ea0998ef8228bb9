# Imports a user's file and finds what it defines.
import importlib.util
import os
import sys
import traceback


class LoadError(Exception):
    """What is wrong with a file. `hint` says what would help."""

    def __init__(self, fault, hint):
        super().__init__(fault)
        self.hint = hint


def load(path, name):
    """The value of `name` in the file. The file's folder comes first on the module path, as when Python runs it."""
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module_name = "user_" + os.path.splitext(os.path.basename(path))[0]
    module = sys.modules.get(module_name)
    if module is None or module.__file__ != path:
        spec = importlib.util.spec_from_file_location(module_name, path)
        module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except MemoryError:
            del sys.modules[module_name]
            raise
        except BaseException as error:
            del sys.modules[module_name]
            raise LoadError(told(error), f"see {place_of(error, path) or path}{missing_package(error)}") from error
    if hasattr(module, name):
        return getattr(module, name)
    theirs = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
    raise LoadError(f"it does not define {name}", f"it defines {', '.join(sorted(theirs)) or 'nothing'}")


def missing_package(error):
    """What to do about a missing module; nothing for other exceptions."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    return f"; {sys.executable} does not have it: install it there, or name another Python with GRADUS_PYTHON"


def told(error):
    """An exception in one line: `ValueError: what it says`."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def place_of(error, path):
    """`file:line` of the innermost frame in the user's folder, or of a syntax error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    folder = os.path.dirname(path) + os.sep
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(folder)]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else None
