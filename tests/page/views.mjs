// Every view, in light and dark, in each language: no violation that axe-core finds, no sideways scrolling at 320 px, and
// screenshots for looking at.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  Daemon,
  Provider,
  axeSource,
  check,
  expect,
  finish,
  freshWorkspace,
  goTo,
  openChromium,
  openTab,
  rumiWorkspace,
  screenshots,
  until,
} from "./harness.mjs";

const LANGUAGES = ["en", "ja", "zh-Hans"];
const SCHEMES = ["light", "dark"];
const DESKTOP = { width: 1280, height: 900 };
const NARROW = { width: 320, height: 800 };

const root = rumiWorkspace();
const provider = await Provider.start();
const daemon = await Daemon.start(root, { settings: ["llm.model=openai/test"], environment: provider.environment });
const browser = await openChromium();

/** A prompt that shows what the page has for prompts: values of each kind, a loop, a condition that is false. */
function writeHandover() {
  const directory = join(root, "user_data/shared/prompts/handover");
  mkdirSync(directory, { recursive: true });
  const definition = {
    title: "Handover",
    description: "What the next shift has to know",
    tags: ["report", "example"],
    parameters: {
      team: { type: "string", required: true, description: "who hands over" },
      tone: { type: "string", default: "calm and direct", description: "how the report sounds" },
      urgent: { type: "boolean", default: false },
      items: { type: "list", default: [], description: "what happened" },
    },
    template: "template.md",
  };
  writeFileSync(join(directory, "prompt.json"), JSON.stringify(definition, null, 2));
  const template = `# Handover of {{ team }}

Write a report that sounds {{ tone }}.
{% if urgent %}
Start with what cannot wait.
{% endif %}
{% for item in items %}
{{ loop.index }}. {{ item.title }}{% if item.owner %} ({{ item.owner | upper }}){% endif %}
{% endfor %}

Answer in one page.
`;
  writeFileSync(join(directory, "template.md"), template);
}

const VALUES = {
  team: "Night shift",
  items: [
    { title: "Lamp 3 was replaced", owner: "ada" },
    { title: "The tide gauge stands still", owner: "grace" },
    { title: "Two ships greeted", owner: "" },
  ],
};

/** Writes files beneath the user's data. */
function writeFiles(files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, "user_data", dirname(path)), { recursive: true });
    writeFileSync(join(root, "user_data", path), text);
  }
}

const CASES = `tests:
  - name: a quiet night
    vars: {team: Night shift}
    assert: [{snapshot: true}]
  - name: a loud night
    vars: {team: Night shift, tone: loud}
    assert: [{contains: loud}, {not-contains: Night}]
  - {name: later, skip: nobody knows yet}
`;

/** A pack with everything that a review shows, and changed since it was approved. */
async function writeSlyPack(send) {
  const manifest = { pack_id: "sly_pack", version: "1.0.0", name: "Sly Pack", descripton: "a mistake" };
  writeFiles({
    "packs/sly_pack/pack.json": JSON.stringify({ ...manifest, replaces: { prompts: { handover: "sly" } } }),
    "packs/sly_pack/prompts/sly/template.md": "Be kind.\n{{ who }}\n",
    "packs/sly_pack/prompts/sly/notes.md": "nothing\n",
    "packs/sly_pack/prompts/sly/prompt.py":
      'PERMISSIONS = ["http_request", "read_file"]\n\ndef pre_render(variables, context):\n    return variables\n',
  });
  await until(async () => (await daemon.fetch("/api/packs/sly_pack")).ok, "the pack is there");
  await send("POST", "/api/packs/sly_pack/approve", {});
  writeFiles({
    "packs/sly_pack/prompts/sly/template.md": "Be kind.\u{e0052}\u{e0075}\u{e006e}\n{{ who | shouted }}\n",
    "packs/sly_pack/prompts/sly/more.md": `token: ghp_${"a8Zk3Qw9".repeat(4)}Xy71\n`,
  });
  rmSync(join(root, "user_data/packs/sly_pack/prompts/sly/notes.md"));
  const isModified = async () => (await (await daemon.fetch("/api/packs/sly_pack")).json()).state === "modified";
  await until(isModified, "the pack has changed");
}

