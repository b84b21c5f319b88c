// What a person does on the page, by roles and labels, in Debian's Chromium.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  Daemon,
  Provider,
  ToolServer,
  check,
  expect,
  expectEqual,
  finish,
  freshWorkspace,
  goTo,
  openChromium,
  openTab,
  rumiWorkspace,
  until,
} from "./harness.mjs";

const browser = await openChromium();
const provider = await Provider.start();
const root = rumiWorkspace();
const tool = await ToolServer.start();
const settings = ["llm.model=openai/test", "tools.allowed_hosts=127.0.0.1"];
const daemon = await Daemon.start(root, { settings, environment: provider.environment });
const shared = join(root, "user_data/shared/prompts");

/** A prompt of the workspace, written as its author would. */
function writePrompt(name, files) {
  mkdirSync(join(shared, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(shared, name, file), text);
}

/** One journey: a tab of its own, which must not show a dialog, ask elsewhere or break its policy. */
async function journey(name, address, work) {
  await check(name, async () => {
    const { page, guard, context } = await openTab(browser, daemon, { address });
    try {
      await work(page, context);
      guard.expectNothing();
    } catch (error) {
      console.log(`the page shows: ${await page.locator("body").innerText()}\n${guard.seen.join("\n")}`);
      throw error;
    } finally {
      await context.close();
    }
  });
}

const output = (page) => page.getByRole("region", { name: "Rendered text" });
const editor = (page) => page.getByRole("textbox", { name: /user_data/ });

const markedLine = (page) => page.locator(".cm-line-marked");

/** Waits for an answer of the daemon while something is done. */
async function during(page, part, work) {
  const answered = page.waitForResponse(
    (response) => response.url().includes(part) && response.request().method() !== "GET",
  );
  await work();
  return answered;
}

writePrompt("handover", {
  "prompt.yaml":
    "title: Handover\ndescription: What the next shift has to know\nparameters:\n" +
    "  team: {type: string, required: false, description: who hands over}\n" +
    "  items: {type: list, default: []}\ntemplate: template.md\n",
  "template.md":
    "# Handover\n\nWrite the report of {{ team }}.\n{% for item in items %}\n- {{ item.title }}\n{%- endfor %}\n",
});
await until(async () => (await daemon.fetch("/api/prompts/handover")).ok, "the prompt is there");

await journey("the token leaves the address at once and is kept for the tab alone", "", async (page) => {
  expect(!page.url().includes(daemon.token), "the address has the token");
  expectEqual(await page.evaluate(() => [document.cookie, JSON.stringify(localStorage)].join("").length), 2, "storage");
  await page.reload();
  await page.getByRole("button", { name: "New prompt" }).first().waitFor();
});

await journey(
  "without a key, the page opens, asks for a token where it needs one, and locks the rest",
  "",
  async (page) => {
    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${daemon.url}/#/packs`);
    await page.reload();
    const install = page.getByRole("button", { name: /Install a pack.*admin/ });
    expectEqual(await install.getAttribute("aria-disabled"), "true", "the locked button");
    await page.getByRole("link", { name: /Advanced Coding Prompts/ }).click();
    const pack = page.getByRole("article", { name: "Advanced Coding Prompts" });
    await pack.getByText("This needs the scope “admin”.").waitFor();
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Use another token" }).click();
    await page.getByLabel(/A token is needed/).fill(daemon.token);
    await page.getByRole("button", { name: "Use token" }).click();
    await page.getByRole("button", { name: "Install a pack…", exact: true }).waitFor();
    await pack.getByRole("region", { name: "All files" }).waitFor();
  },
);

await journey("a conflict is settled and undone", "#/conflict/coding_system", async (page) => {
  const builtin = "ecosystem/default/prompts/coding_system";
  const card = (source) => page.getByRole("listitem").filter({ hasText: source });
  await page.getByRole("button", { name: "Remove choice" }).click();
  await page.getByText("Several sources define this name, and none is chosen.").waitFor();
  await page.getByRole("link", { name: "Prompts" }).click();
  await page.getByRole("link", { name: /coding_system.*Conflict/ }).click();
  await page.getByRole("button", { name: `Choose ${builtin}` }).click();
  await card(builtin).getByText("Chosen", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Difference" }).getByText("template.md", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Undo", exact: true }).last().click();
  await page.getByText("Several sources define this name, and none is chosen.").waitFor();
  const candidates = await (await daemon.fetch("/api/prompts/coding_system/candidates")).json();
  expect(!candidates.some((one) => one.chosen), "a candidate is still chosen");
});

