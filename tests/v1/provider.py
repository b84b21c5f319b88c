"""A model provider with four APIs, whose last text of the user says what happens: `tool`, `refuse`, `break`, or an answer."""

import http.server
import json
import threading

ANSWER = "Hello from afar!"
PIECES = ["Hello", " from", " afar!"]
ARGUMENTS = {"at": "lamp"}
REFUSAL = "this model takes no such request"


def api_of(path):
    """The API of a path."""
    if "/messages" in path:
        return "anthropic"
    if "enerateContent" in path:
        return "gemini"
    return "ollama" if "/api/chat" in path else "openai"


def wish_of(body):
    """What the last text asks for."""
    text = json.dumps(body.get("messages") or body.get("contents"))
    return next((wish for wish in ["refuse", "break"] if f"please {wish}" in text), "tool" if body.get("tools") else "")


def whole(api, wants_tool):
    """A complete answer."""
    if api == "anthropic":
        text = {"type": "text", "text": ANSWER}
        call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": ARGUMENTS}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [call if wants_tool else text], "stop_reason": "tool_use" if wants_tool else "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4}}
    if api == "gemini":
        part = {"functionCall": {"id": "c1", "name": "look", "args": ARGUMENTS}} if wants_tool else {"text": ANSWER}
        return gemini(part, "STOP")
    if api == "ollama":
        return ollama("" if wants_tool else ANSWER, True, wants_tool)
    message = {"role": "assistant", "content": None if wants_tool else ANSWER, "refusal": None}
    if wants_tool:
        message["tool_calls"] = [openai_call()]
    reason = "tool_calls" if wants_tool else "stop"
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}


def openai_call():
    """A call of a tool as OpenAI has it."""
    return {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": json.dumps(ARGUMENTS)}}


def gemini(part, reason=None):
    """A response of Gemini."""
    candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"}


def ollama(text, done, wants_tool=False):
    """A response of Ollama."""
    message = {"role": "assistant", "content": text}
    if wants_tool:
        message["tool_calls"] = [{"function": {"name": "look", "arguments": ARGUMENTS}}]
    end = {"done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4} if done else {}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **end}


def event(data):
    """A server-sent event."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n"


def pieces(api, wants_tool, with_usage):
    """A streamed answer."""
    if api == "anthropic":
        block = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}} if wants_tool else {"type": "text", "text": ""}
        texts = ['{"at": ', '"lamp"}'] if wants_tool else PIECES
        kind = ("input_json_delta", "partial_json") if wants_tool else ("text_delta", "text")
        deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": kind[0], kind[1]: text}} for text in texts]
        message = {**whole(api, False), "content": [], "stop_reason": None}
        end = {"stop_reason": "tool_use" if wants_tool else "end_turn", "stop_sequence": None}
        return [event(data) for data in [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block}, *deltas,
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 4}}, {"type": "message_stop"}]]
    if api == "gemini":
        if wants_tool:
            return [event(whole(api, True))]
        return [event(gemini({"text": text}, "STOP" if text == PIECES[-1] else None)) for text in PIECES]
    if api == "ollama":
        said = [ollama("", True, True)] if wants_tool else [*(ollama(text, False) for text in PIECES), ollama("", True)]
        return [json.dumps(piece) + "\n" for piece in said]

    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    if wants_tool:
        start = {**openai_call(), "index": 0, "function": {"name": "look", "arguments": '{"at": '}}
        more = {"index": 0, "function": {"arguments": '"lamp"}'}}
        said = [chunk({"role": "assistant", "tool_calls": [start]}), chunk({"tool_calls": [more]}), chunk({}, "tool_calls")]
    else:
        said = [*(chunk({"role": "assistant", "content": text}) for text in PIECES), chunk({}, "stop")]
    if with_usage:
        said.append({**chunk({}), "choices": [], "usage": whole(api, False)["usage"]})
    return [*map(event, said), "data: [DONE]\n\n"]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802, the name is given
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        api, wish = api_of(self.path), wish_of(body)
        streamed = body.get("stream", False) or ":stream" in self.path
        if wish == "refuse":
            error = {"message": REFUSAL, "type": "invalid_request_error", "param": None, "code": None}
            self.answer(400, {"type": "error", "error": error})
        elif streamed:
            usage = (body.get("stream_options") or {}).get("include_usage", False)
            self.stream(api, pieces(api, wish == "tool", usage), wish == "break")
        elif wish == "break":
            self.close_connection = True
        else:
            self.answer(200, whole(api, wish == "tool"))

    def answer(self, status, value):
        """Sends JSON."""
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def stream(self, api, parts, is_broken):
        """Sends pieces, or some of them."""
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if api == "ollama" else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for part in parts[:1] if is_broken else parts:
            data = part.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if is_broken:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        """Says nothing."""


def start_provider():
    """Serves on a free port until the program ends, and returns the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
