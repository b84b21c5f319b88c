"""Every feature of `hina lsp`, through pytest-lsp, whose types refuse messages that are not of the protocol."""

import asyncio
import os
import pathlib
import tempfile

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from workspace import hide_user, write_workspace

HINA = os.environ["HINA"]
USER = tempfile.TemporaryDirectory()
hide_user(USER.name)
PROMPTS = "user_data/shared/prompts"


class Editor:
    """A client with documents."""

    def __init__(self, client, root):
        self.client, self.root, self.versions = client, root, {}

    def uri(self, path):
        return (self.root / path).as_uri()

    def open(self, path, text=None, language="jinja"):
        text = (self.root / path).read_text(encoding="utf-8") if text is None else text
        self.versions[path] = 1
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(
            types.TextDocumentItem(self.uri(path), language, 1, text)))
        return text

    def change(self, path, text, place=None):
        self.versions[path] += 1
        change = types.TextDocumentContentChangeWholeDocument(text) if place is None else (
            types.TextDocumentContentChangePartial(range=place, text=text))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(self.versions[path], self.uri(path)), [change]))

    async def findings(self, path, expected):
        """Waits until the codes of a file are `expected`, and returns its diagnostics."""
        uri = self.uri(path)
        while True:
            found = self.client.diagnostics.get(uri, [])
            if sorted({item.code for item in found}) == sorted(expected):
                return found
            await asyncio.wait_for(self.client.wait_for_notification("textDocument/publishDiagnostics"), 20)

    def at(self, path, text, needle, inside=0):
        """The parameters of a question about the place where `needle` stands, `inside` characters further."""
        offset = text.index(needle) + inside
        before = text[:offset].split("\n")
        column = len(before[-1].encode("utf-16-le")) // 2
        return {"text_document": types.TextDocumentIdentifier(self.uri(path)),
                "position": types.Position(len(before) - 1, column)}

    async def complete(self, path, text, needle, inside=None):
        inside = len(needle) if inside is None else inside
        found = await self.client.text_document_completion_async(
            types.CompletionParams(**self.at(path, text, needle, inside)))
        return {item.label: item for item in found.items}

    async def hover(self, path, text, needle, inside=0):
        found = await self.client.text_document_hover_async(types.HoverParams(**self.at(path, text, needle, inside)))
        return found and found.contents.value

    async def define(self, path, text, needle, inside=0):
        found = await self.client.text_document_definition_async(
            types.DefinitionParams(**self.at(path, text, needle, inside)))
        return [(self.path(place.uri), place.range.start.line) for place in found]

    def path(self, uri):
        return uri.removeprefix(self.root.as_uri() + "/")

    async def rename(self, path, text, needle, new):
        return await self.client.text_document_rename_async(
            types.RenameParams(**self.at(path, text, needle), new_name=new))


async def start(client, root, name, **changes):
    capabilities = client_capabilities(name)
    for key, value in changes.items():
        setattr(capabilities, key, value)
    answer = await client.initialize_session(types.InitializeParams(
        process_id=os.getpid(), capabilities=capabilities,
        workspace_folders=[types.WorkspaceFolder(root.as_uri(), "workspace")]))
    return answer


@pytest.fixture
def root():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        yield write_workspace(scratch / "ws", HINA)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[HINA, "lsp"]))
async def client(lsp_client: LanguageClient, root):
    await start(lsp_client, root, "neovim@v0.7.0")
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def editor(client, root):
    return Editor(client, root)


SUPPORT = f"{PROMPTS}/support/template.md"
MESSAGES = f"{PROMPTS}/messages/prompt.yaml"
GREETING = f"{PROMPTS}/partials/greeting.md"


