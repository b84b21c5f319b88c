// Reports how fast the output of a prompt is shown: 1 MB with 20 000 spans, against one element per span and against
// 10 KB. Nothing is checked: times depend on the machine.
import { Daemon, finish, freshWorkspace, openChromium, openTab } from "./harness.mjs";

/** Runs in the page, with the page's own modules. */
async function measure() {
  const base = document.querySelector("script[type=module]").src;
  const { OutputView } = await import(new URL("output.js", base).href);
  const { SpanMap } = await import(new URL("spanmap.js", base).href);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const shown = async () => (await frame(), await frame());
  const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
  const percentile95 = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length * 0.95)];

  const makeText = (spans) => {
    const lines = Array.from({ length: spans / 2 }, (_, index) => `line ${String(index).padStart(8)} `.padEnd(49, "x"));
    const text = lines
      .map((line) => `${line} ${"value of a variable, printed as it is, and a dot.".padEnd(49)}\n`)
      .join("");
    const rows = lines.flatMap(() => [
      [50, 0, -1, -1, -1, 0],
      [50, 1, -1, -1, 0, 0],
    ]);
    const map = { kinds: ["text", "value"], files: [], places: [], values: [{ path: "v" }], via: [] };
    return { text, spans: new SpanMap({ ...map, texts: [{ message: null, text, spans: rows }] }) };
  };
  const makeHost = () => {
    const host = document.createElement("div");
    host.className = "output-text";
    document.querySelector("main").replaceChildren(host);
    return host;
  };
  const showOurs = ({ text, spans }, host) => {
    const view = new OutputView(host, { prefix: "span", onSpan: (span) => view.mark(span ? [span] : []) });
    view.show([{ label: "", text }], spans, []);
    view.colour((span) => (span.kind === "value" ? 0 : -1));
    return view;
  };
  const showElements = ({ text, spans }, host) => {
    const pre = document.createElement("pre");
    pre.className = "text";
    for (const span of spans.all) {
      const element = document.createElement("span");
      element.className = span.kind === "value" ? "k0" : "";
      element.textContent = text.slice(span.start, span.end);
      pre.append(element);
    }
    host.append(pre);
  };
  const time = async (work) => {
    const times = [];
    for (let turn = 0; turn < 5; turn++) {
      const host = makeHost();
      await shown();
      const start = performance.now();
      work(host);
      host.getBoundingClientRect();
      await shown();
      times.push(performance.now() - start);
    }
    return median(times);
  };
  const nodes = (host) => host.querySelectorAll("*").length;
  const hover = async (made) => {
    const host = makeHost();
    const view = showOurs(made, host);
    await shown();
    const { left, top, width } = host.getBoundingClientRect();
    const times = [];
    for (let turn = 0; turn < 60; turn++) {
      const [clientX, clientY] = [left + 40 + ((turn * 37) % (width - 80)), top + 30 + ((turn * 53) % 400)];
      const start = performance.now();
      view.point(new PointerEvent("pointermove", { clientX, clientY }), false);
      host.getBoundingClientRect();
      times.push(performance.now() - start);
      await frame();
    }
    return median(times);
  };
  const jump = async (made) => {
    const host = makeHost();
    const view = showOurs(made, host);
    await shown();
    const times = [];
    for (let turn = 0; turn < 100; turn++) {
      const span = made.spans.all[(turn * 7919) % made.spans.all.length];
      const start = performance.now();
      view.reveal(span);
      view.mark([span]);
      await frame();
      times.push(performance.now() - start);
    }
    return percentile95(times);
  };

  const [large, small] = [makeText(20_000), makeText(200)];
  const ours = await time((host) => showOurs(large, host));
  const host = makeHost();
  showOurs(large, host);
  const oursNodes = nodes(host);
  const elements = await time((target) => showElements(large, target));
  const elementNodes = large.spans.all.length + 1;
  const [hoverLarge, hoverSmall] = [await hover(large), await hover(small)];
  const [jumpLarge, jumpSmall] = [await jump(large), await jump(small)];
  return [
    ["first display of 1 MB, against one element per span", ours, elements, 0.25, "ms"],
    ["nodes of the output, against one element per span", oursNodes, elementNodes, 0.02, ""],
    ["a hover in 1 MB, against 10 KB", hoverLarge, hoverSmall, 1.5, "ms"],
    ["95th percentile of frames while jumping in 1 MB, against 10 KB", jumpLarge, jumpSmall, 2.5, "ms"],
  ];
}

const daemon = await Daemon.start(freshWorkspace());
const browser = await openChromium();
const { page } = await openTab(browser, daemon);
for (const [name, found, against, most, unit] of await page.evaluate(measure)) {
  const ratio = found / against;
  const verdict = ratio <= most ? "met" : "NOT MET";
  console.log(
    `${name}: ${found.toFixed(2)} ${unit} / ${against.toFixed(2)} ${unit} = ${ratio.toFixed(3)}, at most ${most}: ${verdict}`,
  );
}
await browser.close();
await daemon.stop();
finish();
