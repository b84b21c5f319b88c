"""The adapters, with the real frameworks."""

import asyncio

import pytest


@pytest.fixture
def engine(workspace):
    workspace.prompt("talk", "{{ role('system') }}\nBe {{ manner }}.\n{{ role('user') }}\n{{ question }}")
    workspace.prompt("ask", "---\ninputs:\n  question: string\n---\nAsk {{ question }} {{ mood }}")
    return workspace.engine()


def test_langchain(engine):
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser

    from hinagata.langchain import as_prompt

    prompt = as_prompt(engine, "talk", partial_variables={"manner": "brief"})
    messages = prompt.invoke({"question": "{{ who }}?"}).to_messages()
    assert [(one.type, one.content) for one in messages] == [("system", "Be brief."), ("human", "{{ who }}?")]
    chain = prompt | FakeListChatModel(responses=["fine"]) | StrOutputParser()
    assert chain.invoke({"question": "How?"}) == "fine" == asyncio.run(chain.ainvoke({"question": "How?"}))
    assert as_prompt(engine, "ask").invoke({"question": "why"}).to_string() == "Ask why "
    assert as_prompt(engine, "ask").input_variables == ["question"]
    assert prompt.partial(question="x").format_messages()[1].content == "x"
    with pytest.raises(KeyError, match="question"):
        as_prompt(engine, "ask").invoke({})


def test_llama_index(engine):
    from llama_index.core.llms.mock import MockLLM

    from hinagata.llama_index import as_prompt

    prompt = as_prompt(engine, "talk", manner="brief")
    messages = prompt.format_messages(question="How?")
    assert [(one.role.value, one.content) for one in messages] == [("system", "Be brief."), ("user", "How?")]
    assert prompt.partial_format(question="x").format() == "Be brief.\n\nx"
    assert "How?" in MockLLM().predict(prompt, question="How?")
    mapped = as_prompt(engine, "ask", template_var_mappings={"query_str": "question"})
    assert mapped.format(query_str="why") == "Ask why "
