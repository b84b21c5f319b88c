"""The official Python clients and LiteLLM against the daemon. Prints a line for each check."""

import json
import sys
import warnings

import anthropic
import litellm
import openai
from pydantic import BaseModel

URL, KEY = sys.argv[1], sys.argv[2]
ANSWER, ARGUMENTS = "Hello from afar!", {"at": "lamp"}
MODELS = {"openai": "openai/m", "anthropic": "anthropic/m", "gemini": "gemini/m", "ollama": "ollama/m"}
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
PROMPT = {"id": "talk", "variables": {"manner": "kind"}}

failed = False


def check(name, test):
    """Runs one check."""
    global failed
    try:
        test()
        print("ok  ", name, flush=True)
    except Exception as error:  # noqa: BLE001, every error is a failed check
        failed = True
        print("FAIL", name, "-", f"{type(error).__name__}: {error}".replace("\n", " ")[:500], flush=True)


def strict(model):
    """An answer, after its types were compared with those of the client: its own parsing accepts anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type(model).model_validate(model.model_dump(), strict=False)
        model.model_dump(warnings="error")
    assert isinstance(model, BaseModel)
    return model


def expect(found, wanted):
    """Compares."""
    assert found == wanted, f"{found!r} is not {wanted!r}"


def raises(kind, status, call):
    """Whether a call fails with this error and status."""
    try:
        call()
    except kind as error:
        if status is not None:
            expect(error.status_code, status)
        return
    raise AssertionError("no error")


def chat_checks(client, name, model):
    """OpenAI's chat completions."""
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA, "strict": True}}

    def call(text="Hello", **more):
        messages = [{"role": "user", "content": text}]
        return client.chat.completions.create(model=model, messages=messages, extra_body={"prompt": PROMPT}, **more)

    def whole():
        answer = strict(call())
        expect((answer.choices[0].message.content, answer.usage.total_tokens), (ANSWER, 7))

    def streamed():
        messages = [{"role": "user", "content": "Hello"}]
        options = {"stream_options": {"include_usage": True}, "extra_body": {"prompt": PROMPT}}
        with client.chat.completions.stream(model=model, messages=messages, **options) as stream:
            for _ in stream:
                pass
            answer = stream.get_final_completion()
        expect((answer.choices[0].message.content, answer.choices[0].finish_reason), (ANSWER, "stop"))
        expect(answer.usage.completion_tokens, 4)

    def tools():
        found = strict(call(tools=[tool])).choices[0]
        expect((found.finish_reason, found.message.tool_calls[0].function.name), ("tool_calls", "look"))

    def streamed_tools():
        messages = [{"role": "user", "content": "Hello"}]
        options = {"tools": [tool], "extra_body": {"prompt": PROMPT}}
        with client.chat.completions.stream(model=model, messages=messages, **options) as stream:
            answer = stream.get_final_completion()
        function = answer.choices[0].message.tool_calls[0].function
        expect((function.name, function.parsed_arguments), ("look", ARGUMENTS))

    def broken():
        raises(openai.APIError, None, lambda: list(call("please break", stream=True)))

    check(f"chat {name} whole", whole)
    check(f"chat {name} streamed", streamed)
    check(f"chat {name} tools", tools)
    check(f"chat {name} streamed tools", streamed_tools)
    check(f"chat {name} refused", lambda: raises(openai.BadRequestError, 400, lambda: call("please refuse")))
    check(f"chat {name} broken within", broken)
    check(f"chat {name} broken before", lambda: raises(openai.APIStatusError, 502, lambda: call("please break")))


def response_checks(client, name, model):
    """OpenAI's responses."""
    tool = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": True}

    def call(text="Hello", **more):
        return client.responses.create(model=model, input=text, prompt=PROMPT, **more)

    def whole():
        answer = strict(call())
        expect((answer.output_text, answer.status, answer.usage.total_tokens), (ANSWER, "completed", 7))

    def streamed():
        with client.responses.stream(model=model, input="Hello", prompt=PROMPT) as stream:
            answer = stream.get_final_response()
        expect((answer.output_text, answer.usage.output_tokens), (ANSWER, 4))
        events = [strict(event) for event in call(stream=True)]
        expect([event.sequence_number for event in events], list(range(len(events))))

    def tools():
        item = strict(call(tools=[tool])).output[0]
        expect((item.type, item.name), ("function_call", "look"))

    def streamed_tools():
        with client.responses.stream(model=model, input="Hello", prompt=PROMPT, tools=[tool]) as stream:
            item = stream.get_final_response().output[0]
        expect((item.name, item.parsed_arguments), ("look", ARGUMENTS))

    def broken():
        kinds = []
        try:
            kinds = [event.type for event in call("please break", stream=True)]
        except openai.APIError:
            kinds = ["error"]
        expect(kinds[-1], "error")

    check(f"responses {name} whole", whole)
    check(f"responses {name} streamed", streamed)
    check(f"responses {name} tools", tools)
    check(f"responses {name} streamed tools", streamed_tools)
    check(f"responses {name} refused", lambda: raises(openai.BadRequestError, 400, lambda: call("please refuse")))
    check(f"responses {name} broken within", broken)
    check(f"responses {name} broken before", lambda: raises(openai.APIStatusError, 502, lambda: call("please break")))