@pytest.mark.asyncio
async def test_findings_of_unsaved_text(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    editor.change(SUPPORT, text.replace("ticket.title|upper", "ticket.titel|upper"))
    [found] = await editor.findings(SUPPORT, ["type.path"])
    assert found.range.start.line == 27 - 1 and found.severity == types.DiagnosticSeverity.Warning
    editor.change(SUPPORT, text.replace("|upper", "|uper"))
    [found] = await editor.findings(SUPPORT, ["name.filter"])
    assert "`upper`" in found.message
    editor.change(SUPPORT, text)
    await editor.findings(SUPPORT, [])


@pytest.mark.asyncio
async def test_findings_of_files_that_use_an_unsaved_text(editor):
    editor.open(GREETING)
    await editor.findings(GREETING, [])
    editor.change(GREETING, "Hello from {{ agent_nam }}.\n")
    [found] = await editor.findings(GREETING, ["variable.undeclared"])
    assert (found.range.start.character, found.range.end.character) == (14, 23)
    # The parameter of the other prompt is not read any more.
    sales = await editor.findings(f"{PROMPTS}/sales/template.md", [])
    assert sales == []
    base = f"{PROMPTS}/partials/base.md"
    editor.open(base)
    editor.change(base, "Top\n{% block man %}{% endblock %}\n")
    await editor.findings(SUPPORT, ["block.orphan"])
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(
        types.TextDocumentIdentifier(editor.uri(base))))
    await editor.findings(SUPPORT, [])


@pytest.mark.asyncio
async def test_places_in_folded_and_escaped_strings(editor):
    editor.open(MESSAGES, language="yaml")
    found = await editor.findings(MESSAGES, ["name.filter", "variable.undeclared"])
    places = {item.code: (item.range.start.line, item.range.start.character, item.range.end.character) for item in found}
    assert places == {"variable.undeclared": (7, 9, 14), "name.filter": (9, 32, 36)}


@pytest.mark.asyncio
async def test_places_in_adjacent_python_literals(editor):
    path = f"{PROMPTS}/literal/prompt.py"
    editor.open(path, language="python")
    found = await editor.findings(path, ["variable.undeclared"])
    assert [(item.range.start.line, item.range.start.character, item.range.end.character) for item in found] == [(2, 12, 14)]


@pytest.mark.asyncio
async def test_changes_of_parts(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    place = editor.at(SUPPORT, text, "agent_name }}.")["position"]
    end = types.Position(place.line, place.character + len("agent_name"))
    editor.change(SUPPORT, "agent_nam", types.Range(place, end))
    [found] = await editor.findings(SUPPORT, ["variable.undeclared"])
    # The emoji before it counts as two.
    assert found.range.start == place and found.range.end.character == place.character + len("agent_nam")


@pytest.mark.asyncio
async def test_completion(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])

    async def typed(old, new, needle):
        changed = text.replace(old, new)
        editor.change(SUPPORT, changed)
        return await editor.complete(SUPPORT, changed, needle)

    names = await typed("{{ agent_name }}.", "{{ ag", "{{ ag")
    assert "agent_name" in names and "string" in names["agent_name"].detail
    assert set(await typed("ticket.title|upper }}", "ticket.", "{{ ticket.")) == {"title", "tags"}
    assert {"number", "place"} == set(await typed("{{ order.number }}", "{{ order. }}", "{{ order."))
    assert "loop" in await typed("{{ order.number }}", "{{ lo", "{{ lo")
    filters = await typed("ticket.title|upper }}", "ticket.title|", "ticket.title|")
    assert "upper" in filters and "dictsort" not in filters
    assert "defined" in await typed("{{ agent_name }}.", "{{ agent_name is ", "{{ agent_name is ")
    assert "partials/greeting.md" in await typed('"partials/greeting.md"', '"part', '"part')
    assert "main" in await typed("{% block main %}", "{% block ", "{% block ")
    assert "field" in await typed('forms.field("name", 3)', "forms.", "{{ forms.")
    assert "description" in await typed("parameters:", "descr\nparameters:", "descr")


@pytest.mark.asyncio
async def test_completion_in_go(editor):
    path = f"{PROMPTS}/partials/closing.gotmpl"
    editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    text = "{{ range .orders }}{{ .\n{{ end }}"
    editor.open(path, text)
    assert {"number", "place"} <= set(await editor.complete(path, text, "{{ .\n", len("{{ .")))
    text = "{{ .ag }}"
    editor.change(path, text)
    assert "agent_name" in await editor.complete(path, text, "{{ .ag")


