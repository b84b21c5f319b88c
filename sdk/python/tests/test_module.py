"""Modules: merge, compile, format, and functions as dynamic content."""

import pickle

import pytest

from hinagata import HinagataError, HinagataWarning, PromptDefinitionError, module

ANSWER = {
    "objective": ["Answer from the materials."],
    "materials": [lambda context: [
        {"type": "material", "id": one.id, "title": one.title, "content": one.text} for one in context.docs]],
    "messages": [lambda context: {"type": "message", "role": "user", "content": context.question}],
}
SHORT = {"guidelines": ["One sentence.", lambda context: f"Write in {context.language}."]}


class Doc:
    def __init__(self, id, title, text):
        self.id, self.title, self.text = id, title, text


class Question:
    docs = [Doc("m1", "Report", "21 degrees.")]
    question = "How warm?"
    language = "English"


def test_functions_get_the_context_of_the_caller():
    merged = module.merge(ANSWER, SHORT)
    assert merged["guidelines"][1] is SHORT["guidelines"][1]
    prompt = module.compile(merged, Question())
    text = module.format(prompt)
    assert "21 degrees." in text and "Write in English." in text and str(prompt) == text == prompt.text()
    assert module.compile([ANSWER, SHORT], Question()) == prompt
    assert prompt.to_dict()["data"] == prompt.data and prompt.schema is None


def test_a_prompt_without_context_gets_its_default():
    seen = []
    sections = {"createContext": lambda: {"name": "Ada"}, "objective": [lambda context: seen.append(context) or context["name"]]}
    assert "Ada" in str(module.compile(sections)) and seen == [{"name": "Ada"}]
    assert "Bo" in str(module.compile(sections, {"name": "Bo"}))


def test_orders_and_formats():
    prompt = module.compile(module.merge(ANSWER, SHORT), Question(), order="cache")
    request = prompt.request("anthropic", model="claude-opus-4-5", max_tokens=100)
    assert request["messages"][0]["role"] == "user" and request["max_tokens"] == 100
    assert module.format(prompt, "openai", model="gpt-5")["model"] == "gpt-5"
    assert {message["role"] for message in module.format(prompt, "messages")} == {"system", "user"}
    assert pickle.loads(pickle.dumps(prompt)) == prompt
    with pytest.raises(ValueError, match="standard"):
        module.compile(ANSWER, Question(), order="random")
    with pytest.raises(HinagataError, match="unknown driver `opnai`"):
        module.format(prompt, "opnai")


def test_the_exception_of_a_function_reaches_the_caller():
    def fail(context):
        raise LookupError("no such document")

    with pytest.raises(LookupError, match="no such document"):
        module.compile({"objective": [fail]})
    with pytest.raises(ValueError, match="not data"):
        module.compile({"objective": [lambda context: object()]})


def test_problems_have_their_paths():
    assert module.validate(ANSWER) == []
    problems = module.validate({"materails": [], "chunks": [{"type": "chunk"}]})
    assert problems[0]["near"] == ["materials"] and problems[1]["path"].startswith("chunks[0]")
    with pytest.raises(PromptDefinitionError, match="materials"):
        module.compile({"materails": []})


def test_data_cannot_stand_for_a_function():
    sections = {"objective": [lambda context: "real"], "inputs": [{"type": "text", "content": "{'function': 0}"}]}
    assert str(module.compile(sections)).count("real") == 1


def test_json_is_found_in_answers():
    found = module.extract_json('Sure:\n```json\n{"a": [1, 2,]}\n```')
    assert found["values"] == [{"a": [1, 2]}] and found["repaired"] is True


def test_what_is_left_out_is_told():
    sections = {"objective": [{"type": "subsection", "title": "T", "items": [lambda context: [{"type": "json", "content": 1}]]}]}
    with pytest.warns(HinagataWarning):
        module.compile(sections)
