# A small checker of JSON values, so that a wrong message from the other side is an error with its place, not a surprise later.


def check(value, schema, place):
    """Raises TypeError, which names the place, unless the value is as the schema says.

    Schemas: a type (float takes whole numbers too, object takes anything), None, [item], {"key": schema, "optional?": schema}, or a tuple of
    schemas, of which one must hold.
    """
    if isinstance(schema, tuple):
        _check_any(value, schema, place)
    elif isinstance(schema, dict):
        _check_object(value, schema, place)
    elif isinstance(schema, list):
        _demand(isinstance(value, list), value, "a list", place)
        for i, item in enumerate(value):
            check(item, schema[0], f"{place}[{i}]")
    elif schema is None:
        _demand(value is None, value, "null", place)
    else:
        kinds = (int, float) if schema is float else schema
        _demand(isinstance(value, kinds) and (schema is object or schema is bool or not isinstance(value, bool)), value, schema.__name__, place)


def _check_any(value, schemas, place):
    faults = []
    for schema in schemas:
        try:
            return check(value, schema, place)
        except TypeError as fault:
            faults.append(str(fault))
    raise TypeError("; ".join(faults))


def _check_object(value, schema, place):
    _demand(isinstance(value, dict), value, "an object", place)
    known = {key.removesuffix("?"): part for key, part in schema.items()}
    for key in value.keys() - known.keys():
        raise TypeError(f"{place} has an unknown key {key}")
    for key, part in known.items():
        if key in value:
            check(value[key], part, f"{place}.{key}")
        elif f"{key}?" not in schema:
            raise TypeError(f"{place}.{key} is missing")


def _demand(holds, value, what, place):
    if not holds:
        raise TypeError(f"{place} should be {what}, not {type(value).__name__}")
