"""What the tests share: workspaces of their own, apart from what the user of this machine has."""

import os
import pathlib
import shutil
import subprocess

import pytest

from hinagata import AsyncEngine, Engine, PromptManager

pytest_plugins = ["pytester"]

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_user(tmp_path_factory, monkeypatch):
    """Directories of a user who has neither settings nor decisions."""
    for name in [name for name in os.environ if name.startswith("HINAGATA_") and not name.startswith("HINAGATA_TEST_")]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for name in ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]:
        monkeypatch.setenv(name, str(home / name.lower()))
    return home


class Workspace:
    """A workspace that a test writes."""

    def __init__(self, root):
        self.root = root
        (root / "user_data/shared/prompts").mkdir(parents=True)

    def write(self, path, text):
        """Writes a file beneath the root, as editors do: at once."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f".{file.name}.part")
        part.write_text(text)
        part.rename(file)

    def prompt(self, name, text, hook=None):
        """A prompt of the user."""
        self.write(f"user_data/shared/prompts/{name}/template.md", text)
        if hook:
            self.write(f"user_data/shared/prompts/{name}/prompt.py", hook)

    def engine(self, **options):
        """An engine for it."""
        return Engine(self.root, **options)

    def async_engine(self, **options):
        """An engine whose methods are awaited."""
        return AsyncEngine(self.root, **options)

    def manager(self, **options):
        """The manager of its prompts."""
        return PromptManager(self.root, **options)


@pytest.fixture
def workspace(tmp_path):
    """An empty workspace."""
    return Workspace(tmp_path / "workspace")


class Calls:
    """A copy of recorded calls with the tree that they are about."""

    def __init__(self, directory, place):
        import json

        self.document = json.loads((directory / "cases.json").read_text())
        self.place = place
        shutil.copytree(directory, place)
        for path in place.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        self.root = place / self.document["root"]
        for step in self.document.get("setup", []):
            target = place / step["git_init"]
            target.mkdir(parents=True, exist_ok=True)
            for name, text in step.get("files", {}).items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_text(text)
            subprocess.run(["git", "init", "--quiet", "-b", step["branch"]], cwd=target, check=True)


def hina(*arguments, **options):
    """Runs the command line of the same build."""
    program = os.environ.get("HINAGATA_TEST_HINA")
    if not program:
        pytest.skip("HINAGATA_TEST_HINA names no program")
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True, **options)
