// The script of the pages: takes over the token, and sends the calls of the forms. Without it, the pages can be read.
"use strict";

/** The most characters of an answer that a page shows. */
const LONGEST_ANSWER = 1_000_000;

/** The token of the fragment `#token=…`, or null. */
function tokenInFragment(fragment) {
  const found = /^#token=(.+)$/.exec(fragment);
  if (!found) return null;
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1];
  }
}

/** The path and query of a call: `fields` are objects with `place`, `name`, `value` and `isList`. */
function callAddress(template, fields) {
  const path = template.replace(/\{(\w+)\}/g, (_, name) => {
    const field = fields.find((field) => field.place === "path" && field.name === name);
    return encodeURIComponent(field ? field.value : "");
  });
  const query = new URLSearchParams();
  for (const field of fields) {
    if (field.place !== "query" || field.value === "") continue;
    const values = field.isList ? field.value.split(",").map((value) => value.trim()) : [field.value];
    for (const value of values) query.append(field.name, value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

/** The headers of a call. */
function callHeaders(fields, token, accept, media) {
  const headers = new Headers();
  if (accept) headers.set("accept", accept);
  for (const field of fields) {
    if (field.place === "header" && field.value !== "") headers.set(field.name, field.value);
  }
  if (token) headers.set("authorization", `Bearer ${token}`);
  if (media) headers.set("content-type", media);
  return headers;
}

/** A body as it is shown: JSON is indented, unless that would change a number in it. */
function shownBody(text, media) {
  if (!/\bjson\b/.test(media || "")) return text;
  try {
    const value = JSON.parse(text);
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/** Makes the forms of a page work. */
function startPage(document, window) {
  // The token stays in memory: nothing is stored, and a reload forgets it.
  let token = "";
  const field = document.getElementById("token");
  const state = document.getElementById("token-state");

  function takeToken() {
    const found = tokenInFragment(window.location.hash);
    if (found === null) return;
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    token = found;
    field.value = found;
    state.textContent = "The token of the address is used. It stays in this page until you close or reload it.";
  }

  function openTarget() {
    const id = window.location.hash.slice(1);
    const target = id && document.getElementById(id);
    if (target && target.tagName === "DETAILS") target.open = true;
  }

  function followHash() {
    takeToken();
    openTarget();
  }

  field.addEventListener("input", () => {
    token = field.value.trim();
    state.textContent = token ? "This key is used for the calls of this page." : "No key is used.";
  });
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  for (const form of document.querySelectorAll("form.try")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sendCall(form, token);
    });
  }
  // Another page of the daemon gets the token in the same way.
  for (const link of document.querySelectorAll("a[data-with-token]")) {
    link.addEventListener("click", (event) => {
      if (!token || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      window.location.assign(`${link.getAttribute("href")}#token=${encodeURIComponent(token)}`);
    });
  }
  window.addEventListener("hashchange", followHash);
  followHash();
}

/** Sends the call of a form, and shows the answer while it arrives. */
async function sendCall(form, token) {
  const part = (name) => form.querySelector(`.${name}`);
  const [send, stop, answer] = [part("send"), part("stop"), part("answer")];
  const fields = [...form.querySelectorAll("[data-in]")].map((input) => ({
    place: input.dataset.in,
    name: input.name,
    value: input.value,
    isList: "list" in input.dataset,
  }));
  const input = form.querySelector("[data-media]");
  const body = input && (input.type === "file" ? input.files[0] : input.value.trim());
  const controller = new AbortController();
  const abort = () => controller.abort();
  stop.addEventListener("click", abort);
  [send.hidden, stop.hidden, answer.hidden] = [true, false, false];
  stop.focus();
  part("status").textContent = "waiting for the answer …";
  part("headers").textContent = "";
  part("body").textContent = "";
  const started = performance.now();
  try {
    const response = await fetch(callAddress(form.dataset.path, fields), {
      method: form.dataset.method,
      headers: callHeaders(fields, token, form.dataset.accept, body ? input.dataset.media : null),
      body: body || undefined,
      cache: "no-store",
      credentials: "omit",
      signal: controller.signal,
    });
    const time = Math.round(performance.now() - started);
    part("status").textContent = `${response.status} ${response.statusText}, after ${time} ms`;
    part("headers").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const text = await readBody(response, (text) => (part("body").textContent = text));
    part("body").textContent = shownBody(text, response.headers.get("content-type"));
  } catch (error) {
    const state = part("status");
    state.textContent = controller.signal.aborted ? `${state.textContent} (stopped)` : `no answer: ${error.message}`;
  } finally {
    stop.removeEventListener("click", abort);
    const hadFocus = form.ownerDocument.activeElement === stop;
    [send.hidden, stop.hidden] = [false, true];
    if (hadFocus) send.focus();
  }
}

/** Reads a body; `show` gets the text so far. */
async function readBody(response, show) {
  if (!response.body) return "";
  const [reader, decoder] = [response.body.getReader(), new TextDecoder()];
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) return text;
    if (text.length > LONGEST_ANSWER) {
      await reader.cancel();
      return `${text.slice(0, LONGEST_ANSWER)}\n… (the answer is longer)`;
    }
    show(text);
  }
}

if (typeof document === "undefined") {
  module.exports = { callAddress, callHeaders, readBody, shownBody, startPage, tokenInFragment };
} else {
  startPage(document, window);
}
