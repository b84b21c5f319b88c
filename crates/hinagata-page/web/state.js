// What the whole page shares: who asks, where we are, what is kept for the tab.
import { signal } from "./vendor-preact.js";

/**
 * @typedef {{caller: string, scopes: string[], bound?: boolean, version?: string, workspace?: string, trust?: string,
 *   sources?: {prefix: string, kind: string, writable: boolean}[]}} Whoami
 * @typedef {{id: number, key: string, tone: string, detail: string, action?: {key: string, run: () => void}}} Toast
 * @typedef {{view: string, id: string, tab: string, query: URLSearchParams}} Place
 */

const PREFIX = "hina:";

/** Reads what the tab keeps. @param {string} name @param {any} otherwise @returns {any} */
export function kept(name, otherwise) {
  try {
    const text = sessionStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/**
 * Keeps a value for the tab. A full storage loses the value, never the page.
 * @param {string} name
 * @param {any} value
 */
export function keep(name, value) {
  try {
    if (value === undefined || value === null) sessionStorage.removeItem(PREFIX + name);
    else sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    toast("storageFull", "warning");
  }
}

/** What forms hold until the page is left, by prompt: secrets too, which the tab never keeps. */
const forms = /** @type {Map<string, Record<string, any>>} */ (new Map());

/** The values of a prompt's form. @param {string} id @returns {Record<string, any>} */
export const formValues = (id) => forms.get(id) ?? kept(`form:${id}`, {});

/**
 * @param {string} id
 * @param {Record<string, any>} values
 * @param {string[]} secret the names of secrets
 */
export function setFormValues(id, values, secret) {
  forms.set(id, values);
  keep(`form:${id}`, Object.fromEntries(Object.entries(values).filter(([name]) => !secret.includes(name))));
}

export const token = signal(/** @type {string} */ (kept("token", "")));
export const whoami = signal(/** @type {Whoami | null} */ (null));
export const refused = signal(/** @type {{detail: string, scope?: string} | null} */ (null));
export const isOnline = signal(true);
export const theme = signal(/** @type {string} */ (localValue("theme", "auto")));
export const singleKeys = signal(localValue("keys", "on") === "on");
/** Counts changes of prompts and of the store that the daemon reported. */
export const catalogVersion = signal(0);
export const storeVersion = signal(0);
/** The prompts that the last event named. */
export const lastChange = signal(
  /** @type {{added: string[], removed: string[], changed: string[]}} */ ({ added: [], removed: [], changed: [] }),
);
export const toasts = signal(/** @type {Toast[]} */ ([]));

let toastNumber = 0;

/**
 * Shows a short message. @param {string} key @param {string} [tone] @param {string} [detail]
 * @param {{key: string, run: () => void}} [action]
 */
export function toast(key, tone = "info", detail = "", action = undefined) {
  const id = ++toastNumber;
  toasts.value = [...toasts.value.slice(-3), { id, key, tone, detail, action }];
  if (!action && tone !== "error") setTimeout(() => dismissToast(id), 6000);
}

/** @param {number} id */
export function dismissToast(id) {
  toasts.value = toasts.value.filter((entry) => entry.id !== id);
}

/** A preference of the browser. @param {string} name @param {string} otherwise */
export function localValue(name, otherwise) {
  try {
    return localStorage.getItem(PREFIX + name) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** @param {string} name @param {string} value */
export function setLocalValue(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Without storage, the choice holds until the page is left.
  }
}

/** Whether the caller may use routes of this scope. @param {string} scope */
export function can(scope) {
  return whoami.value?.scopes.includes(scope) ?? false;
}

/** Whether a path lies in one of the user's own places. @param {string} path */
export const isWritable = (path) =>
  whoami.value?.sources?.some(({ prefix, writable }) => writable && path.startsWith(`${prefix}/`)) ?? false;

/** @param {string} hash @returns {Place} */
export function parsePlace(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", id = "", tab = ""] = path.split("/").map(decodeSafely);
  return { view: view || "prompts", id, tab, query: new URLSearchParams(query) };
}

/** @param {string} text */
function decodeSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The address of a view.
 * @param {string} view
 * @param {string} [id]
 * @param {string} [tab]
 * @param {Record<string, string>} [query]
 */
export function linkTo(view, id = "", tab = "", query = {}) {
  const parts = [view, id, tab].filter((part) => part !== "").map(encodeURIComponent);
  const search = new URLSearchParams(query).toString();
  return `#/${parts.join("/")}${search ? `?${search}` : ""}`;
}

export const place = signal(parsePlace(location.hash.startsWith("#token=") ? "" : location.hash));

/** @param {string} target @param {boolean} [replace] */
export function goTo(target, replace = false) {
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  place.value = parsePlace(target);
}

/** Takes the token out of the address, before anything else can read it there. */
export function takeToken() {
  if (!location.hash.startsWith("#token=")) return;
  setToken(decodeSafely(location.hash.slice("#token=".length)));
  history.replaceState(null, "", "#/prompts");
  place.value = parsePlace("");
}

/** @param {string} value */
export function setToken(value) {
  token.value = value.trim();
  keep("token", token.value || null);
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) takeToken();
  else place.value = parsePlace(location.hash);
});
addEventListener("popstate", () => {
  if (!location.hash.startsWith("#token=")) place.value = parsePlace(location.hash);
});
