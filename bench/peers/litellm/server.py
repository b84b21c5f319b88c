"""LiteLLM's proxy as a peer: one model, before the provider at the address that is given.

Usage: server.py http://HOST:PORT/v1
"""

import json
import os
import socket
import sys
import tempfile

import uvicorn

CONFIG = {
    "model_list": [
        {
            "model_name": "gpt-4o",
            "litellm_params": {"model": "openai/gpt-4o", "api_base": sys.argv[1], "api_key": "none"},
        }
    ],
    "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    # Nothing is sent anywhere, and nothing is counted.
    "litellm_settings": {"telemetry": False, "turn_off_message_logging": True},
}


class Server(uvicorn.Server):
    """A server that says where it listens once it does."""

    async def startup(self, sockets=None):
        await super().startup(sockets)
        host, port = sockets[0].getsockname()
        print(f"listening on http://{host}:{port}", flush=True)


def main():
    """Serves until it is ended."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as config:
        json.dump(CONFIG, config)
    os.environ.update(CONFIG_FILE_PATH=config.name, LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="ERROR")
    from litellm.proxy.proxy_server import app  # reads the variables above

    listener = socket.create_server(("127.0.0.1", 0))
    # Connections stay open while others are measured.
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_keep_alive=600)
    Server(config).run(sockets=[listener])


main()
