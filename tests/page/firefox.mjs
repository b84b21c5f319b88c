// A smoke run in Firefox, over WebDriver BiDi: the page opens, renders, and shows where a piece comes from.
import { Daemon, PATIENCE, check, expect, finish, freshWorkspace, puppeteer } from "./harness.mjs";

const daemon = await Daemon.start(freshWorkspace());
const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: "/usr/bin/firefox-esr",
  headless: true,
  args: ["--width=1280", "--height=900"],
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
const seen = [];
page.on("pageerror", (error) => seen.push(String(error)));
page.on("console", (message) => message.type() === "error" && seen.push(message.text()));

await check("the list of prompts opens with the token of the address", async () => {
  await page.goto(`${daemon.url}/#token=${daemon.token}`);
  await page.locator("aria/New prompt").wait();
  expect(!page.url().includes(daemon.token), "the address has the token");
});

await check("a prompt is found by name, and renders while its form is filled", async () => {
  const search = await page.waitForSelector("aria/Filter by name, tag, type or pack");
  await search.type("general_system");
  await (await page.waitForSelector("a[href='#/prompt/general_system']")).click();
  const field = await page.waitForSelector("::-p-aria(agent_name[role='textbox'])");
  await field.type("Firefox");
  await page.waitForFunction(() =>
    document.querySelector("[aria-label='Rendered text']")?.textContent.includes("Firefox"),
  );
});

await check("the keyboard goes from piece to piece and to its line", async () => {
  await page.keyboard.down("Alt");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Alt");
  await page.waitForFunction(() => location.hash.includes("/files?"));
  await page.waitForFunction(() =>
    [...document.querySelectorAll("*")].some((element) => element.shadowRoot?.querySelector(".cm-line-marked")),
  );
});

await check("no script fails and the policy holds", async () => {
  expect(seen.length === 0, seen.join("\n"));
});

await browser.close();
await daemon.stop();
finish();