async function prepare() {
  writeHandover();
  const headers = { "content-type": "application/json" };
  const send = (method, path, body) => daemon.fetch(path, { method, headers, body: JSON.stringify(body) });
  await send("PUT", "/api/environs/team.size", 7);
  const parameters = { type: "object", required: ["place"], properties: { place: { type: "string" } } };
  const tool = { name: "now", module: "weather", description: "Tells the weather", url: "/weather", parameters };
  await send("PUT", "/api/tools/weather", tool);
  await send("POST", "/api/prompts", { prompt_id: "assembled", form: "module" });
  writeFiles({
    "shared/prompts/outlook/template.md": "The sky over {{ place }}: {{ tools.weather.now(place) }}\n",
    "shared/prompts/flawed/prompt.yaml": "titel: Flawed\ntemplate: template.md\n",
    "shared/prompts/flawed/template.md": "one\n{% if x %}\ntwo\n",
    "shared/prompts/bent/prompt.yaml": "parameters: [\n",
    "shared/prompts/bent/template.md": "Now straight\n",
    "shared/prompts/handover/tests/cases.yaml": CASES,
    "shared/prompts/handover/tests/wrong.yaml": "tests:\n  - {name: odd, asert: []}\n",
    "shared/prompts/handover/tests/snapshots/cases/a-quiet-night.txt": "# Handover of Day shift\n",
  });
  await writeSlyPack(send);
  await until(async () => (await daemon.fetch("/api/prompts/outlook")).ok, "the prompts are there");
}

const main = (page) => page.locator("main");

/** Fills the form once for the tab; it stays there for other views. */
async function fillForm(page) {
  await goTo(page, "#/prompt/handover");
  await page.getByRole("tab", { name: "JSON" }).click();
  await main(page).getByRole("textbox").first().fill(JSON.stringify(VALUES));
  await page.getByText("The tide gauge stands still").last().waitFor();
  await page.getByRole("tab").nth(4).click();
}

/** The views: a name, an address, and what is waited for or done first. Roles are the same in every language. */
const VIEWS = [
  ["prompts", "#/prompts", (page) => main(page).getByRole("listitem").nth(6).waitFor()],
  ["prompt", "#/prompt/handover", (page) => page.getByText("The tide gauge").last().waitFor()],
  ["prompt-files", "#/prompt/handover/files", (page) => page.locator(".cm-content").waitFor()],
  ["prompt-definition", "#/prompt/handover/definition", (page) => page.getByText('"prompt_id"').waitFor()],
  ["prompt-tests", "#/prompt/handover/tests", runTests],
  ["save-case", "#/prompt/handover/tests", (page) => press(page, page.locator(".tests button"))],
  ["prompt-missing", "#/prompt/general_system", (page) => page.locator(".notice[role=status]").waitFor()],
  ["conflict", "#/conflict/coding_system", (page) => page.locator(".cm-content").first().waitFor()],
  ["packs", "#/packs", (page) => main(page).getByRole("listitem").first().waitFor()],
  ["pack", "#/packs/advanced_coding_prompts", (page) => page.getByRole("article").waitFor()],
  ["pack-review", "#/packs/sly_pack", (page) => page.locator(".diff").first().waitFor()],
  ["approve", "#/packs/advanced_coding_prompts", (page) => press(page, page.getByRole("article").getByRole("button"))],
  ["store", "#/store/environs/team.size", (page) => page.getByRole("article").waitFor()],
  ["store-tool", "#/store/tools/weather", (page) => page.getByRole("article").waitFor()],
  ["chat", "#/chat/handover", sendChat],
  ["module", "#/module/assembled", (page) => main(page).getByRole("article").nth(1).waitFor()],
  ["context", "#/context", packContext],
  ["history", "#/history", compareTwo],
  ["trash", "#/prompts", (page) => press(page, main(page).getByRole("button").first())],
  ["import", "#/prompts", importFiles],
  ["new-prompt", "#/prompts", (page) => press(page, main(page).getByRole("button").nth(2))],
  ["findings", "#/prompts", (page) => main(page).locator("button[aria-pressed]").last().click()],
  ["export", "#/prompt/handover", (page) => press(page, main(page).getByRole("button").nth(1))],
  ["prompt-effects", "#/prompt/outlook", (page) => main(page).getByText("▷").waitFor()],
  ["prompt-findings", "#/prompt/flawed", (page) => main(page).getByRole("alert").waitFor()],
  ["prompt-broken", "#/prompt/bent", (page) => page.locator(".cm-content").waitFor()],
  ["chat-four", "#/chat/handover", addModels],
  ["find", "#/prompts", (page) => press(page, page.locator("header").getByRole("button"))],
  ["settings", "#/prompts", (page) => press(page, page.locator("header").getByRole("button").nth(1))],
  ["keys", "#/prompts", (page) => press(page, page.locator("header").getByRole("button").nth(2))],
];

