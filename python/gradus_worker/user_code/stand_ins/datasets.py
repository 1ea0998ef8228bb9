# Replaces the package `datasets` if it is not installed: as much of it as an environment needs to make its rows.
import sys


def _lacks(name):
    return (
        f"the package datasets is not installed for {sys.executable}, and what stands in for it has no {name}:"
        f" {sys.executable} -m pip install datasets, or name a Python that has it with GRADUS_PYTHON"
    )


def __getattr__(name):
    # Attributes that Python itself looks up in modules may be missing.
    raise AttributeError(name) if name.startswith("__") else ImportError(_lacks(name))


class _Kind(type):
    def __getattr__(cls, name):
        raise AttributeError(_lacks(f"{cls.__name__}.{name}"))


class Dataset(list, metaclass=_Kind):
    """A list of rows."""

    def __getattr__(self, name):
        raise AttributeError(_lacks(f"Dataset.{name}"))

    @classmethod
    def from_list(cls, rows):
        return cls(rows)

    @classmethod
    def from_dict(cls, columns):
        return cls(dict(zip(columns, values)) for values in zip(*columns.values(), strict=True))

    @classmethod
    def from_pandas(cls, frame):
        return cls(frame.to_dict("records"))

    def map(self, function, remove_columns=(), **others):
        if others:
            raise TypeError(_lacks(f"argument {next(iter(others))} of Dataset.map"))
        removed = [remove_columns] if isinstance(remove_columns, str) else remove_columns
        kept = [{name: value for name, value in row.items() if name not in removed} for row in self]
        return Dataset({**rest, **function(dict(row))} for rest, row in zip(kept, self))

    def filter(self, function):
        return Dataset(row for row in self if function(dict(row)))

    def select(self, indices):
        return Dataset(self[index] for index in indices)
