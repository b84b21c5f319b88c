// The Big List of Naughty Strings as titles, values, answers and file names: text stays text.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Daemon,
  Provider,
  check,
  expect,
  expectEqual,
  finish,
  freshWorkspace,
  goTo,
  naughtyStrings,
  openChromium,
  openTab,
  until,
} from "./harness.mjs";

/** What a reader can compare: hidden characters, their marks and white space are one space. */
const plain = (text) =>
  text
    .replace(/⟦[A-Z0-9+]+⟧/g, " ")
    .replace(/[\p{Cc}\p{Cf}\u115f\u1160\u2028\u2029\u3164]/gu, " ")
    .replace(/\s+/gu, " ")
    .trim();

function expectSame(found, wanted) {
  let at = 0;
  while (at < wanted.length && found[at] === wanted[at]) at++;
  const part = (text) => JSON.stringify(text.slice(Math.max(0, at - 20), at + 60));
  expect(found === wanted, `the texts differ at ${at}: ${part(found)} instead of ${part(wanted)}`);
}

const strings = naughtyStrings.filter((text) => plain(text) !== "");

/** Which of the strings can be names of files here. */
const names = strings.filter((text) => !/[/\\\0]/.test(text) && Buffer.byteLength(text) < 200 && !/^\.+$/.test(text));

function naughtyWorkspace() {
  const root = freshWorkspace();
  const prompts = join(root, "user_data/shared/prompts");
  strings.forEach((title, index) => {
    const directory = join(prompts, `naughty_${index}`);
    mkdirSync(directory);
    const definition = { title, messages: [{ role: "user", content: "hello" }] };
    writeFileSync(join(directory, "prompt.json"), JSON.stringify(definition));
  });
  const directory = join(prompts, "echo_all");
  mkdirSync(directory);
  const parameters = { one: { type: "string", required: false }, many: { type: "list", required: false } };
  const template = "{{ one }}\n{% for item in many or [] %}{{ item }}\n{% endfor %}";
  writeFileSync(join(directory, "prompt.json"), JSON.stringify({ parameters, template: "template.md" }));
  writeFileSync(join(directory, "template.md"), template);
  for (const name of names) writeFileSync(join(directory, name), "text");
  return root;
}

const root = naughtyWorkspace();
const provider = await Provider.start();
const daemon = await Daemon.start(root, { settings: ["llm.model=openai/test"], environment: provider.environment });
const browser = await openChromium();
const { page, guard } = await openTab(browser, daemon);

await check("titles stay text in the list", async () => {
  const search = page.getByRole("searchbox");
  await search.fill("naughty_");
  await page
    .getByRole("status")
    .filter({ hasText: `${strings.length} of` })
    .waitFor();
  const seen = new Map();
  // Only the rows in view are elements, so the list is scrolled through.
  for (let top = 0; seen.size < strings.length; top += 600) {
    await page.evaluate((y) => scrollTo(0, y), top);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    // The inner text of a row that is not laid out yet would run name and title together.
    const rows = await page
      .getByRole("listitem")
      .evaluateAll((all) =>
        all.map((row) => ["bdi", "[dir=auto]"].map((part) => row.querySelector(part)?.textContent)),
      );
    for (const [name, text] of rows) if (/^naughty_\d+$/.test(name ?? "")) seen.set(name, text);
    expect(top < strings.length * 100, `only ${seen.size} rows of ${strings.length} were seen`);
  }
  strings.forEach((title, index) => {
    expectEqual(plain(seen.get(`naughty_${index}`) ?? ""), plain(title), `title ${index}`);
  });
  guard.expectNothing();
});

await check("values stay text in the form and the output", async () => {
  await goTo(page, "#/prompt/echo_all");
  await page.getByRole("tab", { name: "JSON" }).click();
  await page.getByLabel("All variables as JSON").fill(JSON.stringify({ many: strings, one: strings[0] }));
  const output = page.getByRole("region", { name: "Rendered text" });
  const wanted = plain(`${strings[0]}\n${strings.join("\n")}`);
  await output
    .getByText(strings[strings.length - 1])
    .first()
    .waitFor();
  // What lies out of view is not laid out, but it is text of the page.
  expectSame(plain(await output.textContent()), wanted);
  guard.expectNothing();
});

await check("a value typed into its field stays as it is", async () => {
  await page.getByRole("tab", { name: "Form", exact: true }).click();
  const field = page.getByRole("textbox", { name: "one" });
  for (const text of strings.filter((_, index) => index % 40 === 0)) {
    await field.fill(text);
    expectEqual(plain(await field.inputValue()), plain(text), "the field");
  }
  guard.expectNothing();
});

await check("an answer of a model stays text", async () => {
  await provider.hang(strings.map((text) => `${text}\n`));
  await goTo(page, "#/chat/echo_all");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  const answer = page.getByRole("region", { name: "Default model" });
  const last = plain(strings.join("\n"));
  await until(async () => plain(await answer.innerText()).includes(last), "the answer has all strings");
  await page.getByRole("button", { name: "Stop" }).click();
  guard.expectNothing();
});

await check("names of files stay text", async () => {
  await goTo(page, "#/prompt/echo_all/files");
  const file = page.getByRole("combobox", { name: "File", exact: true });
  await until(async () => (await file.getByRole("option").count()) > 2, "the files are listed");
  const shown = (await file.getByRole("option").allTextContents()).map((text) => plain(text.split("/").pop()));
  const { files } = await (await daemon.fetch("/api/files?under=user_data/shared/prompts/echo_all")).json();
  const held = files.map((one) => plain(one.path.split("/").pop()));
  expect(held.length > names.length / 2, `the daemon holds only ${held.length} of ${names.length} files`);
  expectSame([...shown].sort().join("\n"), [...held].sort().join("\n"));
  guard.expectNothing();
});

await browser.close();
await daemon.stop();
provider.stop();
finish();
