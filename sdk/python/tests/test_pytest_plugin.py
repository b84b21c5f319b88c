"""The plugin for pytest, in a pytest of its own."""

import re
import shutil

import pytest
from conftest import REPOSITORY

GUIDE = "docs/guides/use-from-python.md"

TESTS = "user_data/shared/prompts/{}/tests/cases.yaml"


@pytest.fixture
def project(pytester, workspace, monkeypatch):
    """A project whose workspace is `prompts`."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nhinagata_workspaces = ["prompts"]\n')
    shutil.move(workspace.root, pytester.path / "prompts")
    workspace.root = pytester.path / "prompts"
    return workspace


def run_pytest(pytester, *arguments):
    """Runs pytest without plugins that other packages bring, which take seconds to import."""
    others = ["-p", "no:langsmith_plugin", "-p", "no:anyio", "-p", "no:cacheprovider"]
    return pytester.runpytest_subprocess(*others, *arguments)


def test_cases_are_items(project, pytester):
    project.prompt("hello", "Hello {{ who }}!")
    project.write(TESTS.format("hello"), """
vars: {who: Ada}
tests:
  - {name: a greeting, assert: [{equals: Hello Ada!}]}
  - {name: somebody, matrix: {who: [Bo, Cy]}, assert: [{contains: Hello}]}
  - {name: not yet, skip: it is too early}
  - {name: for a model, model: gpt-5-mini, assert: [{contains: Hi}]}
  - name: a farewell
    assert:
      - contains: Hello
      - contains: Bye
""")
    # Other YAML files are left alone.
    project.write("tests/other.yaml", "tests: 1")
    pytester.path.joinpath("tests").mkdir()
    pytester.path.joinpath("tests/other.yaml").write_text("tests: 1")
    result = run_pytest(pytester, "-rsf", "-v")
    result.assert_outcomes(passed=3, skipped=1, failed=2)
    file = "prompts/" + TESTS.format("hello")
    result.stdout.fnmatch_lines([
        f"{file}::a greeting PASSED*", f"{file}::somebody [[]who=Bo[]] PASSED*", f"{file}::somebody [[]who=Cy[]] PASSED*",
        "*hello: for a model*", f"{file}:7:*: model: no answer to this request is recorded; `hina test --record` records one",
        "*hello: a farewell*", f"{file}:11:*: contains*Bye*", f"SKIPPED [[]1[]] {file}: it is too early",
        f"FAILED {file}::a farewell*"])
    assert "contains: Hello" not in result.stdout.str(), "that holds"
    run_pytest(pytester, "--quiet", f"{file}::a greeting").assert_outcomes(passed=1)
    run_pytest(pytester, "-k", "somebody and Cy").assert_outcomes(passed=1, deselected=5)


def test_a_wrong_file_is_an_error_with_every_problem(project, pytester):
    project.prompt("hello", "Hello")
    project.write(TESTS.format("hello"), "tests:\n  - {name: one, asert: []}\n  - {name: two, repeat: often}\n")
    result = run_pytest(pytester)
    result.assert_outcomes(errors=1)
    file = TESTS.format("hello")
    result.stdout.fnmatch_lines([f"*{file}:2:*asert*", f"*{file}:3:*repeat*"])


def test_snapshots_are_written_compared_and_updated(project, pytester, monkeypatch):
    project.prompt("hello", "Hello\nyou")
    project.write(TESTS.format("hello"), "tests: [{name: all of it, assert: [{snapshot: true}]}]")
    snapshot = project.root / "user_data/shared/prompts/hello/tests/snapshots/cases/all-of-it.txt"
    monkeypatch.setenv("CI", "true")
    run_pytest(pytester).assert_outcomes(failed=1)
    assert not snapshot.exists(), "nobody would see what a machine writes"
    monkeypatch.delenv("CI")
    run_pytest(pytester).assert_outcomes(passed=1)
    assert snapshot.read_text().strip() == "Hello\nyou"
    project.prompt("hello", "Hello\nthere")
    result = run_pytest(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*it differs from the snapshot `all-of-it.txt`; `--hinagata-update` accepts it", "-you", "+there"])
    run_pytest(pytester, "--hinagata-update").assert_outcomes(passed=1)
    assert snapshot.read_text().strip() == "Hello\nthere"


def test_hooks_run_in_trusted_workspaces(project, pytester):
    project.prompt("hooked", "{{ made }}", "def pre_render(variables, context):\n    return {'made': 'in the hook'}\n")
    project.write(TESTS.format("hooked"), "tests: [{name: made, assert: [{equals: in the hook}]}]")
    untrusted = run_pytest(pytester)
    untrusted.assert_outcomes(failed=1)
    untrusted.stdout.fnmatch_lines(["*trust*"])
    run_pytest(pytester, "--hinagata-trusted").assert_outcomes(passed=1)


def test_what_is_not_configured_is_not_collected(pytester, workspace):
    workspace.prompt("hello", "Hello")
    workspace.write(TESTS.format("hello"), "tests: [{name: one, assert: [{contains: Bye}]}]")
    result = run_pytest(pytester, workspace.root)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result = run_pytest(pytester, "-o", "hinagata_workspaces=missing")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*hinagata_workspaces: *missing` is not a directory*"])


def test_the_example_of_the_guide_prints_what_it_shows(pytester):
    page = (REPOSITORY / GUIDE).read_text()
    settings, command, shown = re.search(
        r"```toml\n(.*?)```\n\n```text\n\$ pytest (.*?)\n(.*?)```", page, re.DOTALL).groups()
    pytester.makepyprojecttoml(settings)
    shutil.copytree(REPOSITORY / "examples/prompts", pytester.path / "examples/prompts")
    result = run_pytest(pytester, "--no-header", *command.split())

    def normal(text):
        """The lines without what depends on the width and the time."""
        lines = [re.sub(r"=+|\s+\[ *\d+%\]|in [\d.]+s", "", line).strip() for line in text.splitlines()]
        return [line for line in lines if line]

    printed = normal(result.stdout.str())
    assert [line for line in normal(shown) if line not in printed] == [], result.stdout.str()
    assert result.ret == 0
