"""The test cases of prompts, as `hina test` runs them, as items of pytest.

    [tool.pytest.ini_options]
    hinagata_workspaces = ["my-workspace"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ._core import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ._core import CaseFile

#: Options of `hina test` that messages name, and what does the same here.
_OPTIONS = {"`--update`": "`--hinagata-update`", "`--record`": "`hina test --record`"}

_ENGINES: pytest.StashKey[dict[Path, Engine]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the setting that names workspaces, and what `hina test` has as options."""
    parser.addini("hinagata_workspaces", "workspaces whose test cases of prompts are items", type="paths", default=[])
    group = parser.getgroup("hinagata", "test cases of prompts")
    group.addoption("--hinagata-update", action="store_true", help="write the snapshots of the cases that run")
    group.addoption("--hinagata-trusted", action="store_true", help="trust the workspaces, so that their hooks run")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses a workspace that does not exist: its cases would be missed silently."""
    for root in config.getini("hinagata_workspaces"):
        if not root.is_dir():
            raise pytest.UsageError(f"hinagata_workspaces: `{root}` is not a directory; name the root of a workspace")
    config.stash[_ENGINES] = {}


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the processes of hooks."""
    for engine in config.stash.get(_ENGINES, {}).values():
        engine.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PromptTests | None:
    """Collects the YAML files in the directories `tests` of prompts."""
    if file_path.parent.name != "tests" or file_path.suffix not in (".yaml", ".yml"):
        return None
    file = file_path.resolve()
    for root in (root.resolve() for root in parent.config.getini("hinagata_workspaces")):
        if file.is_relative_to(root):
            found = _engine(parent.config, root)._find_cases(file.relative_to(root).as_posix())
            if found is not None:
                tests: PromptTests = PromptTests.from_parent(parent, path=file_path, found=found)
                return tests
    return None


def _engine(config: pytest.Config, root: Path) -> Engine:
    engines = config.stash[_ENGINES]
    if root not in engines:
        engines[root] = Engine(root, trusted=config.getoption("--hinagata-trusted"))
    return engines[root]


class PromptTests(pytest.File):
    """A test file of a prompt."""

    def __init__(self, *, found: CaseFile, **options: Any) -> None:
        super().__init__(**options)
        self.found = found

    def collect(self) -> Iterator[PromptCase]:
        """The cases. A wrong file is refused as a whole."""
        if self.found.problems:
            raise self.CollectError("\n".join(map(str, self.found.problems)))
        for number, case in enumerate(self.found.cases):
            item: PromptCase = PromptCase.from_parent(
                self, name=case["name"], found=self.found, number=number, line=case["line"])
            if case["skip"]:
                item.add_marker(pytest.mark.skip(reason=case["skip"]))
            yield item


class PromptCase(pytest.Item):
    """A case of a prompt."""

    def __init__(self, *, found: CaseFile, number: int, line: int, **options: Any) -> None:
        super().__init__(**options)
        self.found, self.number, self.line = found, number, line

    def runtest(self) -> None:
        """Runs the case in its fixed surroundings."""
        result = self.found.run_case(self.number, update=self.config.getoption("--hinagata-update"))
        if result["status"] == "skipped":
            pytest.skip(result["reason"])
        if result["status"] == "failed":
            pytest.fail(self._describe(result), pytrace=False)

    def _describe(self, result: dict[str, Any]) -> str:
        """What did not hold, with places that editors open."""
        file, lines = self.nodeid.partition("::")[0], []
        for failure in result["failures"]:
            message = failure["message"]
            for theirs, ours in _OPTIONS.items():
                message = message.replace(theirs, ours)
            lines.append(f"{file}:{failure['line']}:{failure['column']}: {failure['assertion']}: {message}")
            lines.extend([failure["difference"]] if failure["difference"] else [])
        return "\n".join([*lines, *(f"warning: {warning}" for warning in result["warnings"])])

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case is, and what it is called."""
        return self.path, self.line - 1, f"{self.found.prompt}: {self.name}"
