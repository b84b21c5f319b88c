// The tab's last renders and chats.
import { signal } from "./vendor-preact.js";
import { SpanMap } from "./spanmap.js";
import { kept } from "./state.js";

const MOST = 100;
/** What one entry may keep, so that a hundred fit into the storage of a tab. */
const MOST_TEXT = 40_000;
const MOST_PIECES = 2_000;

/**
 * `pieces` are the lengths of spans with the variable or, where no variable went in, the file behind each.
 * @typedef {{number: number, time: number, kind: string, id: string, source?: string, model?: string,
 *   variables: Record<string, any>, text: string, isCut: boolean, pieces: [number, string][],
 *   layers: Record<string, {layer: string, value: string}>}} Entry
 */

export const entries = signal(/** @type {Entry[]} */ (kept("history", [])));

/**
 * Remembers a render or a chat; the same text from the same values is not repeated.
 * @param {{kind: string, id: string, variables: any, result: any, model?: string, text?: string, source?: string}} made
 */
export function remember({ kind, id, variables, result, model, text, source }) {
  const pieces = text === undefined ? originPieces(result) : [];
  const whole = text ?? (pieces.length ? mapText(result.map) : bodyText(result.body));
  const last = entries.value[0];
  const isSame =
    last &&
    last.id === id &&
    last.kind === kind &&
    last.text === whole.slice(0, MOST_TEXT) &&
    JSON.stringify(last.variables) === JSON.stringify(variables);
  if (isSame) return;
  /** @type {Record<string, {layer: string, value: string}>} */
  const layers = {};
  for (const variable of result?.trace?.variables ?? [])
    layers[variable.name] = { layer: variable.layer, value: JSON.stringify(variable.value ?? null).slice(0, 500) };
  /** @type {Entry} */
  const entry = {
    number: (last?.number ?? 0) + 1,
    time: Date.now(),
    kind,
    id,
    source,
    model,
    variables,
    text: whole.slice(0, MOST_TEXT),
    isCut: whole.length > MOST_TEXT,
    pieces,
    layers,
  };
  entries.value = [entry, ...entries.value].slice(0, MOST);
  keepEntries();
}

/** @param {any} body */
const bodyText = (body) => (typeof body === "string" ? body : JSON.stringify(body, null, 2));

/** All texts of a source map, each on lines of its own. @param {any} map @returns {string} */
const mapText = (map) => map.texts.map((/** @type {any} */ text) => text.text).join("\n");

/** @param {any} result @returns {[number, string][]} */
function originPieces(result) {
  if (!result.map?.texts || result.map.texts.some((/** @type {any} */ text) => text.spans.length > MOST_PIECES))
    return [];
  const spans = new SpanMap(result.map);
  return spans.texts.flatMap((list, index) => {
    const pieces = list.map((span) => {
      const name = spans.variables(span)[0]?.path ?? spans.place(span.place)?.file ?? "";
      return /** @type {[number, string]} */ ([span.end - span.start, name]);
    });
    // The line end between two texts.
    return index ? [/** @type {[number, string]} */ ([1, ""]), ...pieces] : pieces;
  });
}

/**
 * @typedef {{line: string, isAdded: boolean, causes: string[]}} Change
 */

/**
 * The lines that one of two entries has alone, each with the variables and files behind it.
 * @param {Entry} older
 * @param {Entry} newer
 * @returns {Change[]}
 */
export function changesBetween(older, newer) {
  return [...linesWithout(older, newer, false), ...linesWithout(newer, older, true)];
}

/**
 * @param {Entry} entry
 * @param {Entry} other
 * @param {boolean} isAdded
 * @returns {Change[]}
 */
function linesWithout(entry, other, isAdded) {
  const changed = changedVariables(entry, other);
  /** @type {Map<string, number>} */
  const there = new Map();
  for (const line of other.text.split("\n")) there.set(line, (there.get(line) ?? 0) + 1);
  const changes = [];
  let start = 0;
  for (const line of entry.text.split("\n")) {
    const count = there.get(line) ?? 0;
    if (count) there.set(line, count - 1);
    else if (line.trim()) changes.push({ line, isAdded, causes: causesIn(entry, start, start + line.length, changed) });
    start += line.length + 1;
  }
  return changes;
}

/**
 * The names behind a range of a text: variables whose value changed if there are any, else all that wrote it.
 * @param {Entry} entry
 * @param {number} start
 * @param {number} end
 * @param {string[]} changed
 */
function causesIn(entry, start, end, changed) {
  const names = new Set();
  let at = 0;
  for (const [length, name] of entry.pieces) {
    if (name && at < end && at + length > start) names.add(name);
    at += length;
  }
  const guilty = [...names].filter((name) => changed.includes(name.split(/[.[]/)[0]));
  return guilty.length ? guilty : [...names];
}

/** The variables whose values differ. @param {Entry} one @param {Entry} other @returns {string[]} */
export const changedVariables = (one, other) =>
  [...new Set([...Object.keys(one.layers), ...Object.keys(other.layers)])].filter(
    (name) => one.layers[name]?.value !== other.layers[name]?.value,
  );

function keepEntries() {
  // Older entries give way where the storage of the tab is full.
  for (let count = entries.value.length; count > 0; count = Math.floor(count / 2)) {
    try {
      sessionStorage.setItem("hina:history", JSON.stringify(entries.value.slice(0, count)));
      return;
    } catch {
      continue;
    }
  }
}
