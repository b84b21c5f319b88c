// What would be packed: files by directory, sizes, tokens, and why a file was left out.
import { h, useEffect, useState } from "./vendor-preact.js";
import { call } from "./api.js";
import { formatNumber, t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { can, keep, kept } from "./state.js";
import { Button, Empty, Failure, Loading, Locked, Name, Notice, TextField } from "./ui.js";

/** @typedef {{path: string, bytes?: number, tokens?: number, state?: string, left_out?: string}} FileEntry */
/** @typedef {{name: string, depth: number, entry?: FileEntry, files: number, tokens: number, bytes: number}} TreeRow */

/** The most characters of the packed text that are shown. */
const MOST_TEXT = 200_000;
/** Directories beyond this depth are indented no further. */
const MOST_DEPTH = 8;

export function ContextView() {
  const [include, setInclude] = useState(/** @type {string} */ (kept("context:include", "")));
  const [budget, setBudget] = useState(/** @type {string} */ (kept("context:budget", "")));
  const [state, setState] = useState(
    /** @type {{result?: any, error?: any, isRunning: boolean}} */ ({ isRunning: false }),
  );
  useEffect(() => keep("context:include", include || null), [include]);
  useEffect(() => keep("context:budget", budget || null), [budget]);
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setState({ isRunning: true });
    const patterns = include.split(/[\s,]+/).filter(Boolean);
    const body = {
      ...(patterns.length ? { include: patterns } : {}),
      ...(budget.trim() ? { max_tokens: Number(budget) } : {}),
    };
    await call("POST", "/api/context", { body }).then(
      ({ data }) => setState({ result: data, isRunning: false }),
      (error) => setState({ error, isRunning: false }),
    );
  };
  return h(
    "div",
    { class: "view context" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("context")), h("p", { class: "lead" }, t("contextHint"))),
    ),
    !can("admin")
      ? h(Locked, { scope: "admin" })
      : h(
          "div",
          { class: "stack" },
          h(
            "form",
            { class: "filters", onSubmit: run },
            h(TextField, { label: t("patterns"), value: include, onInput: setInclude, placeholder: "src/**/*.rs" }),
            h(TextField, { label: t("maxTokens"), value: budget, onInput: setBudget, pattern: "\\s*[0-9]*\\s*" }),
            h(Button, { type: "submit", tone: "primary", children: t("pack") }),
          ),
          state.isRunning && h(Loading, null),
          state.error && h(Failure, { error: state.error }),
          !state.result &&
            !state.error &&
            !state.isRunning &&
            h(Empty, { title: t("notPacked"), icon: "▤" }, h("p", null, t("notPackedHint"))),
          state.result && h(Packed, { result: state.result }),
        ),
  );
}

/** @param {{result: any}} props */
function Packed({ result }) {
  const entries = /** @type {FileEntry[]} */ (result.report?.entries ?? []);
  const taken = entries.filter((entry) => !entry.left_out);
  const leftOut = entries.filter((entry) => entry.left_out);
  return h(
    "div",
    { class: "stack" },
    (result.warnings ?? []).map((/** @type {any} */ warning, /** @type {number} */ index) =>
      h(Notice, { key: index, tone: "warning", children: withMarks(`${warning.about}: ${warning.message}`) }),
    ),
    h("h2", null, t("filesTaken")),
    h(FileTree, { entries: taken, label: t("filesTaken") }),
    leftOut.length > 0 && h("h2", null, t("filesLeftOut")),
    leftOut.length > 0 && h(FileTree, { entries: leftOut, label: t("filesLeftOut") }),
    result.text &&
      h(
        "details",
        null,
        h("summary", null, t("packedText")),
        h("pre", { class: "text", tabIndex: 0 }, withMarks(result.text.slice(0, MOST_TEXT))),
        result.text.length > MOST_TEXT && h("p", { class: "hint" }, t("textCut")),
      ),
  );
}

/** @param {{entries: FileEntry[], label: string}} props */
const FileTree = ({ entries, label }) =>
  h(
    "div",
    { class: "scroll", tabIndex: 0, role: "region", "aria-label": label },
    h(
      "table",
      { class: "shares" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          [t("file"), t("bytes"), t("tokens"), t("stateWord")].map((text) =>
            h("th", { scope: "col", key: text }, text),
          ),
        ),
      ),
      h(
        "tbody",
        null,
        treeRows(entries).map((row, index) => h(FileRow, { key: index, row })),
      ),
    ),
  );

/** @param {{row: TreeRow}} props */
const FileRow = ({ row }) =>
  h(
    "tr",
    { class: row.entry ? "" : "directory" },
    h("th", { scope: "row", class: `depth${Math.min(row.depth, MOST_DEPTH)}` }, h(Name, null, row.name)),
    h("td", { class: "number" }, row.bytes ? formatNumber(row.bytes) : ""),
    h("td", { class: "number" }, row.tokens ? formatNumber(row.tokens) : ""),
    h(
      "td",
      null,
      row.entry
        ? withMarks(row.entry.left_out ?? row.entry.state ?? "")
        : t("totalOf", { files: formatNumber(row.files), tokens: formatNumber(row.tokens) }),
    ),
  );

/**
 * The rows of a tree: each directory with its totals, then what is in it.
 * @param {FileEntry[]} entries
 * @returns {TreeRow[]}
 */
export function treeRows(entries) {
  /** @type {TreeRow[]} */
  const rows = [];
  /** @type {Map<string, TreeRow>} */
  const directories = new Map();
  for (const entry of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const parts = entry.path.split("/");
    const [tokens, bytes] = [entry.tokens ?? 0, entry.bytes ?? 0];
    for (let depth = 0; depth < parts.length - 1; depth++) {
      const path = parts.slice(0, depth + 1).join("/");
      let row = directories.get(path);
      if (!row) {
        row = { name: `${parts[depth]}/`, depth, files: 0, tokens: 0, bytes: 0 };
        directories.set(path, row);
        rows.push(row);
      }
      row.files += 1;
      row.tokens += tokens;
      row.bytes += bytes;
    }
    rows.push({ name: parts[parts.length - 1], depth: parts.length - 1, entry, files: 1, tokens, bytes });
  }
  return rows;
}