await journey("a pack with a replacement is approved, and revoked when a file changes", "#/packs", async (page) => {
  await page.getByRole("link", { name: /Advanced Coding Prompts/ }).click();
  const pack = page.getByRole("article", { name: "Advanced Coding Prompts" });
  await pack.getByRole("region", { name: "All files" }).getByText("variables/code_metrics.py").click();
  await pack.getByText("def provide").waitFor();
  await pack.getByRole("button", { name: /^Approve \(Python files: 2; read_file, subprocess/ }).click();
  const dialog = page.getByRole("dialog", { name: "Approve" });
  const question = dialog.getByRole("group", { name: /advanced_coding_system instead of coding_system/ });
  expect(await question.getByRole("radio", { name: "No" }).isChecked(), "the answer is not no by itself");
  await question.getByRole("radio", { name: "Yes" }).check();
  await dialog.getByRole("button", { name: "Approve" }).click();
  await pack.getByText("approved", { exact: true }).first().waitFor();
  const source = "user_data/packs/advanced_coding_prompts/prompts/advanced_coding_system";
  const refersTo = async () => (await (await daemon.fetch("/api/prompts/coding_system/definition")).json()).source;
  await until(async () => (await refersTo()) === source, "the replacement counts");
  appendFileSync(
    join(root, "user_data/packs/advanced_coding_prompts/prompts/code_review/template.md"),
    "\nAnd be kind.\n",
  );
  await pack.getByText("changed since approval").first().waitFor();
  const changes = pack.getByRole("region", { name: "Changes since approval" });
  await changes.getByText("And be kind.").waitFor();
  await until(async () => (await refersTo()) !== source, "the changed pack is no longer used");
  await pack.getByRole("button", { name: /^Approve \(Python files: 2/ }).click();
  // What was accepted before is said, and not asked again.
  await dialog.getByText("advanced_coding_system takes the place of coding_system, as you accepted before.").waitFor();
  expectEqual(await dialog.getByRole("group").count(), 0, "questions");
  await dialog.getByRole("button", { name: "Approve" }).click();
  await pack.getByText("approved", { exact: true }).first().waitFor();
  await changes.waitFor({ state: "detached" });
  await until(async () => (await refersTo()) === source, "the replacement counts again");
});

/** A pack with everything that a review shows. */
function writeSlyPack() {
  const directory = join(root, "user_data/packs/sly_pack");
  const files = {
    "pack.json": JSON.stringify({
      pack_id: "sly_pack",
      version: "1.0.0",
      name: "Sly Pack",
      descripton: "with a mistake",
      replaces: { prompts: { handover: "sly" } },
    }),
    "prompts/sly/template.md": "Be kind.\u{e0052}\u{e0075}\u{e006e}\n{{ who | shouted }}\n",
    "prompts/sly/prompt.py":
      'PERMISSIONS = ["http_request"]\n\ndef pre_render(variables, context):\n    return variables\n',
    "prompts/sly/notes.md": `token: ghp_${"a8Zk3Qw9".repeat(4)}Xy71\n`,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

const slyPack = writeSlyPack();
await until(async () => (await daemon.fetch("/api/packs/sly_pack")).ok, "the pack is there");

await journey(
  "what a pack hides is shown before it is approved, and exactly that is approved",
  "#/packs",
  async (page) => {
    await page.getByRole("link", { name: /Sly Pack/ }).click();
    const pack = page.getByRole("article", { name: "Sly Pack" });
    const python = pack.getByRole("region", { name: "What its Python may do" }).getByRole("listitem");
    await python
      .filter({ hasText: "prompts/sly/prompt.py" })
      .getByText(/may send requests to the hosts/)
      .waitFor();
    const missed = pack.getByRole("region", { name: "Hidden characters and secrets" }).getByRole("listitem");
    await missed
      .filter({ hasText: "prompts/sly/template.md:1:9" })
      .getByText(/spell `Run`/)
      .waitFor();
    await missed.filter({ hasText: "prompts/sly/notes.md:1" }).getByText("secret", { exact: true }).waitFor();
    await pack
      .getByRole("region", { name: "Findings of the check" })
      .getByText(/shouted/)
      .first()
      .waitFor();
    await pack
      .getByText(/descripton/)
      .first()
      .waitFor();
    const files = pack.getByRole("region", { name: "All files" });
    await files.getByText("prompts/sly/template.md", { exact: true }).click();
    await files.getByText(/Be kind\.⟦U\+E0052⟧/).waitFor();

    const approve = pack.getByRole("button", { name: "Approve (Python files: 1; http_request" });
    const dialog = page.getByRole("dialog", { name: "Approve" });
    await approve.click();
    await dialog.getByText(/^Hidden characters or secrets: \d/).waitFor();
    await dialog.getByRole("group", { name: /sly instead of handover/ }).waitFor();
    // The pack changes behind the open dialog: other content than was shown is not approved.
    writeFileSync(join(slyPack, "prompts/sly/notes.md"), "nothing\n");
    const refused = await during(page, "/sly_pack/approve", () =>
      dialog.getByRole("button", { name: "Approve" }).click(),
    );
    expectEqual(refused.status(), 403, "the status");
    await pack.getByRole("alert").getByText("Approval is needed").waitFor();
    await missed.filter({ hasText: "prompts/sly/notes.md" }).first().waitFor({ state: "detached" });
    await approve.click();
    const accepted = await during(page, "/sly_pack/approve", () =>
      dialog.getByRole("button", { name: "Approve" }).click(),
    );
    expectEqual(accepted.status(), 200, "the status");
    await pack.getByText("approved", { exact: true }).first().waitFor();
    // Nobody said yes, so nothing is replaced.
    await pack.getByRole("region", { name: "Proposals to replace" }).getByText("declined").waitFor();
    expect(
      !(await (await daemon.fetch("/api/prompts/handover/definition")).json()).source.includes("sly"),
      "it was replaced",
    );

    rmSync(join(slyPack, "prompts/sly/notes.md"));
    writeFileSync(join(slyPack, "prompts/sly/more.md"), "more\n");
    const changes = pack.getByRole("region", { name: "Changes since approval" });
    await changes.getByText("removed", { exact: true }).waitFor();
    await changes.getByText("added", { exact: true }).waitFor();
    expectEqual(await changes.getByRole("deletion").innerText(), "-nothing", "the removed line");
    expectEqual((await changes.getByRole("insertion").innerText()).trim(), "+more", "the added line");
    await pack.getByText("changed since approval").first().waitFor();
  },
);

writePrompt("tested", { "template.md": "Hello {{ name }}!\nBe kind.\n" });

await journey("a call becomes a test case, which is run and compared", "#/prompt/tested", async (page) => {
  await page.getByRole("textbox", { name: "name" }).fill("Ada");
  await output(page).getByText("Hello Ada!").waitFor();
  await page.getByRole("tab", { name: "Tests" }).click();
  const tests = page.getByRole("region", { name: "Tests", exact: true });
  await tests.getByText("No test cases").waitFor();
  const dialog = page.getByRole("dialog", { name: /Save this call as a case/ });
  const save = async (name, check, text) => {
    await tests.getByRole("button", { name: /Save this call as a case/ }).click();
    await dialog.getByLabel("Name of the case").fill(name);
    await dialog.getByLabel("What has to hold").selectOption(check);
    if (text) await dialog.getByLabel("Expected text").fill(text);
    await dialog.getByRole("button", { name: "Save" }).click();
    await tests
      .getByRole("status")
      .getByText(/1 passed|1 failed/)
      .waitFor();
  };
  const row = (name) => tests.getByRole("listitem").filter({ hasText: name });
  await save("greets Ada", "snapshot");
  await row("greets Ada").getByText("passed", { exact: true }).waitFor();
  const kept = readFileSync(join(shared, "tested/tests/snapshots/cases/greets-ada.txt"), "utf8");
  expectEqual(kept, "Hello Ada!\nBe kind.", "the snapshot");
  await save("greets Bo", "contains", "Hello Bo");
  await row("greets Bo").getByText("failed", { exact: true }).waitFor();
  await row("greets Bo")
    .getByText(/contains/)
    .first()
    .waitFor();
  // The name is taken: nothing is written, and the dialog says why.
  await tests.getByRole("button", { name: /Save this call as a case/ }).click();
  await dialog.getByLabel("Name of the case").fill("greets Bo");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog
    .getByRole("alert")
    .getByText(/greets Bo/)
    .waitFor();
  await page.keyboard.press("Escape");

  writeFileSync(join(shared, "tested/template.md"), "Hello {{ name }}!\nBe brief.\n");
  await output(page).getByText("Be brief.").waitFor();
  await tests.getByRole("button", { name: "Run all" }).click();
  await tests.getByRole("status").getByText("0 passed, 2 failed, 0 skipped").waitFor();
  expectEqual(await row("greets Ada").getByRole("deletion").innerText(), "-Be kind.", "what was expected");
  expectEqual(await row("greets Ada").getByRole("insertion").innerText(), "+Be brief.", "what came out");
  await row("greets Ada").getByRole("button", { name: "Accept the new text" }).click();
  await row("greets Ada").getByText("passed", { exact: true }).waitFor();
  await row("greets Bo").getByRole("button", { name: "greets Bo", exact: true }).click();
  await markedLine(page).getByText("greets Bo").waitFor();
});

await journey("a missing value is named, filled, and its prompt rendered", "#/prompt/general_system", async (page) => {
  await page.getByText("Fill in to see the output:").waitFor();
  const field = page.getByRole("textbox", { name: "agent_name" });
  expectEqual(await field.getAttribute("aria-invalid"), "true", "the field");
  await page.getByRole("button", { name: "agent_name", exact: true }).click();
  expect(await field.evaluate((element) => element === document.activeElement), "the field has no focus");
  await page.keyboard.type("Rumi of the tower");
  await output(page).getByText("Rumi of the tower").first().waitFor();
  expectEqual(await page.getByRole("alert").count(), 0, "alerts");
});

/** Where a word of the output stands on the screen. */
const wordBox = (page, word) =>
  output(page).evaluate((region, wanted) => {
    const walker = document.createTreeWalker(region, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const at = node.data.indexOf(wanted);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      const { x, y, width, height } = range.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    }
    return null;
  }, word);

await journey("a piece of the output leads to its line, by mouse", "#/prompt/handover", async (page) => {
  await page.getByRole("textbox", { name: "team" }).fill("Night shift");
  await output(page).getByText("Night shift").waitFor();
  const { x, y } = await wordBox(page, "Night shift");
  await page.mouse.move(x, y);
  const origin = page.getByRole("complementary", { name: "Origin" });
  await origin.getByRole("table").getByText("Night shift").waitFor();
  await page.mouse.click(x, y);
  await origin.getByRole("button", { name: /handover\/template\.md:3/ }).click();
  await markedLine(page).getByText("Write the report of").waitFor();
});

await journey("a piece of the output leads to its line, by key", "#/prompt/handover", async (page) => {
  await page.getByRole("textbox", { name: "team" }).fill("Day shift");
  await output(page).getByText("Day shift").waitFor();
  const origin = page.getByRole("complementary", { name: "Origin" });
  await until(async () => {
    await page.keyboard.press("Alt+ArrowDown");
    return (await origin.innerText()).includes("Day shift");
  }, "a piece that shows the variable");
  expect(/span=\d+/.test(page.url()), "the address does not name the span");
  await page.keyboard.press("Alt+Enter");
  await markedLine(page).getByText("Write the report of").waitFor();
});

await journey(
  "what is left out stands between the lines, and leads to its place",
  "#/prompt/planning_task_decomposition",
  async (page) => {
    await page.getByRole("textbox", { name: "task" }).fill("Paint the tower");
    await page.getByRole("button", { name: /Left out: Condition is false: project_memory/ }).click();
    await markedLine(page).getByText("project_memory").waitFor();
  },
);

writePrompt("merge_me", { "template.md": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n" });

await journey("an edit that was overtaken is compared and merged", "#/prompts", async (page) => {
  await goTo(page, "#/prompt/merge_me/files");
  await editor(page).waitFor();
  // No event tells of the change, so the daemon refuses the save.
  await page.route("**/api/events", (route) => route.abort());
  await page.reload();
  await editor(page).getByText("one").click();
  await page.keyboard.press("Home");
  await page.keyboard.type("my ");
  await output(page).getByText("my one").waitFor();
  writeFileSync(join(shared, "merge_me/template.md"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\ntheir nine\n");
  const answer = await during(page, "/api/files/", () => page.keyboard.press("Control+s"));
  expectEqual(answer.status(), 412, "the status");
  await page.getByRole("alert").getByText("This file was changed elsewhere.").waitFor();
  await page.getByRole("button", { name: "Compare" }).click();
  await page
    .getByRole("textbox", { name: /merge_me\/template.md: before/ })
    .getByText("their nine")
    .waitFor();
  await page.getByRole("button", { name: "Revert this chunk" }).last().click();
  await page.getByRole("button", { name: "Use the merged text" }).click();
  const saved = await during(page, "/api/files/", () => page.getByRole("button", { name: "Save" }).click());
  expectEqual(saved.status(), 200, "the status");
  const text = readFileSync(join(shared, "merge_me/template.md"), "utf8");
  expectEqual(text, "my one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\ntheir nine\n", "the file");
});

const crlf = "\ufeffone\r\ntwo\nthree\r\nfour";
writePrompt("same_bytes", { "template.md": crlf });

await journey("a saved file keeps its mark and line ends", "#/prompt/same_bytes/files", async (page) => {
  await editor(page).getByText("two").click();
  await page.keyboard.press("End");
  await page.keyboard.type("!");
  await during(page, "/api/files/", () => page.getByRole("button", { name: "Save" }).click());
  const text = readFileSync(join(shared, "same_bytes/template.md"), "utf8");
  expectEqual(text.replace("!", ""), crlf, "the file");
});

await journey("a prompt is made, renamed, deleted, and brought back", "#/prompts", async (page) => {
  await page.getByRole("button", { name: "New prompt" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New prompt" });
  await dialog.getByLabel("Id").fill("first_try");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "first_try" }).waitFor();
  writePrompt("names_it", { "template.md": '{% include "first_try/template.md" %}\n' });
  await page.getByRole("button", { name: "Rename" }).click();
  const rename = page.getByRole("dialog", { name: "Rename" });
  await rename.getByLabel("New id").fill("second_try");
  await rename.getByRole("button", { name: "Check" }).click();
  await rename.getByText("user_data/shared/prompts/second_try").waitFor();
  await rename.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "second_try" }).waitFor();
  expect(existsSync(join(shared, "second_try")) && !existsSync(join(shared, "first_try")), "it was not moved");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await page.getByText("Restored:").waitFor();
  expect(existsSync(join(shared, "second_try")), "it was not restored");
  await goTo(page, "#/prompt/second_try");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { name: "Prompts", exact: true }).waitFor();
  await page.getByRole("button", { name: "Trash" }).click();
  await page.getByRole("button", { name: "Restore second_try" }).click();
  await page.getByText("The trash is empty").waitFor();
  expect(existsSync(join(shared, "second_try")), "it was not restored from the trash");
});

await journey(
  "a built-in prompt becomes one's own copy, and is chosen",
  "#/prompt/history_compression",
  async (page) => {
    await page.getByRole("button", { name: "Make my own copy" }).click();
    const dialog = page.getByRole("dialog", { name: "Make my own copy" });
    await dialog.getByRole("button", { name: "Make my own copy" }).click();
    await page.getByText("user_data/shared/prompts/history_compression", { exact: true }).first().waitFor();
    await editor(page).waitFor();
  },
);

await journey(
  "a prompt is sent to models beside each other, and the chat goes on",
  "#/prompt/handover",
  async (page) => {
    await page.getByRole("textbox", { name: "team" }).fill("Chat shift");
    await page.getByRole("link", { name: "Chat" }).click();
    await page.getByRole("button", { name: "Add a model" }).click();
    await page.getByLabel("Model 2").fill("openai/other");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    for (const name of ["Default model", "openai/other"]) {
      const answer = page.getByRole("region", { name });
      await answer.getByText("Hello from afar!", { exact: true }).waitFor();
      await answer.getByText(/First piece after \d+ ms/).waitFor();
    }
    const second = page.getByRole("region", { name: "openai/other" });
    await second.getByLabel("Your reply").fill("And then?");
    await second.getByRole("button", { name: "Continue" }).click();
    await second.getByText("And then?", { exact: true }).waitFor();
    await until(async () => (await second.getByText("Hello from afar!", { exact: true }).count()) === 2, "two answers");
    await second.getByText("Answer as received").click();
    await second.getByText("[DONE]").waitFor();
  },
);

await journey("a running answer is stopped, and what came stays", "#/chat/handover", async (page) => {
  await provider.hang(["Once upon", " a time"]);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("region", { name: "Default model" });
  await answer.getByText("Once upon a time").waitFor();
  expectEqual(await answer.getAttribute("aria-busy"), "true", "busy");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await answer.getByText("Once upon a time").waitFor();
  expectEqual(await page.getByRole("alert").count(), 0, "alerts");
});

await journey("the network is cut and comes back, and nothing is lost", "#/prompt/handover", async (page, context) => {
  await page.getByRole("textbox", { name: "team" }).fill("Before");
  await output(page).getByText("Before").waitFor();
  await context.setOffline(true);
  await page.getByRole("textbox", { name: "team" }).fill("Meanwhile");
  await page.getByRole("alert").getByText("The daemon cannot be reached. Your work is kept").waitFor();
  await output(page).getByText("Before").waitFor();
  await context.setOffline(false);
  await page.getByText("The daemon cannot be reached. Your work is kept").waitFor({ state: "detached" });
  await output(page).getByText("Meanwhile").waitFor();
});

writePrompt("survivor", { "template.md": "before\n" });

await journey(
  "the daemon restarts during an edit, and the text is saved afterwards",
  "#/prompt/survivor/files",
  async (page) => {
    await editor(page).getByText("before").click();
    await page.keyboard.press("End");
    await page.keyboard.type(" and after");
    await output(page).getByText("before and after").waitFor();
    const old = daemon.token;
    await daemon.stop();
    await page.getByRole("alert").getByText("The daemon cannot be reached. Your work is kept").waitFor();
    await daemon.open();
    if (daemon.token !== old) {
      await page.getByLabel(/The token was refused/).fill(daemon.token);
      await page.getByRole("button", { name: "Use token" }).click();
    }
    await page.getByText("The daemon cannot be reached. Your work is kept").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved:").waitFor();
    expectEqual(readFileSync(join(shared, "survivor/template.md"), "utf8"), "before and after\n", "the file");
  },
);

await journey("a reload keeps values and unsaved text, but no secret", "#/prompts", async (page) => {
  writePrompt("secretive", {
    "prompt.yaml":
      "parameters:\n  open: {type: string, required: false}\n  hidden: {type: string, required: false, secret: true}\ntemplate: template.md\n",
    "template.md": "open {{ open }} hidden {{ hidden }}\n",
  });
  await until(async () => (await daemon.fetch("/api/prompts/secretive")).ok, "the prompt is there");
  await goTo(page, "#/prompt/secretive");
  await page.getByRole("textbox", { name: "open" }).fill("seen");
  await page.getByRole("textbox", { name: "hidden" }).fill("swordfish");
  await output(page).getByText("•••").waitFor();
  await page.getByRole("button", { name: "Show secrets" }).click();
  await output(page).getByText("swordfish").waitFor();
  await page.getByRole("button", { name: "Hide secrets" }).click();
  await output(page).getByText("•••").waitFor();
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
  expect(!kept.includes("swordfish") && !page.url().includes("seen"), "a secret was kept");
  await page.reload();
  await output(page).getByText("open seen").waitFor();
  expectEqual(await page.getByRole("textbox", { name: "hidden" }).inputValue(), "", "the secret");
});

await journey(
  "the keyboard alone finds a prompt, goes from pane to pane, and leaves the editor",
  "#/prompts",
  async (page) => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /Filter/ }).fill("same_bytes");
    await page.getByRole("option", { name: "same_bytes" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "same_bytes" }).waitFor();
    await goTo(page, "#/prompt/same_bytes/files");
    await editor(page).focus();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => !document.activeElement?.shadowRoot), "Tab stays in the editor");
    await page.keyboard.press("F6");
    await page.keyboard.press("F6");
    const panes = await page.evaluate(() => document.activeElement?.getAttribute("data-pane") ?? "main");
    expect(panes !== "", "no pane has the focus");
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Packs" }).waitFor();
  },
);

