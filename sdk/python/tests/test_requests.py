"""Requests are accepted by the official clients: by their types, and by the clients themselves."""

import base64
import http.server
import json
import threading
import typing

import anthropic
import google.genai
import ollama
import openai
import pydantic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as google_types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from hinagata import HinagataError

#: A picture of one pixel.
PIXEL = base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"
                  "1f15c4890000000d49444154789c6360f8cf500f0003860180c0cd12a40000000049454e44ae426082")).decode()

TOOL = {"name": "look", "description": "Looks around.", "parameters": {
    "type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}}

PROMPTS = {
    "text": "Say {{ question }}.",
    "chat": "{{ role('system') }}\nBe brief.\n{{ role('user') }}\n{{ question }}\n{{ role('assistant') }}\nHm.\n"
            "{{ role('user') }}\nAnd?",
    "picture": "{{ role('user') }}\nWhat is this? {{ media(data=picture, type='image/png') }}",
    "shaped": "---\nmodel: m\nconfig: {temperature: 0.5, max_tokens: 50, stop: [END]}\noutput:\n  schema:\n    type: object\n"
              "    properties: {colour: {type: string}}\n    required: [colour]\n    additionalProperties: false\n---\n"
              "Colour of {{ question }}?",
}


@pytest.fixture
def engine(workspace):
    for name, text in PROMPTS.items():
        workspace.prompt(name, text)
    return workspace.engine()


def rendered(engine, prompt):
    return engine.render(prompt, {"question": "it", "picture": PIXEL})


def accept(kind, arguments):
    """Checks arguments against a type of a client, which must know all of them."""
    pydantic.TypeAdapter(kind).validate_python(arguments)
    unknown = set(arguments) - set(typing.get_type_hints(kind))
    assert not unknown, unknown


def check_types(driver, arguments):
    if driver == "openai":
        accept(CompletionCreateParamsNonStreaming, arguments)
    elif driver == "openai-responses":
        accept(ResponseCreateParamsNonStreaming, arguments)
    elif driver == "anthropic":
        # What the API knows and the type does not is an argument of the method.
        more = arguments.pop("extra_body", {})
        assert set(more) <= {"temperature", "top_p", "top_k"}
        accept(MessageCreateParamsNonStreaming, arguments)
    elif driver == "gemini":
        assert set(arguments) <= {"model", "contents", "config"}
        for content in arguments["contents"]:
            google_types.Content.model_validate(content)
        google_types.GenerateContentConfig.model_validate(arguments.get("config", {}))
        assert set(arguments.get("config", {})) <= set(google_types.GenerateContentConfig.model_fields)
    else:
        ollama._types.ChatRequest.model_validate(arguments)
        assert set(arguments) <= set(ollama._types.ChatRequest.model_fields)


DRIVERS = ["openai", "openai-responses", "anthropic", "gemini", "ollama"]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_requests_have_the_types_of_the_official_clients(engine, driver, prompt):
    for options in [{"model": "m"}, {
            "model": "m", "max_tokens": 9, "temperature": 0.1, "top_p": 0.9, "stop": "E", "tools": [TOOL]}]:
        arguments = rendered(engine, prompt).request(driver, **options)
        assert arguments["model"] == "m"
        check_types(driver, arguments)


class Provider(http.server.BaseHTTPRequestHandler):
    """Keeps the body of a request, and answers nothing that a client could read."""

    def do_POST(self):
        self.server.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(400)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture
def provider():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def send(driver, url, arguments):
    if driver == "openai":
        openai.OpenAI(base_url=url, api_key="k", max_retries=0).chat.completions.create(**arguments)
    elif driver == "openai-responses":
        openai.OpenAI(base_url=url, api_key="k", max_retries=0).responses.create(**arguments)
    elif driver == "anthropic":
        anthropic.Anthropic(base_url=url, api_key="k", max_retries=0).messages.create(**arguments)
    elif driver == "gemini":
        options = google_types.HttpOptions(base_url=url)
        client = google.genai.Client(api_key="k", http_options=options)
        client.models.generate_content(**arguments)
    else:
        ollama.Client(host=url).chat(**arguments)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_official_clients_send_what_the_prompt_says(engine, provider, driver, prompt):
    arguments = rendered(engine, prompt).request(driver, model="m", max_tokens=9)
    with pytest.raises(Exception) as caught:
        send(driver, f"http://127.0.0.1:{provider.server_port}", arguments)
    assert "400" in str(caught.value) or "{}" in str(caught.value), caught.value
    # Google's client writes bytes in the alphabet for addresses.
    sent = json.dumps(provider.body).translate(str.maketrans("-_", "+/"))
    assert {"text": "Say it.", "chat": "Be brief.", "picture": PIXEL, "shaped": "colour"}[prompt] in sent, sent


def test_options_of_the_call_replace_those_of_the_prompt(engine):
    shaped = rendered(engine, "shaped")
    assert shaped.request("openai")["temperature"] == 0.5 and shaped.request("openai")["model"] == "m"
    changed = shaped.request("openai", temperature=1, user="u1", model=None)
    assert (changed["temperature"], changed["user"], changed["model"]) == (1.0, "u1", "m")
    gemini = shaped.request("gemini", config={"safety_settings": []})
    assert gemini["config"]["safety_settings"] == [] and gemini["config"]["max_output_tokens"] == 50
    with pytest.raises(HinagataError, match="`temperature` must be a number"):
        shaped.request("openai", temperature="warm")
    with pytest.raises(HinagataError, match="unknown driver `opnai`.*openai"):
        shaped.request("opnai")
