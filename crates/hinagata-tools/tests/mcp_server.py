"""A server of MCP over standard input and output that does what its tools are called: answers, fails, hangs, floods, lies, dies."""

import json
import os
import subprocess
import sys


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def note(line):
    with open(os.environ["NOTES"], "a", encoding="utf-8") as notes:
        notes.write(line + "\n")


def result(name, arguments):
    if name == "echo":
        return {"content": [{"type": "text", "text": json.dumps(arguments)}]}
    if name == "structured":
        return {"content": [{"type": "text", "text": "ignored"}], "structuredContent": {"n": 5, "got": arguments}}
    if name in ("marked", "unmarked"):
        return {"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5}}
    if name == "meta":
        meta = {"fastmcp": {"wrap_result": True}}
        return {"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5}, "_meta": meta}
    if name == "environment":
        return {"content": [{"type": "text", "text": ",".join(sorted(os.environ))}]}
    if name == "error":
        return {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    if name == "picture":
        return {"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}
    return None


def tools():
    schema = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    marked = {**schema, "x-fastmcp-wrap-result": True}
    return [
        {"name": "marked", "inputSchema": {"type": "object"}, "outputSchema": marked},
        {"name": "unmarked", "inputSchema": {"type": "object"}, "outputSchema": schema},
    ]


def main():
    note(f"start {os.getpid()}")
    if sys.argv[1:] == ["child"]:
        # Somebody who stays when the server goes, unless the whole group is ended.
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
        note(f"child {child.pid}")
    if sys.argv[1:] == ["broken"]:
        sys.exit("cannot find my settings")
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
            say({"jsonrpc": "2.0", "id": message["id"], "result": info})
        elif message.get("method") == "tools/list":
            note("list")
            say({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools()}})
        elif message.get("method") == "tools/call":
            name = message["params"]["name"]
            note(f"call {name}")
            if name == "hang":
                continue
            if name == "die":
                sys.exit(1)
            if name == "flood":
                while True:
                    sys.stdout.write("x" * 65536)
            if name == "rubbish":
                say({"jsonrpc": "2.0", "id": message["id"], "result": {"content": 5}})
                continue
            answer = result(name, message["params"].get("arguments"))
            if answer is None:
                error = {"code": -32602, "message": f"there is no tool {name}"}
                say({"jsonrpc": "2.0", "id": message["id"], "error": error})
            else:
                say({"jsonrpc": "2.0", "id": message["id"], "result": answer})


main()