await journey("an input method composes without being disturbed", "#/prompt/handover", async (page, context) => {
  const field = page.getByRole("textbox", { name: "team" });
  await field.fill("");
  await field.focus();
  const session = await context.newCDPSession(page);
  let calls = 0;
  page.on("request", (request) => (calls += request.url().endsWith("/explain") ? 1 : 0));
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
  calls = 0;
  for (const text of ["に", "にほ", "にほん"]) {
    await session.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  }
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
  expectEqual(calls, 0, "renders during the composition");
  expectEqual(await field.inputValue(), "にほん", "what is composed");
  await session.send("Input.insertText", { text: "日本" });
  await output(page).getByText("日本").waitFor();
});

await journey("ten thousand prompts are filtered while typing", "#/packs", async (page) => {
  const all = Array.from({ length: 10_000 }, (_, index) => ({
    prompt_id: `many_${index}`,
    origin: "shared",
    source: "x",
  }));
  await page.route("**/api/prompts?view=full*", (route) => route.fulfill({ json: all }));
  await goTo(page, "#/prompts");
  await page.getByRole("status").filter({ hasText: "10,000 of 10,000" }).waitFor();
  const start = Date.now();
  await page.getByRole("searchbox").fill("many_9999");
  await page.getByRole("status").filter({ hasText: "1 of 10,000" }).waitFor();
  expect(Date.now() - start < 5000, "filtering takes seconds");
  await page.getByRole("searchbox").fill("");
  expect((await page.getByRole("listitem").count()) < 200, "rows out of view are elements");
});

