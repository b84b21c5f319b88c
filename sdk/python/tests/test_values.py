"""Values are copied as data; what is not data is refused with its path."""

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import uuid

import pytest

from hinagata import PromptValidationError, Template, Variables

SHOWN = Template("{{ value|tojson }}")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Kind(str, enum.Enum):
    SMALL = "small"


@dataclasses.dataclass
class Point:
    x: int
    y: "Point | None" = None


class Text(str):
    pass


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (-(2**63), "-9223372036854775808"),
        (2**64 - 1, "18446744073709551615"),
        (1.5, "1.5"),
        ("日本", r'"\u65e5\u672c"'),
        (Text("a"), '"a"'),
        ([1, [2]], "[1, [2]]"),
        ((1, 2), "[1, 2]"),
        ({"b": 1, "a": {"c": None}}, '{"a": {"c": null}, "b": 1}'),
        (collections.OrderedDict(a=1), '{"a": 1}'),
        (types.MappingProxyType({"a": 1}), '{"a": 1}'),
        (collections.ChainMap({"a": 1}), '{"a": 1}'),
        (Variables({"a": [1]}), '{"a": [1]}'),
        (Colour.RED, '"red"'),
        (Level.HIGH, "3"),
        (Kind.SMALL, '"small"'),
        (Point(1, Point(2)), '{"x": 1, "y": {"x": 2, "y": null}}'),
        (datetime.date(2026, 2, 20), '"2026-02-20"'),
        (datetime.datetime(2026, 2, 20, 15, 30, tzinfo=datetime.timezone.utc), '"2026-02-20T15:30:00+00:00"'),
        (datetime.time(15, 30), '"15:30:00"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (pathlib.PurePosixPath("a/b"), '"a/b"'),
        (decimal.Decimal("1.10"), '"1.10"'),
    ],
)
def test_data_is_copied(value, shown):
    assert SHOWN.render(value=value) == shown


def test_pydantic_models_are_data():
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):
        name: str
        at: datetime.date

    assert SHOWN.render(value=[Item(name="a", at=datetime.date(2026, 1, 2))]) == '[{"at": "2026-01-02", "name": "a"}]'


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        ([{"run": print}], "value[0].run", "builtin_function_or_method"),
        ({"a": {1: 2}}, "value.a", "`int` is not text"),
        ({"a": b"x"}, "value.a", "bytes are not text"),
        ({1, 2}, "value", "set"),
        ([float("nan")], "value[0]", "nan"),
        ([float("-inf")], "value[0]", "inf"),
        (["\ud800"], "value[0]", "surrogate"),
        ({"\udfff": 1}, "value", "surrogate"),
        (2**64, "value", "64 bits"),
        (object(), "value", "object"),
        (Point, "value", "type"),
        ((n for n in range(3)), "value", "generator"),
    ],
)
def test_what_is_not_data_is_refused_with_its_path(value, path, what):
    with pytest.raises(PromptValidationError, match=what) as caught:
        SHOWN.render(value=value)
    assert caught.value.details["path"] == path
    assert isinstance(caught.value, ValueError) and caught.value.hint


def test_a_value_that_contains_itself_is_refused():
    inner = []
    inner.append({"again": inner})
    with pytest.raises(PromptValidationError, match="contains itself"):
        SHOWN.render(value=inner)


def test_deep_values_are_refused_before_the_stack_ends():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(PromptValidationError, match="256 containers"):
        SHOWN.render(value=deep)


def test_a_conversion_that_changes_its_container_is_an_error_and_no_crash():
    container = {}

    class Session:
        @property
        def value(self):
            return 1

    @dataclasses.dataclass
    class Changing:
        a: int = 1

        def __getattribute__(self, name):
            if name == "a":
                container["more"] = 1
            return super().__getattribute__(name)

    container.update(first=Changing(), second=2)
    with pytest.raises(RuntimeError, match="changed its size"):
        SHOWN.render(value=container)


def test_only_what_a_template_reads_is_converted():
    assert Template("{{ used }}").render(used=1, unused=object()) == "1"


def test_only_what_a_prompt_uses_is_converted(workspace):
    workspace.prompt("small", "{{ used }}")
    engine = workspace.engine()
    for _ in range(3):
        rendered = engine.render("small", {"used": 1, "unused": object()})
        assert (rendered.text, rendered.warnings[0]["about"]) == ("1", "unused")
    with pytest.raises(PromptValidationError, match="`used`"):
        engine.render("small", {"used": object()})


def test_a_caller_keeps_its_values(workspace):
    workspace.prompt("small", "{{ items|join }}", "async def pre_render(variables, context):\n    variables['items'] = [1]\n")
    items = ["a"]
    assert workspace.engine().render("small", {"items": items}).text == "1"
    assert items == ["a"]


def test_variables_are_a_mapping_that_never_changes():
    given = {"a": [1]}
    variables = Variables(given, b=2)
    given["a"].append(2)
    assert dict(variables) == {"a": [1], "b": 2} == variables.to_dict()
    assert "a" in variables and "c" not in variables and len(variables) == 2 and list(variables) == ["a", "b"]
    assert variables == Variables(a=[1], b=2) != Variables()
    with pytest.raises(KeyError):
        variables["c"]
    with pytest.raises(TypeError):
        variables["a"] = 1


@pytest.mark.parametrize("session", ["to_dict", "fields", "attributes", "slots"])
def test_a_session_may_be_any_object(session, workspace):
    workspace.prompt("whose", "{{ who }} {{ model }}", "async def pre_render(variables, context):\n"
                     "    return {**variables, 'who': context['session']['user']}\n")

    class ToDict:
        def to_dict(self):
            return {"user": "Ada"}

    @dataclasses.dataclass
    class Fields:
        user: str = "Ada"
        run: object = print

    class Attributes:
        def __init__(self):
            self.user, self._hidden, self.run = "Ada", "no", print

    class Slots:
        __slots__ = ("user",)

        def __init__(self):
            self.user = "Ada"

    made = {"to_dict": ToDict, "fields": Fields, "attributes": Attributes, "slots": Slots}[session]()
    assert workspace.engine().render("whose", {"model": "m"}, {"session": made}).text == "Ada m"