@pytest.mark.asyncio
async def test_hover(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    shown = await editor.hover(SUPPORT, text, "agent_name }}", 2)
    assert "a string" in shown and "Who answers" in shown and "required" in shown
    assert "upper case" in await editor.hover(SUPPORT, text, "upper")
    assert "an integer" in await editor.hover(SUPPORT, text, "number }}")
    assert "field(label, size?)" in await editor.hover(SUPPORT, text, "field(")
    assert "Hello from" in await editor.hover(SUPPORT, text, "partials/greeting")
    assert await editor.hover(SUPPORT, text, "You are") is None


@pytest.mark.asyncio
async def test_values_in_hovers(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    shown = await editor.hover(SUPPORT, text, "agent_name }}", 2)
    assert f'value: `"Rumi"` in the test case `urgent` of `{PROMPTS}/support/tests/first.yaml`' in shown
    assert 'value: `"It burns"` in the test case' in await editor.hover(SUPPORT, text, "title|upper")
    # The item of a loop is of no case.
    assert "value" not in await editor.hover(SUPPORT, text, "number }}")
    hidden = f"{PROMPTS}/hidden/template.md"
    secret = editor.open(hidden)
    shown = await editor.hover(hidden, secret, "token %}", 2)
    assert "value: ••• in the test case" in shown and "hunter2" not in shown
    await editor.client.protocol.send_request_async("hina/preview", {
        "textDocument": {"uri": editor.uri(SUPPORT)},
        "variables": {"agent_name": "Momo", "ticket": {"title": "It rains", "tags": []}, "orders": []}})
    assert 'value: `"Momo"` in the last preview' in await editor.hover(SUPPORT, text, "agent_name }}", 2)
    assert 'value: `"It rains"` in the last preview' in await editor.hover(SUPPORT, text, "title|upper")
    # A template that several prompts share has the value of each.
    greeting = editor.open(GREETING)
    assert f'value of `{PROMPTS}/support`: `"Momo"`' in await editor.hover(GREETING, greeting, "agent_name", 2)


@pytest.mark.asyncio
async def test_definition_across_files_packs_and_languages(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    assert await editor.define(SUPPORT, text, "agent_name }}") == [(SUPPORT, 2)]
    assert await editor.define(SUPPORT, text, "order.number") == [(SUPPORT, 27)]
    assert await editor.define(SUPPORT, text, "field(") == [(f"{PROMPTS}/partials/forms.md", 0)]
    assert await editor.define(SUPPORT, text, "main %}") == [(f"{PROMPTS}/partials/base.md", 1)]
    closing = f"{PROMPTS}/partials/closing.gotmpl"
    go = editor.open(closing)
    assert await editor.define(closing, go, "agent_name") == [(SUPPORT, 2)]
    sales = editor.open(f"{PROMPTS}/sales/template.md")
    signature = "user_data/packs/letters/prompts/partials/signature.md"
    assert await editor.define(f"{PROMPTS}/sales/template.md", sales, "partials/signature") == [(signature, 0)]


@pytest.mark.asyncio
async def test_references(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    client = editor.client
    found = await client.text_document_references_async(types.ReferenceParams(
        **editor.at(SUPPORT, text, "agent_name }}"), context=types.ReferenceContext(True)))
    files = {editor.path(place.uri) for place in found}
    assert {SUPPORT, GREETING, f"{PROMPTS}/partials/closing.gotmpl", f"{PROMPTS}/sales/template.md"} <= files
    marks = await client.text_document_document_highlight_async(
        types.DocumentHighlightParams(**editor.at(SUPPORT, text, "order.number")))
    assert len(marks) == 2


@pytest.mark.asyncio
async def test_rename_of_a_loop_variable(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    edit = await editor.rename(SUPPORT, text, "order.number", "item")
    [edits] = edit.changes.values()
    assert [(one.range.start.line, one.new_text) for one in edits] == [(27, "item"), (28, "item")]


@pytest.mark.asyncio
async def test_rename_of_a_parameter(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    edit = await editor.rename(SUPPORT, text, "ticket.title", "issue")
    edits = [(editor.path(uri), one.range.start.line) for uri, all in edit.changes.items() for one in all]
    cases = SUPPORT.replace("template.md", "tests/first.yaml")
    assert edits == [(SUPPORT, 6), (SUPPORT, 26), (cases, 0)]


@pytest.mark.asyncio
async def test_rename_is_refused_where_uses_are_not_known(editor):
    computed = f"{PROMPTS}/computed/template.md"
    text = editor.open(computed)
    await editor.findings(computed, [])
    with pytest.raises(JsonRpcException, match="all variables as one value"):
        await editor.rename(computed, text, "topic }}", "subject")
    # Through the greeting, the parameter is also one of the prompt that uses the approved pack.
    support = editor.open(SUPPORT)
    with pytest.raises(JsonRpcException, match="pack"):
        await editor.rename(SUPPORT, support, "agent_name }}", "name")
    with pytest.raises(JsonRpcException, match="is not a name"):
        await editor.rename(SUPPORT, support, "ticket.title", "a b")


@pytest.mark.asyncio
async def test_signature_help(editor):
    text = editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    help = await editor.client.text_document_signature_help_async(
        types.SignatureHelpParams(**editor.at(SUPPORT, text, ", 3)", 2)))
    assert help.signatures[0].label == "field(label, size?)" and help.active_parameter == 1


@pytest.mark.asyncio
async def test_semantic_tokens(editor):
    text = editor.open(SUPPORT)
    tokens = await editor.client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(types.TextDocumentIdentifier(editor.uri(SUPPORT))))
    legend = editor.client.init_result if hasattr(editor.client, "init_result") else None
    lines, line, column, seen = text.split("\n"), 0, 0, set()
    for index in range(0, len(tokens.data), 5):
        down, right, length, kind, _ = tokens.data[index:index + 5]
        line, column = line + down, right if down else column + right
        units = lines[line].encode("utf-16-le")
        seen.add((units[2 * column:2 * (column + length)].decode("utf-16-le"), kind))
    assert ("agent_name", 2) in seen and ("upper", 5) in seen and ("for", 1) in seen, (seen, legend)


@pytest.mark.asyncio
async def test_outline_folding_links_and_hints(editor):
    editor.open(SUPPORT)
    await editor.findings(SUPPORT, [])
    client, document = editor.client, types.TextDocumentIdentifier(editor.uri(SUPPORT))
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert ["agent_name", "ticket", "orders", "main"] == [symbol.name for symbol in symbols]
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(document))
    assert {(0, 21), (24, 33), (27, 29)} == {(fold.start_line, fold.end_line) for fold in folds}
    links = await client.text_document_document_link_async(types.DocumentLinkParams(document))
    assert [editor.path(link.target).split("/")[-1] for link in links] == [
        "forms.md", "base.md", "greeting.md", "closing.gotmpl"]
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document, everything))
    assert [(hint.position.line, hint.label) for hint in hints] == [(27, ": an object")]
    found = await client.workspace_symbol_async(types.WorkspaceSymbolParams("field"))
    assert [symbol.name for symbol in found] == ["field"]


@pytest.mark.asyncio
async def test_code_actions(editor):
    text = editor.open(SUPPORT)
    changed = text.replace("|upper", "|uper").replace("ticket.title", "ticket.titel")
    editor.change(SUPPORT, changed)
    found = await editor.findings(SUPPORT, ["name.filter", "type.path"])
    found = [item for item in found if item.code == "name.filter"]
    actions = await editor.client.text_document_code_action_async(types.CodeActionParams(
        types.TextDocumentIdentifier(editor.uri(SUPPORT)), found[0].range, types.CodeActionContext(found)))
    titles = [action.title for action in actions]
    assert "upper" in titles[0] and "Allow name.filter here" in titles
    [edit] = actions[0].edit.changes[editor.uri(SUPPORT)]
    assert edit.new_text == "upper" and edit.range == found[0].range


@pytest.mark.asyncio
async def test_formatting(editor):
    path = f"{PROMPTS}/partials/greeting.md"
    editor.open(path, "Hello {{agent_name|upper}} 😀\n{{ 1 }}\n")
    [edit] = await editor.client.text_document_formatting_async(types.DocumentFormattingParams(
        types.TextDocumentIdentifier(editor.uri(path)), types.FormattingOptions(4, True)))
    assert edit.new_text == " agent_name|upper " or edit.new_text.strip() == "agent_name|upper", edit
    editor.change(path, "Hello {{ agent_name|upper }}\n")
    assert not await editor.client.text_document_formatting_async(types.DocumentFormattingParams(
        types.TextDocumentIdentifier(editor.uri(path)), types.FormattingOptions(4, True)))


@pytest.mark.asyncio
async def test_preview(editor):
    editor.open(GREETING)
    editor.change(GREETING, "Welcome, {{ agent_name }}!\n")
    await editor.findings(GREETING, [])
    preview = await editor.client.protocol.send_request_async("hina/preview", {
        "textDocument": {"uri": editor.uri(GREETING)}, "prompt": "sales", "variables": {"agent_name": "Rumi"}})
    assert "Welcome, Rumi!" in preview.body and preview.map is not None
    failed = await editor.client.protocol.send_request_async("hina/preview", {
        "textDocument": {"uri": editor.uri(GREETING)}, "prompt": "sales"})
    assert "agent_name" in failed.error.message


@pytest.mark.asyncio
async def test_a_broken_tag_hides_no_other_name(editor):
    editor.open(SUPPORT)
    text = (editor.root / SUPPORT).read_text().replace("{{ ticket.title|upper }}", "{{ ticket.")
    editor.change(SUPPORT, text)
    await editor.findings(SUPPORT, ["syntax.template"])
    assert await editor.define(SUPPORT, text, "order.number") == [(SUPPORT, 27)]
    assert "title" in await editor.complete(SUPPORT, text, "{{ ticket.")


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[HINA, "lsp"]))
async def pulling_client(lsp_client: LanguageClient, root):
    """It asks for diagnostics itself, and counts bytes."""
    answer = await start(lsp_client, root, "neovim@v0.11.0",
                         general=types.GeneralClientCapabilities(position_encodings=["utf-8", "utf-16"]))
    assert answer.capabilities.position_encoding == "utf-8"
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def puller(pulling_client, root):
    return Editor(pulling_client, root)


