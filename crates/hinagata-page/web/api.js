// Calls of the daemon: the token in a header, problems as errors, changes as a stream.
import { catalogVersion, isOnline, lastChange, refused, storeVersion, token, whoami } from "./state.js";

/** A number whose digits stay as they were typed. */
export class RawNumber {
  /** @param {string} digits */
  constructor(digits) {
    this.digits = digits;
  }
}

/**
 * JSON with the digits of numbers as typed.
 * @param {any} value
 * @param {number} [indent]
 * @param {string} [pad]
 * @returns {string}
 */
export function toJson(value, indent = 0, pad = "") {
  if (value instanceof RawNumber) return value.digits;
  const inner = pad + " ".repeat(indent);
  const [open, join, close] = indent ? [`\n${inner}`, `,\n${inner}`, `\n${pad}`] : ["", ",", ""];
  if (Array.isArray(value)) {
    return value.length ? `[${open}${value.map((item) => toJson(item, indent, inner)).join(join)}${close}]` : "[]";
  }
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    const pair = (/** @type {[string, any]} */ [name, item]) =>
      `${JSON.stringify(name)}:${indent ? " " : ""}${toJson(item, indent, inner)}`;
    return entries.length ? `{${open}${entries.map(pair).join(join)}${close}}` : "{}";
  }
  return JSON.stringify(value ?? null);
}

/** Reads JSON and keeps the digits of numbers that JavaScript would change. @param {string} text @returns {any} */
export function fromJson(text) {
  const reviver = /** @type {any} */ (
    (/** @type {string} */ _name, /** @type {any} */ value, /** @type {any} */ context) =>
      typeof value === "number" && context?.source !== undefined && String(value) !== context.source
        ? new RawNumber(context.source)
        : value
  );
  return JSON.parse(text, reviver);
}

/** A refused call: what the daemon said about it. */
export class ApiError extends Error {
  /** @param {number} status @param {any} problem */
  constructor(status, problem) {
    super(problem.detail || problem.message || problem.title || (status ? `HTTP ${status}` : ""));
    this.status = status;
    this.problem = problem;
    /** @type {string} */
    this.code = problem.code || (status ? `http_${status}` : "network");
  }
}

/**
 * Sends a call. @param {string} method @param {string} path
 * @param {{body?: any, text?: string | Blob, headers?: Record<string, string>, signal?: AbortSignal, raw?:
 *   boolean}} [options]
 * @returns {Promise<{data: any, etag: string | null, status: number, response: Response}>}
 */
export async function call(method, path, options = {}) {
  const response = await send(method, path, options);
  const etag = response.headers.get("etag");
  if (options.raw) return { data: null, etag, status: response.status, response };
  const text = await response.text();
  const isJson = (response.headers.get("content-type") || "").includes("json");
  return { data: isJson && text ? fromJson(text) : text, etag, status: response.status, response };
}

/** @param {string} method @param {string} path @param {any} options */
async function send(method, path, options) {
  /** @type {Record<string, string>} */
  const headers = {
    accept: "application/json, application/problem+json, text/plain;q=0.9, */*;q=0.5",
    ...options.headers,
  };
  if (token.value) headers.authorization = `Bearer ${token.value}`;
  let body = options.text;
  if (options.body !== undefined) {
    body = toJson(options.body);
    headers["content-type"] = "application/json";
  }
  const used = token.value;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body,
      signal: options.signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    watchConnection();
    throw new ApiError(0, { code: "network", detail: "" });
  }
  isOnline.value = true;
  if (response.ok || response.status === 304) return response;
  const problem = await readProblem(response);
  if (response.status === 401 && used === token.value)
    refused.value = { detail: problem.detail || "", scope: problem.scope };
  throw new ApiError(response.status, problem);
}

/** @param {Response} response */
async function readProblem(response) {
  try {
    return JSON.parse(await response.text());
  } catch {
    return { title: response.statusText };
  }
}

/** @param {string} path */
export const get = async (path) => (await call("GET", path)).data;

/** A path segment. @param {string} text */
export const segment = (text) => encodeURIComponent(text);

/** A path with its slashes. @param {string} path */
export const filePath = (path) => path.split("/").map(encodeURIComponent).join("/");

/** Asks who we are; a daemon without that route tells by what it allows. */
export async function askWho() {
  try {
    whoami.value = await get("/api/whoami");
    refused.value = null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) whoami.value = { caller: "-", scopes: [] };
    else throw error;
  }
}

/**
 * Reads server-sent events of a response.
 * @param {Response} response
 * @param {(name: string, data: string) => void} onEvent
 */
export async function readEvents(response, onEvent) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    const parts = buffer.split(/\r?\n\r?\n/);
    buffer = parts.pop() ?? "";
    for (const part of parts) {
      let name = "message";
      const data = [];
      for (const line of part.split(/\r?\n/)) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (data.length) onEvent(name, data.join("\n"));
    }
  }
}

/** Follows the changes of the daemon until the page is left. It reads everything again after an interruption. */
export async function followChanges() {
  let pause = 500;
  let wasConnected = false;
  for (;;) {
    try {
      const { response } = await call("GET", "/api/events", { raw: true });
      pause = 500;
      if (wasConnected) {
        await askWho();
        catalogVersion.value++;
        storeVersion.value++;
      }
      wasConnected = true;
      await readEvents(response, onChange);
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) await tokenChange();
    }
    if (!(await ping())) watchConnection();
    await wait(pause);
    pause = Math.min(pause * 2, 4000);
  }
}

/** Waits, but not longer than until the network is back. @param {number} milliseconds */
const wait = (milliseconds) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const now = () => (clearTimeout(timer), resolve(undefined));
    addEventListener("online", now, { once: true });
  });

let isWatching = false;

/** Asks until the daemon answers again, then everything is read anew. A stream may outlive the network for long. */
async function watchConnection() {
  isOnline.value = false;
  if (isWatching) return;
  isWatching = true;
  for (let pause = 500; !(await ping()); pause = Math.min(pause * 2, 4000)) await wait(pause);
  isWatching = false;
  isOnline.value = true;
  await askWho().catch(() => undefined);
  catalogVersion.value++;
  storeVersion.value++;
}

async function ping() {
  try {
    await fetch("/healthz", { cache: "no-store", credentials: "omit" });
    return true;
  } catch {
    return false;
  }
}

function tokenChange() {
  return new Promise((resolve) => {
    const before = token.value;
    const stop = token.subscribe((value) => {
      if (value !== before) queueMicrotask(() => (stop(), resolve(undefined)));
    });
  });
}

/** @param {string} name @param {string} data */
function onChange(name, data) {
  if (name === "prompts") {
    lastChange.value = JSON.parse(data);
    catalogVersion.value++;
  } else if (name === "store") {
    storeVersion.value++;
    catalogVersion.value++;
  } else if (name === "missed") {
    catalogVersion.value++;
    storeVersion.value++;
  }
}
