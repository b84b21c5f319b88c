"""Engine, AsyncEngine, PromptManager and Rendered."""

import asyncio
import copy
import datetime
import inspect
import pickle
import threading
import warnings

import pytest

import hinagata
from hinagata import (
    AsyncEngine,
    Engine,
    HinagataError,
    HinagataWarning,
    PromptConflictError,
    PromptDeadlineError,
    PromptManager,
    PromptNotFoundError,
    PromptRenderError,
    PromptValidationError,
    Template,
    Variables,
)


def test_an_empty_directory_has_the_built_in_prompts(tmp_path):
    rendered = Engine(tmp_path).render("general-system", {"agent_name": "Rumi"})
    assert str(rendered) == rendered.text and rendered.text.startswith("You are Rumi")
    assert (rendered.prompt_id, rendered.source) == ("general_system", "ecosystem/default/prompts/general_system")
    assert rendered.messages == [{"role": "user", "content": rendered.text}]
    assert rendered.body == rendered.text and rendered.warnings == [] and rendered.trace is None
    assert len(rendered.hash) == 64 == len(rendered.definition_hash) and rendered.version == "1.0.0"
    assert rendered.render_id == rendered.render_id and len(rendered.render_id) == 36
    assert rendered.to_dict()["hash"] == rendered.hash


def test_messages_keep_their_roles(workspace):
    workspace.prompt("talk", "{{ role('system') }}\nBe {{ manner }}.\n{{ role('user') }}\n{{ question }}")
    rendered = workspace.engine().render("talk", {"manner": "brief", "question": "{{ role('system') }}"})
    assert rendered.messages == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ role('system') }}"}]
    assert rendered.body == rendered.messages and rendered.text == "Be brief.\n\n{{ role('system') }}"


def test_explain_shows_where_values_come_from(workspace):
    workspace.prompt("small", "Hello {{ name }}!")
    trace = workspace.engine().explain("small", {"name": "Ada"}).trace
    assert [variable["name"] for variable in trace["variables"]] == ["name"]
    assert trace["map"]
    assert "map" not in workspace.engine().explain("small", {"name": "Ada"}, map=False).trace


def test_errors_have_the_fields_of_every_door(workspace):
    workspace.prompt("strict", "---\ninputs:\n  name: string\n---\n\n{{ name.x.y() }}")
    engine = workspace.engine()
    with pytest.raises(PromptNotFoundError) as caught:
        engine.render("strikt")
    assert isinstance(caught.value, LookupError) and caught.value.code == "not_found"
    assert "strict" in caught.value.near and "did you mean" in str(caught.value)
    with pytest.raises(PromptRenderError) as caught:
        engine.render("strict", {"name": "a"})
    assert caught.value.place["line"] == 6 and "template.md:6" in str(caught.value)
    with pytest.raises(PromptValidationError) as caught:
        engine.render("general_system")
    assert caught.value.missing == ["agent_name"] and caught.value.prompt_id == "general_system"


def conflict(workspace):
    workspace.prompt("general_system", "mine")
    with pytest.raises(PromptConflictError) as caught:
        workspace.engine().render("general_system", {"agent_name": "a"})
    return caught.value


def test_a_conflict_lists_its_candidates_and_is_settled(workspace):
    error = conflict(workspace)
    sources = [candidate["source"] for candidate in error.candidates]
    assert sources == ["user_data/shared/prompts/general_system", "ecosystem/default/prompts/general_system"]
    assert error.prompt_id == "general_system" and "set_resolution(" in error.hint
    engine = workspace.engine()
    engine.set_resolution("general_system", sources[0])
    assert engine.render("general_system").text == "mine"


def test_errors_survive_pickle_and_copy(workspace):
    error = conflict(workspace)
    for again in [pickle.loads(pickle.dumps(error)), copy.deepcopy(error)]:
        assert type(again) is PromptConflictError and str(again) == str(error)
        assert (again.candidates, again.code, again.hint) == (error.candidates, error.code, error.hint)
    for name in hinagata.__all__:
        known = getattr(hinagata, name)
        if inspect.isclass(known) and issubclass(known, HinagataError):
            again = pickle.loads(pickle.dumps(known("what happened")))
            assert type(again) is known and str(again) == str(known("what happened"))


def test_the_conflict_of_the_examples_can_be_raised_by_callers():
    error = PromptConflictError("coding_system", [{"source": "a"}])
    assert (error.prompt_id, error.candidates) == ("coding_system", [{"source": "a"}])


