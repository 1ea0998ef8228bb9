// The program that tries a completion's Python code.
import { PYTHON_LINK } from './python-link.ts';
import { PYTHON_STATEMENTS } from './python-statements.ts';

/**
 * The code becomes the module `solution`, with a file, in a process of its own, so that what it defines can be pickled, inspected and resolved. Its main block does not run. If it
 * exits, it is over, and what it has defined counts; statements that fail because input or a module is missing are skipped.
 * Tests run in this process, which has never held the code.
 */
export const pythonHarness = String.raw`
import os
os.write(1, b"started\n")
${PYTHON_LINK}
import ast, importlib.util, io, re
MODULES = "import bisect, collections, copy, datetime, functools, heapq, itertools, math, operator, random, re, string, sys"
HEADER = MODULES + """
from bisect import *; from collections import *; from functools import *; from heapq import *; from itertools import *; from math import *
from typing import *
from builtins import pow
"""
RUN = """
import builtins, os, runpy, sys
builtins.exit = builtins.quit = sys.exit
path = sys.argv.pop()
sys.argv[0] = path
sys.path.insert(0, os.path.dirname(path))
scope = {}
exec(HEADER, scope)
runpy.run_path(path, {name: value for name, value in scope.items() if name[0] != "_"}, "__main__")
""".replace("HEADER", repr(HEADER))

def load(code, path, with_header):
    spec = importlib.util.spec_from_file_location("solution", path)
    module = importlib.util.module_from_spec(spec)
    # Under its second name code finds itself, as timeit and doctest do, and not this program.
    sys.modules["solution"] = sys.modules["__main__"] = module
    scope = module.__dict__
    scope["__builtins__"] = builtins
    if with_header:
        exec(HEADER, scope)
    has_read = []
    class Nothing(io.RawIOBase):
        def readable(self):
            return True
        def readinto(self, buffer):
            has_read.append(True)
            return 0
    sys.stdin = io.TextIOWrapper(io.BufferedReader(Nothing()))
    try:
        body = ast.parse(code, path).body
    except Exception:
        return None
    import __future__
    flags = 0
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for name in node.names:
                flags |= getattr(__future__, name.name).compiler_flag
    run, compiled, module_of = exec, compile, ast.Module
    for node in body:
        try:
            run(compiled(module_of([node], []), path, "exec", flags, True), scope)
        except SystemExit:
            break
        except ImportError:
            continue
        except BaseException:
            # Without input, more may be missing later.
            if not has_read:
                return None
    return module

${PYTHON_STATEMENTS}
def data_of(value):
    """A copy of plain data, which consists of built-in types alone."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if is_remote(value):
        return data_of(plain(value))
    if isinstance(value, dict):
        return {str(key): data_of(item) for key, item in dict.items(value)}
    if isinstance(value, (list, tuple)):
        return [data_of(item) for item in value]
    if isinstance(value, int):
        return int.__index__(value)
    raise TypeError("no plain data")

def called(code, name, args):
    if name in names_of(code):
        function = getattr(code, name)
    else:
        function = getattr(code.Solution(), name)
    return json.dumps(data_of(function(*args)))

def ran(path, stdin, most):
    """The output of the code as a program of its own, up to a number of bytes."""
    import base64, subprocess, threading
    command = [sys.executable, "-I", "-S", "-c", RUN, path]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    def feed():
        try:
            child.stdin.write(stdin)
            child.stdin.close()
        except OSError:
            pass
    threading.Thread(target=feed, daemon=True).start()
    output = child.stdout.read(most + 1)
    if len(output) > most:
        child.kill()
    if child.wait() != 0 or len(output) > most:
        return None
    return base64.b64encode(output).decode()

class Console:
    """What code reads while tests run."""
    def input(self, prompt=""):
        return builtins.input(prompt)
    def readline(self, *size):
        return sys.stdin.readline(*size)
    def read(self, *size):
        return sys.stdin.read(*size)

def serve(code, path, with_header, reads, writes):
    """Runs the code, and then what tests ask of it."""
    process = os.getpid()
    sys.path.insert(0, os.getcwd())
    link = Link(reads, writes, None, False)
    module = load(code, path, with_header)
    # What the code has forked, and would run these lines, too.
    if module is None or os.getpid() != process:
        os._exit(0)
    link.kept[0] = module
    console = Remote(link, 0, "object")
    class Input(io.TextIOBase):
        def readable(self):
            return True
        def readline(self, size=-1):
            return console.readline(size)
        def read(self, size=-1):
            return console.read(size)
    class Output(io.TextIOBase):
        def writable(self):
            return True
        def write(self, text):
            link.printed.append(text)
            if len(link.printed) > 10000:
                link.printed[:] = ["".join(link.printed)]
                if len(link.printed[0]) > 1 << 24:
                    os._exit(0)
            return len(text)
    sys.stdin, sys.stdout = Input(), Output()
    builtins.input = lambda prompt="": console.input(str(prompt))
    link.send(["loaded"])
    while True:
        link.answer(*link.receive())

def start(code, path, with_header):
    """The module of the code, in a process of its own; None if the code fails."""
    (requests, ask), (answers, answer) = os.pipe(), os.pipe()
    if os.fork() == 0:
        try:
            # The tests will come from what is the input now.
            os.closerange(3, requests)
            for other in {*range(requests + 1, 256)} - {answer}:
                try:
                    os.close(other)
                except OSError:
                    pass
            serve(code, path, with_header, requests, answer)
        finally:
            os._exit(0)
    os.close(requests)
    os.close(answer)
    try:
        # Without this the code, which is of the same user, could read and change the memory of this process.
        import ctypes
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except Exception:
        pass
    link = Link(answers, ask, Console(), True)
    try:
        link.receive()
    except EOFError:
        return None
    return Remote(link, 0, "object")

def main():
    def rest(channel):
        parts = []
        while part := os.read(channel, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    length = b""
    while not length.endswith(b"\n"):
        length += os.read(0, 1)
    length, parts = int(length), []
    while length > 0:
        parts.append(os.read(0, length))
        length -= len(parts[-1])
    first = json.loads(b"".join(parts))
    channel, out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    path = os.path.join(os.getcwd(), "solution.py")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(first["code"])
    sys.argv, code = [path], None
    if first["kind"] != "programs":
        builtins.exit = builtins.quit = sys.exit
        code = start(first["code"], path, first["kind"] == "calls")
        if code is None:
            return
        os.dup2(nothing, 1)
    task = json.loads(rest(channel))
    mark = task.pop("mark").encode()
    def report(i, what=""):
        line = b"\n%s %d %s" % (mark, i, what.encode()) if what else b"\n%s %d" % (mark, i)
        line += b"\n"
        while line:
            line = line[os.write(out, line):]
    def tries():
        if first["kind"] == "programs":
            for case in task["runs"]:
                yield lambda: ran(path, case["stdin"].encode(), case["most"])
        elif first["kind"] == "calls":
            for case in task["calls"]:
                yield lambda: called(code, case["name"], case["args"])
        else:
            statements = Statements(code, task["tests"], task.get("entry"))
            for test in task["tests"]:
                yield lambda: statements.run(test) or ""
    for i, attempt in enumerate(tries()):
        try:
            what = attempt()
        except BaseException:
            continue
        if what is not None:
            report(i, what)

try:
    main()
finally:
    os._exit(0)
`;
