# Calls users' functions with as many arguments as they take.
import inspect


def accepted(function, arguments):
    """All arguments for a function with `**kwargs`, else those that it names."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return arguments
    return {parameter.name: arguments[parameter.name] for parameter in parameters if parameter.name in arguments}