def test_settings_count_as_flags(workspace):
    workspace.prompt("now", "{{ system.timezone }} {{ system.date }} {{ system.language }}")
    clock = datetime.datetime(2026, 2, 20, 23, 0, tzinfo=datetime.timezone.utc)
    for settings in [
        {"render.timezone": "Asia/Tokyo", "render.language": "ja"},
        {"render": {"timezone": "Asia/Tokyo", "language": "ja"}},
        ["render.timezone=Asia/Tokyo", "render.language=ja"],
    ]:
        assert workspace.engine(settings=settings, clock=clock).render("now").text == "Asia/Tokyo 2026-02-21 ja"
    with pytest.raises(HinagataError, match="did you mean `render.timezone`"):
        workspace.engine(settings={"render.timezon": "Asia/Tokyo"})
    with pytest.raises(TypeError):
        workspace.engine(settings="render.language=ja")


def test_settings_without_effect_are_told(workspace):
    workspace.write("hinagata.toml", "[hooks]\nallowed_hosts = ['example.com']\n")
    with pytest.warns(HinagataWarning, match="trusted=True"):
        workspace.engine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        workspace.engine(trusted=True)


def test_vocabulary_reads_and_lists(workspace):
    workspace.prompt("greet", "---\ntype: system\ntags: [a, b]\n---\n{{ name }} {{ mood }}")
    workspace.write("user_data/shared/vocab.json", '{"prompt.greet": ["prompt.hello"], "tool.search": ["tool.find"]}')
    engine = workspace.engine()
    assert engine.reads("hello") == ["mood", "name"] and engine.resolve_id("hello") == "greet"
    assert engine.vocab("tool", "find") == "search" and engine.vocab("tool", "unheard_of") is None
    assert [one["prompt_id"] for one in engine.list_prompts("system", "a")] == ["greet"]
    assert {"greet", "general_system"} <= {one["prompt_id"] for one in engine.list_prompts()}
    assert engine.root == workspace.root and engine.diagnostics() == []


def test_undefined_and_timeout_belong_to_the_call(workspace):
    workspace.prompt("open", "[{{ missing }}]")
    workspace.prompt("slow", "x", "import time\ndef pre_render(variables, context):\n    time.sleep(60)\n")
    engine = workspace.engine()
    assert engine.render("open").text == "[]"
    with pytest.raises(PromptRenderError) as caught:
        engine.render("open", undefined="error")
    assert caught.value.code == "render.undefined"
    with pytest.raises(ValueError, match="empty, jinja, error, debug"):
        engine.render("open", undefined="loud")
    with pytest.raises(TimeoutError):
        engine.render("slow", timeout=0.5)


def test_a_closed_engine_says_so(workspace):
    with workspace.engine() as engine:
        engine.render("general_system", {"agent_name": "a"})
    with pytest.raises(HinagataError, match="closed"):
        engine.render("general_system", {"agent_name": "a"})


def test_reload_and_watch_follow_files(workspace):
    workspace.prompt("note", "one")
    engine = workspace.engine()
    assert engine.render("note").text == "one"
    workspace.prompt("note", "two")
    engine.reload()
    assert engine.render("note").text == "two"
    changed, seen = threading.Event(), []
    with engine.watch(lambda paths: (seen.extend(paths), changed.set())):
        workspace.prompt("note", "three")
        assert changed.wait(30)
    assert engine.render("note").text == "three" and any("note" in path for path in seen)


def test_a_manager_follows_files_by_itself(workspace):
    workspace.prompt("note", "one")

    async def run():
        manager = workspace.manager()
        assert await manager.render("note") == "one"
        changed = threading.Event()
        with manager._engine.watch(lambda paths: changed.set()):
            workspace.prompt("note", "two")
            assert await asyncio.to_thread(changed.wait, 30)
        assert await manager.render("note") == "two"
        manager.close()

    asyncio.run(run())


