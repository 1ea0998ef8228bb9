# Runs a marimo notebook without a browser and prints some of its variables as JSON: run_notebook.py NOTEBOOK NAME,NAME -- ARGUMENTS. A cell that
# fails ends it.
import importlib.util
import json
import pathlib
import sys

path, names = pathlib.Path(sys.argv[1]), sys.argv[2].split(",")
sys.path.insert(0, str(path.parent))
spec = importlib.util.spec_from_file_location("notebook", path)
notebook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebook)
_, variables = notebook.app.run()
json.dump({name: variables[name] for name in names}, sys.stdout)
