// The program that tries a completion's Python code.

/**
 * The code becomes the module `solution`, with a file, so that what it defines can be pickled, inspected and resolved. Its main block does not run. If it
 * exits, it is over, and what it has defined counts; statements that fail because input or a module is missing are skipped. What it has changed in built-in functions and in
 * the modules that judge tests is put back.
 *
 * Tests have names of their own: they see those of the code, but not in place of Python's, and what the code returns cannot pretend to be equal to
 * anything. Functions called test… and classes of unittest that a test defines are run.
 */
export const pythonHarness = String.raw`
import ast, builtins, importlib.util, io, json, math, os, sys, types
os.write(1, b"started\n")
HEADER = """
import bisect, collections, copy, datetime, functools, heapq, itertools, math, operator, random, re, string, sys
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

def saved(modules):
    """Returns what puts the modules back to what they are now, whatever code has changed in them."""
    kept = [(vars(module), dict(vars(module))) for module in modules]
    def restore(update=dict.update):
        for scope, values in kept:
            update(scope, values)
    return restore

def honest_values(value, budget):
    """Raises an AssertionError for a value that claims to be equal to whatever it is compared with."""
    budget[0] -= 1
    if budget[0] < 0:
        return
    kind = type(value)
    for base in type.__getattribute__(kind, "__mro__"):
        found = type.__getattribute__(base, "__dict__").get("__eq__")
        if found is not None:
            break
    if not isinstance(found, types.WrapperDescriptorType):
        word = "a%d" % (id(value) + 0x5EED)
        number = 0x5EED0000 + id(value)
        for probe in (object(), word, number, number + 0.5, [word], (word,), {word: word}, {word}):
            try:
                same = bool(value == probe)
            except Exception:
                same = False
            if same:
                raise AssertionError("equal to anything")
    if isinstance(value, dict):
        for pair in dict.items(value):
            honest_values(pair, budget)
    elif isinstance(value, (list, tuple, set, frozenset)):
        iterate = next(k for k in (list, tuple, set, frozenset) if isinstance(value, k)).__iter__
        for item in iterate(value):
            honest_values(item, budget)

HONEST = "__honest_value__"

class Watch(ast.NodeTransformer):
    def wrapped(self, node):
        return ast.copy_location(ast.Call(ast.copy_location(ast.Name(HONEST, ast.Load()), node), [node], []), node)
    def visit_Call(self, node):
        self.generic_visit(node)
        return self.wrapped(node)
    def visit_Compare(self, node):
        self.generic_visit(node)
        watch = lambda side: self.wrapped(side) if isinstance(side, (ast.Name, ast.Subscript)) else side
        node.left = watch(node.left)
        node.comparators = [watch(side) for side in node.comparators]
        return node

def is_main(node):
    """Whether a statement runs tests, which are run anyway, or ends the program."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("unittest.main", "pytest.main", "sys.exit", "exit")

class Statements:
    def __init__(self, module, pristine, tests, entry):
        def honest(value):
            honest_values(value, [10000])
            return value
        self.module, self.entry = vars(module), entry
        self.scope = {"__name__": "tests", "__builtins__": {**pristine, HONEST: honest}}
        self.own = set()
        used = set()
        for test in tests:
            try:
                used |= {node.id for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)}
            except Exception:
                pass
        # A function of the code may have the name of a built-in one only if nothing else is tested.
        hides = used & (self.module.keys() - pristine.keys())
        self.hidden = pristine.keys() if hides else ()
    def run(self, text):
        scope = self.scope
        for name, value in list(self.module.items()):
            if not name.startswith("__") and name not in self.own and name not in self.hidden:
                scope[name] = value
        before = dict(scope)
        tree = ast.parse(text, "tests.py")
        tree.body = [node for node in tree.body if not is_main(node)]
        called = {node.func.id for part in tree.body if not isinstance(part, (ast.FunctionDef, ast.ClassDef))
                  for node in ast.walk(part) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        functions = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        exec(compile(ast.fix_missing_locations(Watch().visit(tree)), "tests.py", "exec", 0, True), scope)
        self.own |= {name for name, value in scope.items() if name not in before or before[name] is not value}
        for name in functions:
            if name in called:
                continue
            if name.startswith("test"):
                self.finish(scope[name]())
            elif name == "check":
                scope[name](scope[self.entry] if self.entry else self.only_function())
        for name in classes:
            self.run_class(scope[name])
    def only_function(self):
        return [value for name, value in self.module.items() if isinstance(value, types.FunctionType)
                and value.__module__ == "solution"][-1]
    def finish(self, value):
        if isinstance(value, types.CoroutineType):
            import asyncio
            asyncio.run(value)
    def run_class(self, kind):
        import unittest
        if not issubclass(kind, unittest.TestCase):
            for name in [name for name in vars(kind) if name.startswith("test") and kind.__name__.startswith("Test")]:
                self.finish(getattr(kind(), name)())
            return
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(kind).run(result)
        assert result.wasSuccessful()

def plain(value):
    """A copy of plain data, which consists of built-in types alone."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in dict.items(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in list(value)]
    if isinstance(value, int):
        return int.__index__(value)
    raise TypeError("no plain data")

def called(module, name, args):
    scope = vars(module)
    if name in scope:
        function = scope[name]
    else:
        function = getattr(scope["Solution"](), name)
    return json.dumps(plain(function(*args)))

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

def main():
    write, leave, loads, read = os.write, os._exit, json.loads, os.read
    def rest(channel):
        parts = []
        while part := read(channel, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    length = b""
    while not length.endswith(b"\n"):
        length += os.read(0, 1)
    length, parts = int(length), []
    while length > 0:
        parts.append(os.read(0, length))
        length -= len(parts[-1])
    first = loads(b"".join(parts))
    channel, out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    path = os.path.join(os.getcwd(), "solution.py")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(first["code"])
    if first["kind"] == "programs":
        sys.argv, module = [path], None
    else:
        builtins.exit = builtins.quit = sys.exit
        sys.argv = [path]
        sys.path.insert(0, os.getcwd())
        pristine = dict(vars(builtins))
        restore = saved((builtins, ast, json, math, types))
        module = load(first["code"], path, first["kind"] == "calls")
        restore()
        for name in [name for name in sys.modules if name.partition(".")[0] == "unittest"]:
            del sys.modules[name]
        if module is None:
            return
    task = loads(rest(channel))
    mark = task.pop("mark").encode()
    def report(i, what=""):
        try:
            sys.stdout.flush()
        except BaseException:
            pass
        line = b"\n%s %d %s" % (mark, i, what.encode()) if what else b"\n%s %d" % (mark, i)
        line += b"\n"
        while line:
            line = line[write(out, line):]
    def tries():
        if first["kind"] == "programs":
            for case in task["runs"]:
                yield lambda: ran(path, case["stdin"].encode(), case["most"])
        elif first["kind"] == "calls":
            for case in task["calls"]:
                yield lambda: called(module, case["name"], case["args"])
        else:
            statements = Statements(module, pristine, task["tests"], task.get("entry"))
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
