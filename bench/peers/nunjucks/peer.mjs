// nunjucks as a peer: speaks the lines that bench/src/child.rs describes.
// Usage: node peer.mjs DIRECTORY-WITH-NODE_MODULES

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const nunjucks = require("nunjucks");
const version = require("nunjucks/package.json").version;

class Loader extends nunjucks.Loader {
  constructor(templates) {
    super();
    this.templates = templates;
  }

  getSource(name) {
    const src = this.templates[name];
    return src === undefined ? null : { src, path: name, noCache: false };
  }
}

// Jinja drops one line end at the end of a template, nunjucks keeps it.
const withoutLastLineEnd = ([name, source]) => [name, source.replace(/\n$/, "")];

function load(path) {
  const work = JSON.parse(readFileSync(path, "utf8"));
  const templates = Object.fromEntries(Object.entries(work.templates).map(withoutLastLineEnd));
  const environment = new nunjucks.Environment(new Loader(templates), { autoescape: work.options.autoescape });
  return [environment.getTemplate(work.entry, true), work.data];
}

function run(template, data, iterations) {
  const processor = process.cpuUsage();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < iterations; i += 1) flatten(template.render(data));
  const spent = process.cpuUsage(processor);
  return `time ${process.hrtime.bigint() - wall} ${(spent.user + spent.system) * 1000}`;
}

// JavaScript joins strings lazily: looking at one character makes the text real.
let seen = 0;
function flatten(text) {
  seen ^= Number(text.length > 0 && text.charCodeAt(text.length >> 1));
}

let template, data;
for await (const line of createInterface({ input: process.stdin })) {
  const [word, ...rest] = line.split(" ");
  let answer = `error unknown request ${word}`;
  if (word === "load") {
    [template, data] = load(rest.join(" "));
    answer = `ok nunjucks ${version} on Node ${process.version}`;
  } else if (word === "output") {
    answer = `output ${JSON.stringify(template.render(data))}`;
  } else if (word === "run") {
    answer = run(template, data, Number(rest[0]));
  }
  process.stdout.write(answer + "\n");
}
