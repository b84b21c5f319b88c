// What a person does in VS Code: findings, completion, definitions, renaming, the preview. The extension is the packed one;
// VS Code runs in Chromium, and everything is done with keys and clicks.
//
// Environment: CODE_PACKAGES (node_modules), CODE_URL, CODE_WORKSPACE, CODE_PICTURES (a directory).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { CODE_PACKAGES, CODE_URL, CODE_WORKSPACE, CODE_PICTURES } = process.env;
const { chromium } = createRequire(join(CODE_PACKAGES, "index.js"))("playwright-core");
const PROMPTS = "user_data/shared/prompts";
const SUPPORT = `${PROMPTS}/support/template.md`;

/** Longest that anything is waited for. */
const PATIENCE = 60_000;

let failures = 0;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
page.setDefaultTimeout(PATIENCE);

async function check(name, work) {
  try {
    await work();
    console.log(`ok   vscode ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAIL vscode ${name}\n${error.stack ?? error}`);
    await page.screenshot({ path: join(CODE_PICTURES, `${name.replace(/\W+/g, "-")}.png`) });
  }
}

/** Waits until a question has a good answer, by asking again and again. */
async function until(ask, what) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const text = (path) => readFileSync(join(CODE_WORKSPACE, path), "utf8");

/** The line and column of a piece of a file, from 1, `inside` characters further. */
function placeOf(path, piece, inside = 0) {
  const before = text(path).slice(0, text(path).indexOf(piece) + inside).split("\n");
  return [before.length, before.at(-1).length + 1];
}

const quickInput = () => page.locator(".quick-input-widget input[type=text], .quick-input-widget .input").first();

/** Types into the field at the top, and takes the first answer. */
async function pick(keys, typed, row) {
  await page.keyboard.press(keys);
  await quickInput().waitFor();
  await page.keyboard.insertText(typed);
  await page.locator(".quick-input-widget .monaco-list-row", { hasText: row }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

async function open(path) {
  await pick("Control+P", path, path.split("/").at(-2));
  await waitForFile(path);
}

/** Waits until a file is the one that is edited: the directories above the text tell which. */
async function waitForFile(path) {
  const group = page.locator(".editor-group-container.active");
  const [directory, name] = path.split("/").slice(-2);
  await until(async () => {
    const shown = await group.locator(".breadcrumbs-control").first().innerText();
    return shown.split(/\s+/).join("/").includes(`${directory}/${name}`);
  }, `${path} is open`);
  await group.locator(".monaco-editor .view-lines").waitFor();
}

async function goTo([line, column]) {
  await page.keyboard.press("Control+G");
  await quickInput().waitFor();
  await page.keyboard.insertText(`${line}:${column}`);
  await page.keyboard.press("Enter");
  // Columns count wide characters differently there.
  await page.locator("#status\\.editor\\.selection", { hasText: `Ln ${line},` }).waitFor();
}

const squiggles = (kind) => page.locator(`.editor-group-container.active .squiggly-${kind}`);

await page.goto(`${CODE_URL}?folder=${encodeURIComponent(CODE_WORKSPACE)}`);
await page.locator(".monaco-workbench .explorer-folders-view .monaco-list-row").first().waitFor();

await check("shows a squiggle while typing, and none when it is right again", async () => {
  await open(SUPPORT);
  const [line, column] = placeOf(SUPPORT, "ticket.title", "ticket.title".length);
  await goTo([line, column]);
  await page.keyboard.type("s");
  await squiggles("warning").waitFor();
  await page.keyboard.press("Backspace");
  await squiggles("warning").waitFor({ state: "hidden" });
});

await check("completes inside of a broken tag", async () => {
  const [line] = placeOf(SUPPORT, "{{ ticket.title");
  await goTo([line, 1]);
  await page.keyboard.type("{{ ticket.");
  const row = (label) => page.locator(".suggest-widget.visible .monaco-list-row", { hasText: label }).first();
  await row("tags").waitFor();
  await row("title").waitFor();
  await page.keyboard.type("ta");
  await row("tags").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".view-line", { hasText: /\{\{\s*ticket\.tags/ }).first().waitFor();
  await page.keyboard.press("Escape");
  await undoAll();
});

/** Brings the text of the disk back. */
async function undoAll() {
  await pick("Control+Shift+P", ">Revert File", "Revert File");
  await page.locator(".editor-group-container.active .tab.active.dirty").waitFor({ state: "hidden" });
}

await check("says in a hover what a variable is", async () => {
  await goTo(placeOf(SUPPORT, "agent_name }}", 2));
  await page.keyboard.press("Control+K");
  await page.keyboard.press("Control+I");
  const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: "Who answers" });
  await hover.waitFor();
  await hover.getByText('"Rumi"').first().waitFor();
  await page.keyboard.press("Escape");
});

await check("goes to a definition in another file", async () => {
  await goTo(placeOf(SUPPORT, "partials/greeting.md", 3));
  await page.keyboard.press("F12");
  await waitForFile(`${PROMPTS}/partials/greeting.md`);
  await goTo(placeOf(`${PROMPTS}/partials/greeting.md`, "agent_name", 2));
  await page.keyboard.press("F12");
  // Two prompts declare it, so both are shown.
  await page.locator(".peekview-widget .monaco-list-row", { hasText: "sales" }).first().waitFor();
  await page.keyboard.press("Escape");
});

await check("goes to a definition of another language", async () => {
  await open(`${PROMPTS}/partials/closing.gotmpl`);
  await goTo(placeOf(`${PROMPTS}/partials/closing.gotmpl`, "orders", 2));
  await page.keyboard.press("F12");
  await waitForFile(SUPPORT);
});

await check("renames a name in every file that uses it", async () => {
  await open(SUPPORT);
  const closing = `${PROMPTS}/partials/closing.gotmpl`;
  await goTo(placeOf(SUPPORT, "in orders", 5));
  await page.keyboard.press("F2");
  await page.locator(".rename-box input:focus").waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("parcels");
  await page.keyboard.press("Enter");
  await page.locator(".view-line", { hasText: /in\s+parcels/ }).first().waitFor();
  await pick("Control+Shift+P", ">File: Save All", "Save All");
  await until(() => text(SUPPORT).includes("for order in parcels") && text(closing).includes(".parcels"), "the files are saved");
  if (text(SUPPORT).includes("orders")) throw new Error(`an old name is left:\n${text(SUPPORT)}`);
});

/** The page of the preview, which is in a frame of a frame. */
const preview = () => page.frameLocator("iframe.webview").frameLocator("iframe#active-frame");

await check("previews unsaved text, with the source of every piece", async () => {
  await open(`${PROMPTS}/sales/template.md`);
  await pick("Control+Shift+P", ">Hinagata: Preview Prompt", "Preview Prompt");
  await preview().locator("input[name=agent_name]").fill("Rumi");
  const piece = preview().locator("pre span.value", { hasText: "Rumi" }).first();
  await piece.waitFor();
  const title = await piece.getAttribute("title");
  if (!title.includes("agent_name (call)") || !title.includes("partials/greeting.md:1")) throw new Error(title);
  // A click on a piece opens the place that wrote it.
  await preview().locator("pre span.text", { hasText: "Hello from" }).first().click();
  await waitForFile(`${PROMPTS}/partials/greeting.md`);
  // What its line wrote is marked, and unsaved text is rendered.
  await goTo([1, 1]);
  await page.keyboard.insertText("Unsaved! ");
  await preview().locator("pre span.here", { hasText: "Unsaved! Hello from" }).first().waitFor();
});

await browser.close();
process.exit(failures ? 1 : 0);