def test_the_examples_of_the_first_users_run_unchanged(workspace, tmp_path):
    workspace.prompt("coding_system", "{{ agent_name }}: {% for tool in tools %}{{ tool.name }} {% endfor %}"
                     "{{ project_memory }}{{ user_memory }} in {{ system.workspace_path }}")
    workspace.prompt("broken", "{{ x")

    class Session:
        def __init__(self):
            self.workspace = str(tmp_path)

    session, agent_def, formatted_tools = Session(), {"name": "Coder"}, [{"name": "read", "description": "Reads"}]
    project_md, user_md, old_messages, current_project_md, session_summary = "P", "U", [1, 2], "old", "new"
    prompt_manager = PromptManager(workspace.root)

    async def run():
        with pytest.raises(PromptConflictError) as caught:
            await prompt_manager.render("coding_system", {"agent_name": "a", "tools": []})
        assert caught.value.prompt_id == "coding_system" and len(caught.value.candidates) == 2

        # §10.5
        candidates = await prompt_manager.list_candidates("coding_system")
        assert [(one["source"], one["version"], one["pack_id"]) for one in candidates] == [
            ("user_data/shared/prompts/coding_system", "1.0.0", None),
            ("ecosystem/default/prompts/coding_system", "1.0.0", None),
        ]
        await prompt_manager.set_resolution("coding_system", "user_data/shared/prompts/coding_system")

        # §8.2
        system_prompt = await prompt_manager.render("coding_system", {
            "agent_name": agent_def["name"],
            "tools": formatted_tools,
            "project_memory": project_md,
            "user_memory": user_md,
        }, context={"workspace_path": session.workspace, "session": session})
        assert system_prompt == f"Coder: read PU in {tmp_path}"

        compression_prompt = await prompt_manager.render("history_compression", {
            "message_count": len(old_messages),
            "target_length": 500,
        })
        assert "500" in compression_prompt

        update_prompt = await prompt_manager.render("memory_update", {
            "current_memory": current_project_md,
            "session_summary": session_summary,
        })
        assert "new" in update_prompt

        system_prompt = await prompt_manager.render("general_system", {
            "agent_name": "Rumi",
        })
        assert "Rumi" in system_prompt

        # §8.1
        definition = await prompt_manager.get_definition("general_system")
        assert definition["prompt_id"] == "general_system"
        assert all(isinstance(one, dict) for one in await prompt_manager.list_prompts())
        assert [one["prompt_id"] for one in await prompt_manager.list_prompts(type_filter="planning")] == [
            "planning_task_decomposition"]
        assert await prompt_manager.list_prompts(tag_filter="unheard of") == []
        assert (await prompt_manager.validate("general_system", {}))["missing"] == ["agent_name"]
        with pytest.raises(PromptNotFoundError):
            await prompt_manager.render("no_such_prompt")

    asyncio.run(run())
    for name in ["render", "get_definition", "list_prompts", "list_candidates", "set_resolution", "validate"]:
        assert inspect.iscoroutinefunction(getattr(PromptManager, name))


def test_a_manager_warns_of_what_it_cannot_return(workspace):
    workspace.prompt("small", "{{ name }}")

    async def run():
        with pytest.warns(HinagataWarning, match="nmae.*neither declares nor reads"):
            await workspace.manager().render("small", {"nmae": "x"})

    asyncio.run(run())


def test_templates_of_both_languages():
    jinja = Template("{% include 'part' %}{{ user.name|upper }}", templates={"part": "> "}, name="hello")
    assert jinja.render({"user": {"name": "ada"}}) == "> ADA" and jinja.language == "jinja"
    go = Template('{{.name | printf "%q"}} {{.count}}', language="go")
    assert go.render(name="Ada", count=3) == '"Ada" 3' and go.reads() == ["count", "name"]
    assert Template("{{ role('system') }}Hi{{ role('user') }}{{ q }}").render_messages(q="?") == [
        {"role": "system", "content": "Hi"}, {"role": "user", "content": "?"}]
    prepared = Variables(user={"name": "bo"})
    assert [jinja.render(prepared) for _ in range(2)] == ["> BO", "> BO"]
    with pytest.raises(PromptRenderError) as caught:
        Template("a\n{% if %}", name="bad.md")
    assert caught.value.code == "render.syntax" and caught.value.place["line"] == 2
    with pytest.raises(ValueError, match="jinja or go"):
        Template("", language="mustache")


def test_async_engines_answer_like_others(workspace):
    workspace.prompt("note", "{{ name }}")

    async def run():
        async with AsyncEngine(workspace.root) as engine:
            for number in range(5):
                assert (await engine.render("note", {"name": str(number)})).text == str(number)
            assert (await engine.explain("note", {"name": "a"})).trace
            assert await engine.reads("note") == ["name"] and await engine.resolve_id("NOTE") == "note"
            with pytest.raises(PromptNotFoundError):
                await engine.render("nothing")
            texts = await asyncio.gather(*(engine.render("note", {"name": str(n)}) for n in range(100)))
            assert [str(text) for text in texts] == [str(n) for n in range(100)]

    asyncio.run(run())


def test_an_awaited_deadline_is_a_timeout(workspace):
    workspace.prompt("slow", "x", "import time\ndef pre_render(variables, context):\n    time.sleep(60)\n")

    async def run():
        with pytest.raises(TimeoutError):
            await workspace.async_engine().render("slow", timeout=0.5)

    asyncio.run(run())
    assert issubclass(PromptDeadlineError, TimeoutError)
