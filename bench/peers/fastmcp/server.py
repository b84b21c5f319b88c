"""A prompt of FastMCP and Jinja2: server.py TEMPLATE stdio | http | http-plain

`http` answers as fast as FastMCP can: without sessions, with JSON. `http-plain` is as it comes.
"""

import pathlib
import socket
import sys

from fastmcp import FastMCP
from jinja2 import Environment

TEMPLATE = Environment().from_string(pathlib.Path(sys.argv[1]).read_text())
mcp = FastMCP("bench")


@mcp.prompt
def review(language: str, code: str, focus: str = "", project: str = "an internal service") -> str:
    """Review code"""
    return TEMPLATE.render(language=language, code=code, focus=focus, project=project)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


if sys.argv[2] == "stdio":
    mcp.run(transport="stdio", show_banner=False, log_level="ERROR")
else:
    port = free_port()
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    fast = True if sys.argv[2] == "http" else None
    mcp.run(
        transport="http",
        host="127.0.0.1",
        port=port,
        show_banner=False,
        log_level="ERROR",
        stateless_http=fast,
        json_response=fast,
        uvicorn_config={"access_log": False},
    )
