"""A stand-in for the models of Anthropic, Google and OpenAI on loopback.

It answers every request at once with the same sentence, and keeps what it was sent: what a model gets is what counts,
whatever a host shows on its screen.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "This is the answer of the stand-in."


class Listener(ThreadingHTTPServer):
    """A server that does not mind clients that are killed."""

    daemon_threads = True

    def handle_error(self, *_):
        """Says nothing."""


class Model:
    """The stand-in, on a port of its own; used as a context."""

    def __init__(self):
        self.requests = []
        self.arrived = threading.Condition()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Says nothing: what matters is kept."""

            def do_GET(self):
                self.answer({"object": "list", "data": [{"id": "stand-in", "object": "model"}]})

            def do_HEAD(self):
                self.answer({})

            def do_POST(self):
                try:
                    body = json.loads(self.read_body())
                except ValueError:
                    body = {}
                model.keep(self.path, body)
                kind, answer = reply(self.path, body)
                self.answer(answer, kind)

            def read_body(self):
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def answer(self, value, kind="application/json"):
                data = (value if isinstance(value, str) else json.dumps(value)).encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def keep(self, path, body):
        """Keeps one request and wakes whoever waits for it."""
        with self.arrived:
            self.requests.append(read_request(path, body))
            self.arrived.notify_all()

    def wait_for(self, fits, since, patience):
        """The first request from number `since` on that fits; None if none comes in time."""
        until = time.monotonic() + patience
        with self.arrived:
            while True:
                for request in self.requests[since:]:
                    if fits(request):
                        return request
                left = until - time.monotonic()
                if left <= 0 or not self.arrived.wait(left):
                    return None


class Request:
    """What a model was sent: the turns of its conversation, as (role, kind, value)."""

    def __init__(self, path, body, parts):
        self.path, self.body, self.parts = path, body, parts

    def text(self):
        """All texts of the conversation, in their order."""
        return "\n".join(value for _, kind, value in self.parts if kind == "text")

    def media(self):
        """All data of pictures and sounds, as base64."""
        return [value for _, kind, value in self.parts if kind == "data"]

    def show(self):
        """The end of the conversation, for a report."""
        return "\n".join(f"{role} {kind}: {value[:400]}" for role, kind, value in self.parts[-5:])


def read_request(path, body):
    """Reads the request of any of the three interfaces."""
    parts = []
    for turn in body.get("contents") or body.get("messages") or []:
        role = turn.get("role") or "user"
        content = turn.get("parts") or turn.get("content") or []
        for part in [content] if isinstance(content, str) else content:
            parts.extend((role, kind, value) for kind, value in read_part(part))
    return Request(path, body, parts)


def read_part(part):
    """The texts and data of one part of a turn."""
    if isinstance(part, str):
        return [("text", part)]
    if isinstance(part.get("text"), str):
        return [("text", part["text"])]
    for place in [part.get("source"), part.get("inlineData"), part.get("input_audio")]:
        if isinstance(place, dict) and "data" in place:
            return [("data", place["data"])]
    if part.get("image_url"):
        return [("data", part["image_url"]["url"].partition("base64,")[2])]
    if isinstance(part.get("content"), list):
        return [found for inner in part["content"] for found in read_part(inner)]
    return [("other", json.dumps(part, ensure_ascii=False))]


def reply(path, body):
    """The content type and the body of an answer."""
    if "count_tokens" in path:
        return "application/json", {"input_tokens": 10}
    if "countTokens" in path:
        return "application/json", {"totalTokens": 10}
    if "/messages" in path:
        return anthropic(body)
    if "enerateContent" in path:
        return google("stream" in path)
    if "/chat/completions" in path:
        return openai(body)
    return "application/json", {}


def anthropic(body):
    """An answer as Anthropic's."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", ""), "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    if not body.get("stream"):
        return "application/json", {**message, **end, "content": [{"type": "text", "text": ANSWER}]}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return "text/event-stream", "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def google(streamed):
    """An answer as Google's."""
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": ANSWER}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        "modelVersion": "stand-in",
    }
    return ("text/event-stream", f"data: {json.dumps(answer)}\n\n") if streamed else ("application/json", answer)


def openai(body):
    """An answer as OpenAI's."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    head = {"id": "c", "created": 1, "model": "stand-in"}
    message = {"role": "assistant", "content": ANSWER}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return "application/json", {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunk = {**head, "object": "chat.completion.chunk"}
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    ]
    return "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
