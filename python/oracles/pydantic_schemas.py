# JSON Schemas of pydantic's models, one for each kind of field, with a value that conforms.
#
# usage: python pydantic_schemas.py      stdout: {name: {"schema": …, "value": …}, …}
import datetime
import decimal
import enum
import json
import sys
import uuid
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, NegativeFloat, PositiveInt, conint, conlist, constr, create_model


class Color(enum.Enum):
    red = "red"
    blue = "blue"


class Circle(BaseModel):
    kind: Literal["circle"]
    r: float


class Square(BaseModel):
    kind: Literal["square"]
    a: int


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


fields = {
    "optional": (Optional[int], None),
    "dict": (dict[str, int], {"a": 1}),
    "dict of numbers": (dict[int, str], {"1": "a"}),
    "dict of an enum": (dict[Color, int], {"red": 1}),
    "dict of literals": (dict[Literal["a", "b"], int], {"a": 1}),
    "union": (Union[Circle, Square], {"kind": "circle", "r": 0.5}),
    "discriminated union": (Annotated[Union[Circle, Square], Field(discriminator="kind")], {"kind": "square", "a": 1}),
    "tuple": (tuple[int, str], [1, "a"]),
    "tuple of any length": (tuple[int, ...], [1, 2]),
    "set of an enum": (set[Color], ["red"]),
    "tree": (Tree, {"value": 1, "children": [{"value": 2, "children": []}]}),
    "strict": (Strict, {"a": 1}),
    "open": (Open, {"a": 1}),
    "bounded int": (conint(ge=1, le=10, multiple_of=2), 4),
    "bounded str": (constr(pattern=r"^[a-z]+$", min_length=2, max_length=5), "abc"),
    "bounded list": (conlist(int, min_length=1, max_length=3), [1]),
    "positive int": (PositiveInt, 3),
    "negative float": (NegativeFloat, -0.5),
    "decimal": (decimal.Decimal, "1.5"),
    "datetime": (datetime.datetime, "2024-01-01T00:00:00Z"),
    "date": (datetime.date, "2024-01-01"),
    "timedelta": (datetime.timedelta, "P1D"),
    "uuid": (uuid.UUID, "123e4567-e89b-12d3-a456-426614174000"),
    "url": (AnyUrl, "https://example.com/"),
    "any": (Any, {"a": [1]}),
    "bytes": (bytes, "x"),
    "literals": (Literal[1, "a", None, True], True),
    "enum": (Color, "red"),
    "float": (float, 1.5),
    "multiples": (Annotated[float, Field(multiple_of=0.1)], 0.3),
    "open interval": (Annotated[float, Field(gt=0, lt=1)], 0.25),
    "nested": (list[Optional[dict[str, list[Circle]]]], [None, {"k": [{"kind": "circle", "r": 1}]}]),
    "described": (Annotated[str, Field(examples=["a"], description="d", deprecated=True)], "q"),
}
models = {}
for name, (kind, value) in fields.items():
    model = create_model("Model", x=(kind, ...))
    models[name] = {"schema": model.model_json_schema(), "value": {"x": value}}
json.dump(models, sys.stdout)