await journey("numbers keep their digits between form and JSON", "#/prompt/short_note", async (page) => {
  const field = page.getByRole("textbox", { name: "count" });
  await page.getByRole("textbox", { name: "text" }).fill("hi");
  await field.fill("12345678901234567890123");
  await page.getByRole("tab", { name: "JSON" }).click();
  const json = page.getByLabel("All variables as JSON");
  expect((await json.inputValue()).includes("12345678901234567890123"), await json.inputValue());
  await json.fill('{"text": "", "count": 9007199254740993}');
  await page.getByRole("tab", { name: "Form" }).click();
  expectEqual(await field.inputValue(), "9007199254740993", "the digits");
  await page.getByRole("button", { name: "Set text to null" }).click();
  await page.getByRole("button", { name: "Unset text" }).click();
  await page.getByRole("tab", { name: "JSON" }).click();
  expect(!(await json.inputValue()).includes("text"), "unset is not unset");
});

await journey("a document of the store is made, changed, and not overwritten", "#/store/environs", async (page) => {
  await page.getByLabel("New document").fill("team.size");
  await page.getByRole("button", { name: "Create" }).click();
  const document = page.getByRole("article", { name: "team.size" });
  await document.getByLabel("Document (JSON)").fill("7");
  await document.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved:").waitFor();
  await document.getByRole("button", { name: "Remove" }).waitFor();
  await document.getByLabel("Document (JSON)").fill("8");
  await daemon.fetch("/api/environs/team.size", {
    method: "PUT",
    body: "9",
    headers: { "content-type": "application/json" },
  });
  await document.getByText("This file was changed elsewhere.").waitFor();
  await document.getByRole("button", { name: "Save" }).click();
  await document.getByText("It was changed in the meantime").waitFor();
  await document.getByRole("button", { name: "Keep mine" }).click();
  await document.getByRole("button", { name: "Save" }).click();
  await until(async () => (await (await daemon.fetch("/api/environs/team.size")).json()) === 8, "mine is stored");
});

