// What the scripts share: packages, workspaces, daemons, browsers, checks.
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { cpSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const { PAGE_PACKAGES, PAGE_SCRATCH, PAGE_HINA, PAGE_PROVIDER, PAGE_SCREENSHOTS, PAGE_FILES, PAGE_MATCH } =
  /** @type {Record<string, string>} */ (process.env);
const require = createRequire(join(PAGE_PACKAGES, "index.js"));
const here = dirname(fileURLToPath(import.meta.url));

export const { chromium } = require("playwright-core");
export const puppeteer = require("puppeteer-core");
export const axeSource = readFileSync(join(PAGE_PACKAGES, "node_modules/axe-core/axe.min.js"), "utf8");
export const naughtyStrings = require("big-list-of-naughty-strings/blns.json");
export const screenshots = PAGE_SCREENSHOTS;

/** Longest that anything is waited for. */
export const PATIENCE = Number(process.env.PAGE_PATIENCE ?? 20_000);

/** Longest that one check may take. */
const LONGEST = 6 * PATIENCE;

const tooLong = (what) => new Promise((_, reject) => setTimeout(() => reject(new Error(what)), LONGEST).unref());

let failures = 0;

/** Runs one check and prints how it went. Later checks run all the same. */
export async function check(name, work) {
  if (PAGE_MATCH && !new RegExp(PAGE_MATCH).test(name)) return;
  try {
    await Promise.race([work(), tooLong(`the check takes longer than ${LONGEST} ms`)]);
    console.log(`ok   ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAIL ${name}\n${error.stack ?? error}`);
  }
}

export function expect(good, what) {
  if (!good) throw new Error(what);
}

export function expectEqual(found, wanted, what = "value") {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${what} is ${left}, not ${right}`);
}

/** Waits until a question has a good answer, by asking again and again. */
export async function until(ask, what) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Ends the script; its exit code tells whether a check failed. */
export function finish() {
  process.exit(failures ? 1 : 0);
}

const scratch = (name) => mkdtempSync(join(PAGE_SCRATCH, `${name}-`));

/** A copy of the rumi tree, with the repository that its prompts look at. */
export function rumiWorkspace() {
  const root = scratch("rumi");
  cpSync(join(here, "../vectors/rumi/root"), root, { recursive: true });
  return root;
}

/** What `hina init` makes. */
export function freshWorkspace() {
  const root = scratch("fresh");
  execFileSync(PAGE_HINA, ["--root", root, "init"], { stdio: "ignore" });
  return root;
}

export function hina(root, ...words) {
  return execFileSync(PAGE_HINA, ["--root", root, ...words], { encoding: "utf8" });
}

/** `hina serve` on a workspace. */
export class Daemon {
  static async start(root, { settings = [], environment = {} } = {}) {
    const daemon = new Daemon();
    Object.assign(daemon, { root, settings, environment, port: 0 });
    await daemon.open();
    return daemon;
  }

  async open() {
    const settings = this.settings.flatMap((setting) => ["--set", setting]);
    const files = PAGE_FILES ? ["--page", PAGE_FILES] : [];
    const words = ["--root", this.root, ...settings, "--json", "serve", ...files, "--listen", `127.0.0.1:${this.port}`];
    this.process = spawn(PAGE_HINA, words, {
      env: { ...process.env, ...this.environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [printed, said] = ["", ""];
    this.process.stderr.on("data", (text) => (said += text));
    for await (const piece of this.process.stdout) {
      printed += piece;
      if (printed.trimEnd().endsWith("}")) break;
    }
    this.process.stdout.resume();
    if (!printed) throw new Error(`the daemon does not start: ${said}`);
    const { listening, token_file } = JSON.parse(printed);
    this.url = listening;
    this.port = new URL(listening).port;
    this.token = readFileSync(token_file, "utf8").trim();
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    await ended;
  }

  /** The answer of a route, as a program that has the token gets it. */
  async fetch(path, options = {}) {
    const headers = { authorization: `Bearer ${this.token}`, ...options.headers };
    return fetch(this.url + path, { ...options, headers });
  }
}

/** The program fake-provider: it answers every request, or hangs where it is told so. */
export class Provider {
  static async start() {
    const provider = new Provider();
    provider.process = spawn(PAGE_PROVIDER, { stdio: ["pipe", "pipe", "ignore"] });
    provider.url = await new Promise((resolve) =>
      provider.process.stdout.once("data", (piece) => resolve(String(piece).trim())),
    );
    return provider;
  }

  get environment() {
    return { OPENAI_BASE_URL: `${this.url}/v1`, OPENAI_API_KEY: "none" };
  }

  /** Lets the next request have these words as a stream that does not end. */
  async hang(words) {
    const piece = (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
    const queued = new Promise((resolve) => this.process.stdout.once("data", resolve));
    this.process.stdin.write(`${JSON.stringify(words.map(piece))}\n`);
    await queued;
  }

  stop() {
    this.process.kill();
  }
}

/** A program that serves a tool: it answers with what it was asked, and counts the calls. */
export class ToolServer {
  static async start() {
    const tool = new ToolServer();
    tool.calls = [];
    tool.server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", () => {
        tool.calls.push(JSON.parse(body || "{}"));
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ sky: `clear over ${tool.calls.at(-1).place}` }));
      });
    });
    await new Promise((resolve) => tool.server.listen(0, "127.0.0.1", resolve));
    tool.url = `http://127.0.0.1:${tool.server.address().port}/weather`;
    return tool;
  }

  stop() {
    this.server.close();
  }
}

/** Debian's Chromium. */
export const openChromium = () =>
  chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });

/** What a page must never do: dialogs, requests elsewhere, breaches of the policy, errors of scripts. */
export class Guard {
  constructor(page, origin) {
    this.seen = [];
    page.on("dialog", (dialog) => {
      this.seen.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) {
        this.seen.push(`foreign request: ${request.url()}`);
      }
    });
    page.on("pageerror", (error) => this.seen.push(`script: ${error.stack ?? error}`));
    page.on("console", (message) => {
      // A refused call and a lost connection are part of the tests.
      if (message.type() === "error" && !/Failed to load resource|net::ERR_/.test(message.text())) {
        this.seen.push(`console: ${message.text()}`);
      }
    });
  }

  expectNothing() {
    const seen = this.seen.splice(0);
    expect(seen.length === 0, seen.join("\n"));
  }
}

/** A tab of its own, with the token of the daemon. */
export async function openTab(browser, daemon, { address = "", ...options } = {}) {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const guard = new Guard(page, daemon.url);
  await page.goto(`${daemon.url}/#token=${daemon.token}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (address) await goTo(page, address);
  return { page, guard, context };
}

/** Goes to another view of the page. */
export async function goTo(page, address) {
  await page.evaluate((hash) => (location.hash = hash), address);
}

export const makeDirectory = (path) => mkdirSync(path, { recursive: true });
