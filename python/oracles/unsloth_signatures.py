# The parameters of Unsloth's functions and the TRL versions it allows, read from its files: it cannot be imported without a GPU.
#
# usage: python unsloth_signatures.py FOLDER TRL_VERSION     FOLDER: where ../unsloth-setup.sh has unpacked it
# stdout: {"version", "allows_trl": bool, "from_pretrained": [names of parameters], "get_peft_model": […]}
import ast
import json
import sys
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement

folder, trl_version = Path(sys.argv[1]), sys.argv[2]


def parameters(file, owner, function):
    """The parameters that the function names, without those that **kwargs would take."""
    tree = ast.parse((folder / "unsloth" / "models" / file).read_text())
    (found,) = [
        each
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == owner
        for each in node.body
        if isinstance(each, ast.FunctionDef) and each.name == function
    ]
    return [argument.arg for argument in found.args.args + found.args.kwonlyargs]


(unsloth,) = [each for each in distributions(path=[str(folder)]) if each.name == "unsloth"]
required = [Requirement(each) for each in unsloth.requires]
(trl,) = [each for each in required if each.name == "trl" and each.marker is None]
json.dump(
    {
        "version": unsloth.version,
        "allows_trl": trl.specifier.contains(trl_version),
        "from_pretrained": parameters("loader.py", "FastLanguageModel", "from_pretrained"),
        "get_peft_model": parameters("llama.py", "FastLlamaModel", "get_peft_model"),
    },
    sys.stdout,
)
