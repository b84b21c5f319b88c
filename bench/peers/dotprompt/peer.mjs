// dotprompt as a peer: speaks the lines that bench/src/child.rs describes. The template is compiled once.
// Usage: node peer.mjs DIRECTORY-WITH-NODE_MODULES

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { Dotprompt } = require("dotprompt");
const version = JSON.parse(readFileSync(process.argv[2] + "/node_modules/dotprompt/package.json", "utf8")).version;

async function load(path) {
  const work = JSON.parse(readFileSync(path, "utf8"));
  return [await new Dotprompt().compile(work.dotprompt), { input: work.data }];
}

const textOf = ({ messages }) => messages.flatMap(({ content }) => content.map((part) => part.text)).join("");

// JavaScript joins strings lazily: looking at one character makes the text real.
let seen = 0;
async function run(render, data, iterations) {
  const processor = process.cpuUsage();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < iterations; i += 1) {
    const text = textOf(await render(data));
    seen ^= Number(text.length > 0 && text.charCodeAt(text.length >> 1));
  }
  const spent = process.cpuUsage(processor);
  return `time ${process.hrtime.bigint() - wall} ${(spent.user + spent.system) * 1000}`;
}

let render, data;
for await (const line of createInterface({ input: process.stdin })) {
  const [word, ...rest] = line.split(" ");
  let answer = `error unknown request ${word}`;
  if (word === "load") {
    [render, data] = await load(rest.join(" "));
    answer = `ok dotprompt ${version} on Node ${process.version}`;
  } else if (word === "output") {
    answer = `output ${JSON.stringify(textOf(await render(data)))}`;
  } else if (word === "run") {
    answer = await run(render, data, Number(rest[0]));
  }
  process.stdout.write(answer + "\n");
}
