// The official TypeScript clients and Vercel's `ai` against the daemon. Prints a line for each check.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, streamText, tool } from "ai";
import assert from "node:assert/strict";
import OpenAI from "openai";

const [url, key] = process.argv.slice(2);
const answer = "Hello from afar!";
const models = { openai: "openai/m", anthropic: "anthropic/m", gemini: "gemini/m", ollama: "ollama/m" };
const prompt = { id: "talk", variables: { manner: "kind" } };
const schema = { type: "object", properties: { at: { type: "string" } }, required: ["at"], additionalProperties: false };
const messages = [{ role: "user", content: "Hello" }];

async function check(name, test) {
  try {
    await test();
    console.log(`ok   ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL ${name} - ${String(error?.stack ?? error).replaceAll("\n", " ").slice(0, 500)}`);
  }
}

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });

for (const [name, model] of Object.entries(models)) {
  await check(`chat ${name} streamed`, async () => {
    const stream = openai.chat.completions.stream({ model, messages, prompt });
    assert.equal(await stream.finalContent(), answer);
  });
  await check(`chat ${name} streamed tools`, async () => {
    const tools = [{ type: "function", function: { name: "look", parameters: schema } }];
    const stream = openai.chat.completions.stream({ model, messages, prompt, tools });
    const call = (await stream.finalMessage()).tool_calls[0].function;
    assert.deepEqual([call.name, JSON.parse(call.arguments)], ["look", { at: "lamp" }]);
  });
  await check(`responses ${name} streamed`, async () => {
    const final = await openai.responses.stream({ model, input: "Hello", prompt }).finalResponse();
    assert.deepEqual([final.output_text, final.usage.total_tokens], [answer, 7]);
  });
  await check(`messages ${name} streamed`, async () => {
    const final = await anthropic.messages.stream({ model, messages, prompt, max_tokens: 100 }).finalMessage();
    assert.deepEqual([final.content[0].text, final.usage.output_tokens], [answer, 4]);
  });
  await check(`messages ${name} streamed tools`, async () => {
    const tools = [{ name: "look", input_schema: schema }];
    const final = await anthropic.messages.stream({ model, messages, prompt, tools, max_tokens: 100 }).finalMessage();
    assert.deepEqual([final.content[0].name, final.content[0].input], ["look", { at: "lamp" }]);
  });
  await check(`messages ${name} broken within`, async () => {
    const broken = [{ role: "user", content: "please break" }];
    await assert.rejects(anthropic.messages.stream({ model, messages: broken, prompt, max_tokens: 100 }).finalMessage());
  });
}

// The provider of a prompt is not the business of these.
const tools = { look: tool({ inputSchema: jsonSchema(schema) }) };
const vercel = {
  openai: createOpenAICompatible({ name: "hinagata", baseURL: `${url}/v1`, apiKey: key }),
  anthropic: createAnthropic({ baseURL: `${url}/v1`, apiKey: key }),
};
for (const [name, provider] of Object.entries(vercel)) {
  for (const behind of ["openai", "anthropic", "gemini", "ollama"]) {
    const model = provider(`prompt/${behind}?manner=kind`);
    await check(`ai ${name} ${behind} whole`, async () => {
      assert.equal((await generateText({ model, prompt: "Hello", maxRetries: 0 })).text, answer);
    });
    await check(`ai ${name} ${behind} streamed`, async () => {
      const stream = streamText({ model, prompt: "Hello", maxRetries: 0 });
      assert.equal(await stream.text, answer);
    });
    await check(`ai ${name} ${behind} tools`, async () => {
      const [call] = (await generateText({ model, prompt: "Hello", tools, maxRetries: 0 })).toolCalls;
      assert.deepEqual([call.toolName, call.input], ["look", { at: "lamp" }]);
    });
    await check(`ai ${name} ${behind} streamed tools`, async () => {
      const [call] = await streamText({ model, prompt: "Hello", tools, maxRetries: 0 }).toolCalls;
      assert.deepEqual([call.toolName, call.input], ["look", { at: "lamp" }]);
    });
    await check(`ai ${name} ${behind} refused`, async () => {
      await assert.rejects(generateText({ model, prompt: "please refuse", maxRetries: 0 }), { statusCode: 400 });
    });
    await check(`ai ${name} ${behind} broken within`, async () => {
      const errors = [];
      const onError = ({ error }) => void errors.push(error);
      const stream = streamText({ model, prompt: "please break", maxRetries: 0, onError });
      await stream.consumeStream();
      assert.equal(errors.length, 1);
    });
  }
}