def message_checks(client, name, model):
    """Anthropic's messages."""
    tool = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}

    def call(text="Hello", **more):
        messages = [{"role": "user", "content": text}]
        return client.messages.create(model=model, max_tokens=100, messages=messages, extra_body={"prompt": PROMPT}, **more)

    def stream_of(**more):
        messages = [{"role": "user", "content": "Hello"}]
        return client.messages.stream(
            model=model, max_tokens=100, messages=messages, extra_body={"prompt": PROMPT}, **more)

    def whole():
        answer = strict(call())
        expect((answer.content[0].text, answer.stop_reason, answer.usage.output_tokens), (ANSWER, "end_turn", 4))

    def streamed():
        with stream_of() as stream:
            text = "".join(stream.text_stream)
            answer = strict(stream.get_final_message())
        expect((text, answer.content[0].text, answer.usage.output_tokens), (ANSWER, ANSWER, 4))
        assert answer.usage.input_tokens > 0

    def tools():
        block = strict(call(tools=[tool])).content[0]
        expect((block.type, block.name, block.input), ("tool_use", "look", ARGUMENTS))

    def streamed_tools():
        with stream_of(tools=[tool]) as stream:
            answer = stream.get_final_message()
        expect((answer.content[0].input, answer.stop_reason), (ARGUMENTS, "tool_use"))

    def broken():
        raises(anthropic.APIError, None, lambda: list(call("please break", stream=True)))

    check(f"messages {name} whole", whole)
    check(f"messages {name} streamed", streamed)
    check(f"messages {name} tools", tools)
    check(f"messages {name} streamed tools", streamed_tools)
    check(f"messages {name} refused", lambda: raises(anthropic.BadRequestError, 400, lambda: call("please refuse")))
    check(f"messages {name} broken within", broken)
    check(f"messages {name} broken before", lambda: raises(anthropic.APIStatusError, 502, lambda: call("please break")))


def litellm_checks(name, model):
    """LiteLLM, with the daemon as an OpenAI-compatible server."""
    more = {"api_base": URL + "/v1", "api_key": KEY, "extra_body": {"prompt": PROMPT}}
    messages = [{"role": "user", "content": "Hello"}]

    def whole():
        answer = litellm.completion(model=f"openai/{model}", messages=messages, **more)
        expect((answer.choices[0].message.content, answer.usage.total_tokens), (ANSWER, 7))

    def streamed():
        pieces = litellm.completion(model=f"openai/{model}", messages=messages, stream=True, **more)
        answer = litellm.stream_chunk_builder(list(pieces), messages=messages)
        expect(answer.choices[0].message.content, ANSWER)

    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}

    def called(answer):
        function = answer.choices[0].message.tool_calls[0].function
        expect((function.name, json.loads(function.arguments)), ("look", ARGUMENTS))

    def tools():
        called(litellm.completion(model=f"openai/{model}", messages=messages, tools=[tool], **more))

    def streamed_tools():
        pieces = litellm.completion(model=f"openai/{model}", messages=messages, tools=[tool], stream=True, **more)
        called(litellm.stream_chunk_builder(list(pieces), messages=messages))

    def call(text, **options):
        asked = [{"role": "user", "content": text}]
        return litellm.completion(model=f"openai/{model}", messages=asked, max_retries=0, **options, **more)

    check(f"litellm {name} whole", whole)
    check(f"litellm {name} streamed", streamed)
    check(f"litellm {name} tools", tools)
    check(f"litellm {name} streamed tools", streamed_tools)
    check(f"litellm {name} refused", lambda: raises(litellm.BadRequestError, 400, lambda: call("please refuse")))
    # Its errors are those of OpenAI's client.
    check(f"litellm {name} broken within", lambda: raises(
        openai.APIError, None, lambda: list(call("please break", stream=True))))
    check(f"litellm {name} broken before", lambda: raises(openai.APIError, None, lambda: call("please break")))


def list_checks(client, other):
    """The lists of models, and counting."""
    names = [model.id for model in client.models.list()]
    check("models of openai", lambda: expect("prompt/talk" in names, True))
    listed = [model.id for model in other.models.list(limit=1)]
    check("models of anthropic, page by page", lambda: expect(sorted(listed), sorted(names)))
    counted = other.messages.count_tokens(
        model="prompt/talk?manner=kind", messages=[{"role": "user", "content": "Hello"}])
    check("count_tokens", lambda: expect(strict(counted).input_tokens > 3, True))
    check("a model that does not exist", lambda: raises(
        openai.NotFoundError, 404, lambda: client.responses.create(model="prompt/none", input="x")))
    wrong = openai.OpenAI(base_url=URL + "/v1", api_key="wrong")
    check("a wrong key", lambda: raises(openai.AuthenticationError, 401, lambda: wrong.models.list()))


def main():
    """Runs everything."""
    client = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
    other = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    for name, model in MODELS.items():
        chat_checks(client, name, model)
        response_checks(client, name, model)
        message_checks(other, name, model)
        litellm_checks(name, model)
    list_checks(client, other)
    sys.exit(failed)


main()