await journey(
  "two renders are compared with the cause of each change, and one becomes an example",
  "#/prompt/merge_me",
  async (page) => {
    writePrompt("compared", { "template.md": "Dear {{ name }},\nsee you\n" });
    await until(async () => (await daemon.fetch("/api/prompts/compared")).ok, "the prompt is there");
    await goTo(page, "#/prompt/compared");
    for (const name of ["Ada", "Grace"]) {
      await page.getByRole("textbox", { name: "name", exact: true }).fill(name);
      await output(page).getByText(`Dear ${name}`).waitFor();
    }
    await page.getByRole("link", { name: "History" }).click();
    const rows = page.getByRole("list", { name: "History" }).getByRole("listitem");
    await rows.filter({ hasText: "Dear Ada" }).getByRole("checkbox").check();
    await rows.filter({ hasText: "Dear Grace" }).getByRole("checkbox").check();
    await page.getByRole("row", { name: /added line.*Dear Grace,.*name/ }).waitFor();
    await page.getByRole("row", { name: /removed line.*Dear Ada,.*name/ }).waitFor();
    await rows
      .filter({ hasText: "Dear Ada" })
      .getByRole("button", { name: /Keep as example/ })
      .click();
    await page.getByLabel("Name of the example").fill("ada");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Example written:").waitFor();
    const example = JSON.parse(readFileSync(join(shared, "compared/examples/ada.json"), "utf8"));
    expectEqual(example.variables, { name: "Ada" }, "the values");
  },
);

