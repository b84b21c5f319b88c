// Files of prompts with unsaved text: loaded once, kept for the tab, saved with the version they started from.
import { signal } from "./vendor-preact.js";
import { ApiError, call, filePath } from "./api.js";
import { keep, kept, toast } from "./state.js";

/**
 * `revision` counts how often the text was replaced from elsewhere than its editor.
 * @typedef {{path: string, base: string, text: string, etag: string | null, writable: boolean, revision: number,
 *   theirs?: {text: string, etag: string | null}, findings?: any[], isLoading?: boolean}} OpenFile
 */

/** Open files by path. */
export const openFiles = signal(/** @type {Record<string, OpenFile>} */ ({}));

/** @param {string} path @param {Partial<OpenFile>} change */
function update(path, change) {
  const before = openFiles.value[path];
  const next = /** @type {OpenFile} */ ({
    ...before,
    ...change,
    revision: change.revision ?? before?.revision ?? 0,
  });
  openFiles.value = { ...openFiles.value, [path]: next };
  keep(`draft:${path}`, isChanged(next) ? { base: next.base, text: next.text, etag: next.etag } : null);
}

/** @param {OpenFile | undefined} file */
export const isChanged = (file) => file !== undefined && plain(file.base) !== plain(file.text);

/** The unsaved texts of these files, also of those that are not open yet. @param {string[]} paths */
export function unsavedTexts(paths) {
  /** @type {Record<string, string>} */
  const texts = {};
  for (const path of paths) {
    const file = openFiles.value[path] ?? kept(`draft:${path}`, undefined);
    if (isChanged(file)) texts[path] = file.text;
  }
  return texts;
}

/** @param {string} text */
export const plain = (text) => text.replace(/\r\n?/g, "\n");

/**
 * @param {string} path
 * @param {string} [query]
 * @returns {Promise<{text: string, etag: string | null}>}
 */
export async function readFile(path, query = "") {
  const { response, etag } = await call("GET", `/api/files/${filePath(path)}${query}`, { raw: true });
  // The mark at the start of a file is part of its bytes.
  return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(await response.arrayBuffer()), etag };
}

/**
 * Opens a file; unsaved text of this tab comes back.
 * @param {string} path
 * @param {boolean} writable
 */
export async function openFile(path, writable) {
  if (openFiles.value[path]) return;
  const draft = kept(`draft:${path}`, null);
  const { text, etag } = await readFile(path);
  if (draft && draft.etag !== etag) {
    update(path, { path, ...draft, writable, theirs: { text, etag } });
  } else {
    update(path, { path, base: text, text: draft?.text ?? text, etag, writable });
  }
}

/** @param {string} path @param {string} text */
export function editFile(path, text) {
  const file = openFiles.value[path];
  if (file && plain(file.text) !== text) update(path, { text });
}

/** Replaces the text, in its editor too. @param {string} path @param {Partial<OpenFile>} change */
const replace = (path, change) => update(path, { ...change, revision: openFiles.value[path].revision + 1 });

/** @param {string} path */
export function revertFile(path) {
  replace(path, { text: openFiles.value[path].base, findings: undefined });
}

/** Reads a file again after a change on disk. Unsaved text is never replaced. @param {string} path */
export async function refreshFile(path) {
  const file = openFiles.value[path];
  if (!file) return;
  try {
    const { text, etag } = await readFile(path);
    if (etag === openFiles.value[path].etag) return;
    if (isChanged(openFiles.value[path])) update(path, { theirs: { text, etag } });
    else replace(path, { base: text, text, etag, theirs: undefined });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) forgetFile(path);
  }
}

/**
 * Makes a file; one that is there already is not replaced.
 * @param {string} path
 */
export async function createFile(path) {
  await call("PUT", `/api/files/${filePath(path)}`, {
    text: new Blob([""]),
    headers: { "if-none-match": "*", "content-type": "text/plain; charset=utf-8" },
  });
}

/**
 * Moves a file to the trash, as it was read. @param {string} path
 * @returns {Promise<string>} its entry in the trash
 */
export async function deleteFile(path) {
  const { etag } = await readFile(path);
  const { data } = await call("DELETE", `/api/files/${filePath(path)}`, { headers: etag ? { "if-match": etag } : {} });
  forgetFile(path);
  return data.trash;
}

/** @param {string} path */
export function forgetFile(path) {
  const { [path]: _left, ...rest } = openFiles.value;
  openFiles.value = rest;
  keep(`draft:${path}`, null);
}

/** Saves a file; another version on disk is kept beside it instead of being replaced. @param {string} path */
export async function saveFile(path) {
  const file = openFiles.value[path];
  const text = restoreEnds(file.base, file.text);
  try {
    const { data, etag } = await call("PUT", `/api/files/${filePath(path)}`, {
      text: new Blob([text]),
      headers: {
        ...(file.etag ? { "if-match": file.etag } : { "if-none-match": "*" }),
        "content-type": "text/plain; charset=utf-8",
      },
    });
    update(path, {
      base: text,
      text: plain(openFiles.value[path].text) === plain(file.text) ? text : openFiles.value[path].text,
      etag: etag ?? data.etag,
      theirs: undefined,
      findings: data.findings ?? [],
    });
    toast("saved", "success", path);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      const theirs = await readFile(path).catch(() => ({ text: "", etag: null }));
      update(path, { theirs });
      return false;
    }
    throw error;
  }
}

/** Takes the text on disk. @param {string} path */
export function takeTheirs(path) {
  const { theirs } = openFiles.value[path];
  if (theirs) replace(path, { base: theirs.text, text: theirs.text, etag: theirs.etag, theirs: undefined });
}

/** Goes on with a text, on top of the version on disk. @param {string} path @param {string} text */
export function keepMine(path, text) {
  const { theirs } = openFiles.value[path];
  if (theirs) replace(path, { base: theirs.text, text, etag: theirs.etag, theirs: undefined });
}

/**
 * The text with the line ends and the first mark of the original, where its lines stand.
 * @param {string} original
 * @param {string} text
 */
export function restoreEnds(original, text) {
  if (plain(original) === plain(text)) return original;
  const lines = (/** @type {string} */ whole) => whole.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
  const [old, now] = [lines(original), lines(plain(text))];
  const end = (/** @type {string} */ line) => /\r\n$|\r$|\n$/.exec(line)?.[0] ?? "";
  const body = (/** @type {string} */ line) => line.slice(0, line.length - end(line).length);
  const crlf = old.filter((line) => end(line) === "\r\n").length;
  const usual = crlf * 2 > old.length ? "\r\n" : "\n";
  const result = now.map((line) => (end(line) ? body(line) + usual : line));
  for (let at = 0; at < Math.min(old.length, now.length) && body(old[at]) === body(now[at]) && end(now[at]); at++)
    result[at] = old[at];
  for (
    let back = 1;
    back <= Math.min(old.length, now.length) && body(old[old.length - back]) === body(now[now.length - back]);
    back++
  ) {
    if (end(now[now.length - back])) result[now.length - back] = old[old.length - back];
  }
  return result.join("");
}
