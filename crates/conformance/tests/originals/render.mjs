// Renders cases with dotprompt and mustache.js: a list of {id, language, template, data} on standard input, a list of
// {id, text} or {id, error} on standard output.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.HINAGATA_TEST_NODE_MODULES + "/x.js");
const { Dotprompt } = require("dotprompt");
const Mustache = require("mustache");

const dotprompt = new Dotprompt();
const languages = {
  async dotprompt({ template, data }) {
    const { messages } = await dotprompt.render(template, { input: data });
    return messages.map((message) => message.content.map((part) => part.text ?? "").join("")).join("");
  },
  mustache: ({ template, data }) => Mustache.render(template, data),
};

const cases = JSON.parse(readFileSync(0, "utf8"));
const answers = [];
for (const one of cases) {
  try {
    answers.push({ id: one.id, text: await languages[one.language](one) });
  } catch (error) {
    answers.push({ id: one.id, error: String(error) });
  }
}
process.stdout.write(JSON.stringify(answers));