/** The views of a workspace that `hina init` made, most of them empty. */
const FRESH_VIEWS = [
  ["fresh-prompts", "#/prompts", (page) => main(page).getByRole("listitem").nth(6).waitFor()],
  ["fresh-prompt", "#/prompt/hello", (page) => main(page).getByRole("textbox").first().waitFor()],
  ["fresh-packs", "#/packs", (page) => page.locator(".empty").waitFor()],
  ["fresh-store", "#/store/tools", (page) => page.locator(".empty").waitFor()],
  ["fresh-context", "#/context", (page) => page.locator(".empty").waitFor()],
  ["fresh-chat", "#/chat/hello", (page) => page.locator(".empty").waitFor()],
  ["fresh-history", "#/history", (page) => main(page).getByRole("heading").waitFor()],
  ["fresh-unknown", "#/prompt/no_such_prompt", (page) => main(page).getByRole("alert").waitFor()],
];

async function runTests(page) {
  await page.locator(".tests .button.primary").click();
  await page.locator(".tests .diff").waitFor();
}

async function importFiles(page) {
  await press(page, main(page).getByRole("button").nth(1));
  const text = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
  await page
    .locator("dialog input[type=file]")
    .first()
    .setInputFiles([
      text("greet.prompt", "---\nmodel: x/y\n---\nHello {{name}}! {{shout name}}\n"),
      text("plain.prompt", "Hello {{name}}!\n"),
      text("broken.prompt", "{{#each x}}"),
      text("notes.txt", "notes"),
    ]);
  await page.getByText("broken.prompt").waitFor();
}

async function addModels(page) {
  const models = main(page).getByRole("combobox");
  while ((await models.count()) < 4) await main(page).getByRole("button").first().click();
}

/** Presses a button that opens a dialog. */
async function press(page, button) {
  await button.first().click();
  await page.getByRole("dialog").waitFor();
}

async function sendChat(page) {
  const answer = page.getByText("Hello from afar!", { exact: true });
  if ((await answer.count()) === 0) await main(page).getByRole("button").last().click();
  await answer.waitFor();
}

async function packContext(page) {
  await main(page).getByRole("textbox").first().fill("user_data/shared/prompts/handover/**");
  await main(page).getByRole("button").click();
  await page.getByRole("table").first().waitFor();
}

async function compareTwo(page) {
  const boxes = page.getByRole("checkbox");
  await boxes.nth(1).waitFor();
  await boxes.first().check();
  await boxes.nth(1).check();
  await page.locator(".cm-content").first().waitFor();
}

/** What axe-core finds, one line each. */
async function violations(page) {
  if (!(await page.evaluate("Boolean(window.axe)"))) await page.evaluate(axeSource);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}`));
}

async function checkView(page, guard, [name, address, ready], language) {
  await check(`${name} in ${language}`, async () => {
    await page.setViewportSize(DESKTOP);
    await goTo(page, address);
    await ready(page);
    const wrong = [];
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(DESKTOP);
      wrong.push(...(await violations(page)).map((line) => `${scheme}: ${line}`));
      const picture = (size) => ({ path: join(screenshots, `${name}-${language}-${scheme}-${size}.png`) });
      if (language === "en" || scheme === "light") await page.screenshot(picture("desktop"));
      await page.setViewportSize(NARROW);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > NARROW.width) wrong.push(`${scheme}: ${width} px wide at ${NARROW.width}`);
      if (language === "en") await page.screenshot(picture("narrow"));
    }
    await page.keyboard.press("Escape");
    expect(wrong.length === 0, wrong.join("\n"));
    guard.expectNothing();
  });
}

/** The picture of the README: a prompt, its output, and the origin of a piece. `docs/page.png` is a copy of it. */
async function takeReadmePicture() {
  await check("the picture of the README", async () => {
    const { page, context } = await openTab(browser, daemon, { viewport: { width: 1120, height: 880 } });
    await fillForm(page);
    const origin = page.getByRole("complementary", { name: "Origin" });
    await until(async () => {
      await page.keyboard.press("Alt+ArrowDown");
      return (await origin.getByRole("table").count()) > 0;
    }, "a piece that shows a variable");
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: join(screenshots, "readme.png") });
    await context.close();
  });
}

await prepare();
await takeReadmePicture();
for (const language of LANGUAGES) {
  const { page, guard, context } = await openTab(browser, daemon, { locale: language, viewport: DESKTOP });
  await fillForm(page);
  expect((await page.getAttribute("html", "lang")) === language, `the page is not in ${language}`);
  for (const view of VIEWS) await checkView(page, guard, view, language);
  await context.close();
}
const fresh = await Daemon.start(freshWorkspace());
for (const language of LANGUAGES) {
  const { page, guard, context } = await openTab(browser, fresh, { locale: language, viewport: DESKTOP });
  for (const view of FRESH_VIEWS) await checkView(page, guard, view, language);
  await context.close();
}
await fresh.stop();
await browser.close();
await daemon.stop();
provider.stop();
finish();
