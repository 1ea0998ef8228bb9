# Calls users' functions with as many arguments as they take.
import inspect


def accepted(function, arguments):
    """All arguments for a function with `**kwargs`, otherwise those it names."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return arguments
    return {parameter.name: arguments[parameter.name] for parameter in parameters if parameter.name in arguments}


def missing(function, arguments):
    """The first required parameter without an argument, or None."""
    for name, parameter in inspect.signature(function).parameters.items():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and parameter.default is parameter.empty and name not in arguments:
            return name
    return None
