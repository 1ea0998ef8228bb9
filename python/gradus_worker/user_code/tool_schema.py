# Describes a method to a model: its name, its docstring's text, and a JSON schema of its arguments, as transformers does.
import enum
import inspect
import re
import types
import typing

# JSON schema types by Python type.
PLAIN = {
    **{int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"},
    **{list: "array", tuple: "array", dict: "object"},
}
# A section of a docstring ends at the next one, or at the end.
SECTIONS = r"Args:|Returns:|Raises:|\Z"


def tool_schema(method):
    """`{"name", "description", "parameters"}`. Raises TypeError for arguments without a type or a description."""
    text = inspect.cleandoc(method.__doc__ or "")
    if not text:
        raise TypeError(f"{method.__name__} has no docstring, which tells the model what it does")
    described = _arguments(text)
    hints = typing.get_type_hints(method)
    properties = {}
    required = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if name not in hints:
            raise TypeError(f"{method.__name__}: the argument {name} has no type")
        if name not in described:
            raise TypeError(f"{method.__name__}: the docstring says nothing of {name} under Args:")
        choices = re.search(r"\(choices:\s*(.*?)\)\s*$", described[name], re.IGNORECASE)
        properties[name] = {**_schema(hints[name]), "description": described[name]}
        if choices:
            properties[name]["enum"] = [choice.strip().strip("\"'") for choice in choices[1].strip("[]").split(",")]
            properties[name]["description"] = described[name][: choices.start()].strip()
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "name": method.__name__,
        "description": re.match(rf"(.*?)\s*(?:{SECTIONS})", text, re.DOTALL)[1],
        "parameters": {"type": "object", "properties": properties, **({"required": required} if required else {})},
    }


def _arguments(text):
    """The descriptions under `Args:`, by name. A longer one continues on deeper lines."""
    section = re.search(rf"^\s*Args:\n(.*?)\s*(?:{SECTIONS})", text, re.DOTALL | re.MULTILINE)
    found = {}
    depth = None
    for line in section[1].split("\n") if section else []:
        head = re.match(r"(\s*)(\w+)(?:\s*\([^)]*\))?:\s*(.*)", line)
        if head and (depth is None or len(head[1]) <= depth):
            depth, name = len(head[1]), head[2]
            found[name] = head[3].strip()
        elif line.strip() and found:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _schema(hint):
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return {}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([member.value for member in hint])
    if origin is typing.Literal:
        return _choice(list(arguments))
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_schema(item) for item in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    raise TypeError(f"no JSON schema says {hint}: use int, float, str, bool, list, dict, Literal or an Enum")


def _choice(values):
    kinds = list(dict.fromkeys(PLAIN[type(value)] for value in values))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}


def _union(arguments):
    schemas = [_schema(argument) for argument in arguments if argument is not type(None)]
    if len(schemas) == 1:
        result = schemas[0]
    elif all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        kinds = sorted({schema["type"] for schema in schemas})
        result = {"type": kinds[0] if len(kinds) == 1 else kinds}
    else:
        result = {"anyOf": schemas}
    return {**result, "nullable": True} if type(None) in arguments else result