await journey(
  "a module shows its merged sections with their files, and a provider's request",
  "#/prompts",
  async (page) => {
    await page.getByRole("button", { name: "New prompt" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New prompt" });
    await dialog.getByLabel("Id").fill("assembled");
    await dialog.getByLabel("Module").check();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("link", { name: "Module" }).click();
    const sections = page.getByRole("region", { name: "Merged sections" });
    const guidelines = sections.getByRole("article", { name: "guidelines" });
    await guidelines.getByText("Answer in one paragraph.").waitFor();
    await guidelines.getByText("assembled/module.yaml").waitFor();
    await page.getByLabel("Provider").selectOption("anthropic");
    await page.getByRole("region", { name: "Request to anthropic" }).getByText('"system"').waitFor();
  },
);

await journey("the request to a provider is explained like a text", "#/prompt/handover", async (page) => {
  await page.getByRole("textbox", { name: "team" }).fill("Request shift");
  await page.getByLabel("Show").selectOption("openai");
  await output(page).getByText('"messages"').waitFor();
  const { x, y } = await wordBox(page, "Request shift");
  await page.mouse.move(x, y);
  await page.getByRole("complementary", { name: "Origin" }).getByRole("table").getByText("Request shift").waitFor();
});

await journey(
  "packed files are listed with their tokens, and with why others are left out",
  "#/context",
  async (page) => {
    await page.getByLabel("Patterns").fill("user_data/shared/prompts/handover/**");
    await page.getByRole("button", { name: "Pack" }).click();
    const taken = page.getByRole("region", { name: "Packed files" });
    await taken.getByRole("row", { name: /template\.md .* taken/ }).waitFor();
    await taken.getByRole("row", { name: /handover\/ .* 2 files/ }).waitFor();
  },
);

const upload = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

await journey("prompts of other programs are looked at, then imported", "#/prompts", async (page) => {
  await page.getByRole("button", { name: "Import…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Import prompts" });
  await dialog
    .getByLabel("Files", { exact: true })
    .setInputFiles([
      upload("greet.prompt", "---\nmodel: x/y\n---\nHello {{name}}! {{shout name}}\n"),
      upload("broken.prompt", "{{#each x}}"),
      upload("notes.txt", "notes"),
    ]);
  const report = dialog.getByRole("region", { name: "What the import does" });
  const greet = report.getByRole("listitem").filter({ hasText: "greet.prompt" }).first();
  await greet.getByText(/remarks: \d/).waitFor();
  await greet.getByText("line 4").waitFor();
  await greet.getByText("Files that are written").click();
  await greet.getByText("Hello {{ name").waitFor();
  await report.getByText("broken.prompt").waitFor();
  await report.getByText("Not recognised as prompts: notes.txt").waitFor();
  expect(!existsSync(join(shared, "greet")), "it was written before it was agreed to");
  await dialog.getByLabel("New id").fill("greet_all");
  await report.getByText("greet_all", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("heading", { name: "greet_all" }).waitFor();
  await page.getByText("Imported: greet_all").waitFor();
  expect(existsSync(join(shared, "greet_all/template.md")), "it was not written");
});

await journey("every format of the page is known to the daemon", "#/prompts", async (page) => {
  await page.getByRole("button", { name: "Import…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Import prompts" });
  await dialog.getByLabel("Files", { exact: true }).setInputFiles([upload("a.prompt", "Hello {{name}}!")]);
  const options = dialog.getByLabel("Format").getByRole("option");
  await options.first().waitFor({ state: "attached" });
  const read = await options.evaluateAll((list) => list.map((option) => option.value));
  for (const format of read) {
    const answer = await daemon.fetch("/api/import", {
      method: "POST",
      body: JSON.stringify({ files: { "a.prompt": "Hello" }, format, dry_run: true }),
    });
    expectEqual(answer.status, 200, format);
  }
  const unknown = await (await daemon.fetch("/api/prompts/handover/export?to=odd")).json();
  const known = unknown.hint.match(/[a-z_0-9-]{3,}/g).filter((name) => !["one"].includes(name));
  await page.keyboard.press("Escape");
  await goTo(page, "#/prompt/handover");
  await page.getByRole("button", { name: "Export…" }).click();
  const written = page.getByRole("dialog", { name: "Export for another program" }).getByLabel("Format");
  const names = await written.getByRole("option").evaluateAll((list) => list.map((option) => option.value));
  for (const name of names) expect(known.includes(name), `${name} is not among ${known}`);
});

await journey("a prompt is exported, and what it loses is said", "#/prompt/handover", async (page) => {
  await page.getByRole("button", { name: "Export…" }).click();
  const dialog = page.getByRole("dialog", { name: "Export for another program" });
  await dialog.getByLabel("Format").selectOption("skill");
  await dialog
    .getByText(/Handover/)
    .first()
    .waitFor();
  const saved = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Download" }).first().click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text.includes("Handover"), text);
});

await journey(
  "a tool is tried with a form, and a prompt that calls it waits for its button",
  "#/store/tools",
  async (page) => {
    await page.getByLabel("New document").fill("town.weather");
    await page.getByRole("button", { name: "Create" }).click();
    const document = page.getByRole("article", { name: "town.weather" });
    const definition = {
      type: "restful",
      method: "POST",
      url: tool.url,
      description: "Tells the weather",
      parameters: { type: "object", required: ["place"], properties: { place: { type: "string" } } },
    };
    await document.getByLabel("Document (JSON)").fill("{");
    await document.getByText("Not valid JSON").waitFor();
    await document.getByLabel("Document (JSON)").fill(JSON.stringify(definition));
    await document.getByRole("button", { name: "Save" }).click();
    const trial = document.getByRole("region", { name: "Try it" });
    await trial.getByLabel("place").fill("Oslo");
    await trial.getByRole("button", { name: "Call the tool" }).click();
    await trial.getByText("clear over Oslo").waitFor();
    expectEqual(tool.calls, [{ place: "Oslo" }], "the calls");

    writePrompt("outlook", { "template.md": "The sky: {{ tools.town.weather(place) }}\n" });
    await until(async () => (await daemon.fetch("/api/prompts/outlook")).ok, "the prompt is there");
    await goTo(page, "#/prompt/outlook");
    await page.getByText("This prompt uses tools, so it is rendered only when you ask.").waitFor();
    const place = page.getByRole("textbox", { name: "place", exact: true });
    const refused = await during(page, "/explain", () => place.fill("Bergen"));
    expectEqual(refused.status(), 409, "the status");
    expectEqual(tool.calls.length, 1, "calls before the button");
    await page.getByRole("button", { name: "Render", exact: true }).click();
    await output(page).getByText("clear over Bergen").waitFor();
    expectEqual(tool.calls.length, 2, "calls");
  },
);

await journey("values are proposed as the author declared them", "#/prompts", async (page) => {
  writePrompt("trip", {
    "prompt.yaml": "parameters:\n  city: {type: string, complete: [Oslo, Oulu, Bergen]}\ntemplate: template.md\n",
    "template.md": "Go to {{ city }}\n",
  });
  await until(async () => (await daemon.fetch("/api/prompts/trip")).ok, "the prompt is there");
  await goTo(page, "#/prompt/trip");
  const field = page.getByRole("combobox", { name: "city" });
  await field.fill("Ou");
  const proposed = page.locator("datalist#field-city-values option");
  await until(async () => (await proposed.count()) === 1, "one value is proposed");
  expectEqual(await proposed.first().getAttribute("value"), "Oulu", "the proposal");
  await field.fill("Oulu");
  await output(page).getByText("Go to Oulu").waitFor();
  await page.getByLabel("Add a variable").fill("more");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("textbox", { name: "more", exact: true }).waitFor();
});

await journey("a finding stands beside its prompt and leads to its line", "#/prompts", async (page) => {
  writePrompt("flawed", { "prompt.yaml": "titel: Flawed\ntemplate: template.md\n", "template.md": "one\n" });
  await page.getByRole("link", { name: /flawed.*1 warning/ }).waitFor();
  await page.getByRole("button", { name: /Findings/ }).click();
  await page.getByRole("link", { name: /flawed.*1 warning/ }).click();
  await page.getByText("Findings about this prompt: 1").click();
  const finding = page.getByRole("list", { name: "Findings" }).getByRole("listitem");
  await finding.getByText("Similar: title").waitFor();
  await finding.getByRole("button", { name: /flawed\/prompt\.yaml:1/ }).click();
  await markedLine(page).getByText("titel").waitFor();
});

await journey("a definition that cannot be read is repaired", "#/prompts", async (page) => {
  writePrompt("bent", { "prompt.yaml": "parameters: [\n", "template.md": "Now straight\n" });
  await page.getByRole("link", { name: /bent/ }).click();
  await page.getByText("This prompt cannot be used yet.").waitFor();
  await page
    .getByRole("combobox", { name: "File", exact: true })
    .selectOption("user_data/shared/prompts/bent/prompt.yaml");
  await editor(page).getByText("parameters").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("template: template.md");
  await page.getByRole("button", { name: "Save" }).click();
  await output(page).getByText("Now straight").waitFor();
});

await journey("a file is added to a prompt, included, deleted and brought back", "#/prompts", async (page) => {
  writePrompt("parts", {
    "template.md": 'Before {% include "parts/tone.md" ignore missing %} after\n',
    "notes.md": "notes\n",
  });
  await until(async () => (await daemon.fetch("/api/prompts/parts")).ok, "the prompt is there");
  await goTo(page, "#/prompt/parts/files");
  await page.getByRole("button", { name: "New file…" }).click();
  const dialog = page.getByRole("dialog", { name: "New file…" });
  await dialog.getByLabel("Name of the file").fill("tone.md");
  await dialog.getByRole("button", { name: "Create" }).click();
  const tone = page.getByRole("textbox", { name: /parts\/tone\.md/ });
  await tone.click();
  await page.keyboard.type("calmly");
  await page.keyboard.press("Control+s");
  await output(page).getByText("Before calmly after").waitFor();
  const file = page.getByRole("combobox", { name: "File", exact: true });
  await file.selectOption("user_data/shared/prompts/parts/notes.md");
  await page.getByRole("button", { name: "Delete the file" }).click();
  await until(() => !existsSync(join(shared, "parts/notes.md")), "it is deleted");
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await until(() => existsSync(join(shared, "parts/notes.md")), "it is restored");
});

writePrompt("drafted", { "template.md": "saved\n" });

await journey("unsaved text is what a model gets", "#/prompt/drafted/files", async (page) => {
  await editor(page).getByText("saved").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" or not");
  await output(page).getByText("saved or not").waitFor();
  await page.getByRole("link", { name: "Chat" }).click();
  await page.getByText("Unsaved text is sent:").waitFor();
  const sent = page.waitForRequest((request) => request.url().endsWith("/api/draft"));
  await page.getByRole("button", { name: "Send", exact: true }).click();
  expect((await sent).postData().includes("saved or not"), "the saved text was sent");
  await page.getByRole("region", { name: "Default model" }).getByText("Hello from afar!", { exact: true }).waitFor();
});

await journey("print gives the whole output", "#/prompt/handover", async (page) => {
  await page.getByRole("tab", { name: "JSON" }).click();
  const items = Array.from({ length: 300 }, (_, index) => ({ title: `Item ${index}` }));
  await page.getByLabel("All variables as JSON").fill(JSON.stringify({ items }));
  await output(page).getByText("Item 299").waitFor();
  await page.emulateMedia({ media: "print" });
  const [shown, whole] = await output(page).evaluate((region) => [region.clientHeight, region.scrollHeight]);
  expect(whole > 3000 && shown >= whole - 2, `${shown} of ${whole} px are printed`);
});

// What somebody sees who has just run `hina init`.
const fresh = await Daemon.start(freshWorkspace());
await check("a new workspace says where to start, and its example is tried, changed and kept", async () => {
  const { page, guard, context } = await openTab(browser, fresh);
  const welcome = page.getByRole("region", { name: "Where to start" });
  await welcome.getByRole("link", { name: "Open hello" }).click();
  await page.getByRole("textbox", { name: "name" }).fill("Rumi");
  await output(page).getByText("Rumi").first().waitFor();
  await page.getByRole("tab", { name: /Files/ }).click();
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("Welcome, {{ name }}!");
  await output(page).getByText("Welcome, Rumi!").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Saved:").waitFor();
  await page.getByRole("link", { name: "Prompts" }).click();
  await welcome.getByRole("button", { name: "Hide" }).click();
  await page.reload();
  await page.getByRole("link", { name: /hello/ }).waitFor();
  expectEqual(await welcome.count(), 0, "welcomes");
  for (const [view, text] of [
    ["Packs", "No packs installed"],
    ["Store", "No documents"],
    ["History", "hello"],
  ]) {
    await page.getByRole("navigation").getByRole("link", { name: view }).click();
    await page.getByText(text).first().waitFor();
  }
  await goTo(page, "#/chat/hello");
  await page.getByText("No default model is set.").waitFor();
  guard.expectNothing();
  await context.close();
});
await fresh.stop();

await browser.close();
await daemon.stop();
provider.stop();
tool.stop();
finish();