@pytest.mark.asyncio
async def test_pulled_findings_in_bytes(puller):
    text = puller.open(SUPPORT)
    puller.change(SUPPORT, text.replace("You are {{ agent_name }}", "You are {{ agent_nam }}"))
    report = await puller.client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(types.TextDocumentIdentifier(puller.uri(SUPPORT))))
    [found] = report.items
    assert found.range.start.character == len("😀 You are {{ ".encode())
    everything = await puller.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
    reported = {puller.path(item.uri): item for item in everything.items}
    assert {SUPPORT, MESSAGES} <= set(reported)
    again = await puller.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(
        [types.PreviousResultId(item.uri, item.result_id) for item in everything.items]))
    assert {item.kind for item in again.items} == {"unchanged"}


@pytest.mark.asyncio
async def test_a_file_outside_of_a_workspace(editor, tmp_path):
    path = tmp_path / "alone.jinja"
    text = "{{ a|uper }}{{ b. }}"
    path.write_text("")
    other = Editor(editor.client, tmp_path)
    other.open("alone.jinja", text)
    found = await other.findings("alone.jinja", ["name.filter", "syntax.template"])
    assert [item.range.start.line for item in found] == [0, 0]
    other.change("alone.jinja", "{{ a|uper }}")
    [found] = await other.findings("alone.jinja", ["name.filter"])
    assert "upper" in await other.complete("alone.jinja", "{{ a|uper }}", "{{ a|up")
