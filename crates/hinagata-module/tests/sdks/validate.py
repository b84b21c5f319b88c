"""Reads requests, one per line, and prints those that the types of the official SDKs refuse.

Each line is {"format": NAME, "body": {...}}. The last line is the number of requests.
"""

import json
import sys

from pydantic import TypeAdapter, ValidationError

from anthropic.types import MessageParam
from google.genai.types import Content
from ollama import Message
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

TYPES = {
    "openai": ("messages", TypeAdapter(list[ChatCompletionMessageParam])),
    "openai-responses": ("input", TypeAdapter(list[ResponseInputItemParam])),
    "anthropic": ("messages", TypeAdapter(list[MessageParam])),
    "gemini": ("contents", TypeAdapter(list[Content])),
    "ollama": ("messages", TypeAdapter(list[Message])),
}


def ollama_images(messages):
    """Ollama's client wraps the images of messages before it validates them."""
    wrap = lambda name, value: [{"value": image} for image in value] if name == "images" else value
    return [{name: wrap(name, value) for name, value in message.items()} for message in messages]


def consume(value):
    """Validates iterables, which pydantic reads lazily."""
    if isinstance(value, dict):
        for item in value.values():
            consume(item)
    elif hasattr(value, "__next__") or isinstance(value, list):
        for item in value:
            consume(item)


def main():
    count = 0
    for line in sys.stdin:
        request = json.loads(line)
        key, adapter = TYPES[request["format"]]
        messages = request["body"][key]
        count += 1
        try:
            given = ollama_images(messages) if request["format"] == "ollama" else messages
            consume(adapter.validate_python(given))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            print(json.dumps({"format": request["format"], "error": str(first), "messages": messages}))
    print(count)


main()
