"""Prints random messages that the types of the official SDKs describe, one conversation per line.

usage: generate.py SEED COUNT

Each line is {"format": NAME, "messages": [...]}. The types are read from the packages, so a new kind of message appears
here as soon as the SDK has it.
"""

import collections.abc
import json
import random
import sys
import types
import typing

from typing_extensions import NotRequired, Required, get_type_hints, is_typeddict

from anthropic.types import MessageParam
from google.genai.types import ContentDict
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

# Texts are never blank: providers refuse those, so that drivers leave them out.
TEXTS = ["lamp", "Let me look.", "a\n\nb ", "日本", "</material>", "{\"at\": \"lamp\"}", "{not json", "# Title", "x" * 40]
DEEPEST = 6


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, kind, depth=0):
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in (Required, NotRequired, typing.Annotated, typing.ClassVar):
            return self.value(arguments[0], depth)
        if origin in (typing.Union, types.UnionType):
            return self.choice(arguments, depth)
        if origin is typing.Literal:
            return self.random.choice(arguments)
        if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
            fewest = 1 if depth < 3 else 0
            return [self.value(arguments[0], depth + 1) for _ in range(self.random.randint(fewest, 2))]
        if origin in (dict, collections.abc.Mapping):
            return {f"key{n}": self.value(arguments[1], depth + 1) for n in range(self.random.randint(0, 2))}
        if is_typeddict(kind):
            return self.typed_dict(kind, depth)
        return self.plain(kind)

    def choice(self, kinds, depth):
        kinds = [kind for kind in kinds if self.is_written(kind)]
        if depth > DEEPEST:
            flat = [kind for kind in kinds if not is_typeddict(kind) and typing.get_origin(kind) is None]
            kinds = flat or kinds
        return self.value(self.random.choice(kinds), depth)

    def is_written(self, kind):
        """Responses of the SDKs, files and images are objects of Python; requests hold what they are written as."""
        if typing.get_origin(kind) is typing.Annotated:
            return self.is_written(typing.get_args(kind)[0])
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            return any(self.is_written(argument) for argument in typing.get_args(kind))
        is_class = isinstance(kind, type) and not is_typeddict(kind)
        return not is_class or kind in (str, int, float, bool, bytes, object, type(None), dict)

    def typed_dict(self, kind, depth):
        fields = {}
        for name, hint in get_type_hints(kind, include_extras=True).items():
            required = typing.get_origin(hint) is Required or name in getattr(kind, "__required_keys__", ())
            if required or (depth <= DEEPEST and self.random.random() < 0.3):
                fields[name] = self.value(hint, depth + 1)
                if name in ("data", "file_data") and not isinstance(fields[name], (dict, type(None))):
                    fields[name] = "QUJD"
        return fields

    def plain(self, kind):
        if kind is str:
            return self.random.choice(TEXTS)
        if kind is bytes:
            return "QUJD"
        if kind is bool:
            return self.random.random() < 0.5
        if kind is int:
            return self.random.randint(0, 9)
        if kind is float:
            return self.random.choice([0.5, 1.0, 2.25])
        if kind is type(None):
            return None
        return self.random.choice([None, True, 3, 1.5, "lamp", ["a", 1], {"a": {"b": "c"}}])


def ollama_message(generator):
    """Ollama's types are models of pydantic, with few fields."""
    role = generator.random.choice(["user", "assistant", "system", "tool"])
    message = {"role": role, "content": generator.plain(str)}
    if role == "user" and generator.random.random() < 0.4:
        message["images"] = ["iVBORw0KGgo="]
    if role == "tool":
        message["tool_name"] = "look"
    if role == "assistant":
        if generator.random.random() < 0.4:
            message["thinking"] = generator.plain(str)
        if generator.random.random() < 0.5:
            arguments = generator.value(dict[str, object])
            message["tool_calls"] = [{"function": {"name": "look", "arguments": arguments}}]
    return message


def anthropic_message(generator):
    """The type allows every block for every role; the API refuses calls of the user, and results of the assistant."""
    message = generator.value(MessageParam)
    if isinstance(message["content"], list) and message["role"] != "system":
        from_model = lambda kind: kind.endswith("tool_use") or "thinking" in kind
        from_user = lambda kind: kind in ("tool_result", "image", "document", "search_result", "container_upload")
        wrong = from_model if message["role"] == "user" else from_user
        message["content"] = [block for block in message["content"] if not wrong(block["type"])]
        if not message["content"]:
            message["content"] = generator.plain(str)
    return message


def gemini_content(generator):
    """A part has exactly one kind of data; the type allows any mixture."""
    content = {"role": generator.random.choice(["user", "model"]), "parts": []}
    data = ["text", "inline_data", "file_data", "executable_code"]
    data.append("function_call" if content["role"] == "model" else "function_response")
    for _ in range(generator.random.randint(1, 3)):
        part = generator.value(ContentDict)
        while not part.get("parts"):
            part = generator.value(ContentDict)
        part = part["parts"][0]
        kind = generator.random.choice(data)
        hints = get_type_hints(typing.get_args(typing.get_args(get_type_hints(ContentDict)["parts"])[0])[0])
        kept = {name: value for name, value in part.items() if name in ("thought", "thought_signature", "video_metadata")}
        while kind not in kept or kept[kind] is None:
            kept[kind] = generator.value(hints[kind], 1)
        if kind == "function_call":
            kept[kind]["name"] = "look"
        content["parts"].append(kept)
    return content


def messages(generator):
    yield "openai", lambda: generator.value(ChatCompletionMessageParam)
    yield "openai-responses", lambda: generator.value(ResponseInputItemParam)
    yield "anthropic", lambda: anthropic_message(generator)
    yield "gemini", lambda: gemini_content(generator)
    yield "ollama", lambda: ollama_message(generator)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    generator = Generator(seed)
    kinds = list(messages(generator))
    written = 0
    while written < count:
        for name, make in kinds:
            conversation = [make() for _ in range(generator.random.randint(1, 8))]
            written += len(conversation)
            print(json.dumps({"format": name, "messages": conversation}, ensure_ascii=False))


main()
