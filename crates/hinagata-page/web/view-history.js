// The tab's last renders and chats; two of them compared, each change with what caused it.
import { h, useState } from "./vendor-preact.js";
import { call, filePath, toJson } from "./api.js";
import { Difference } from "./editor.js";
import { changedVariables, changesBetween, entries } from "./history.js";
import { formatTime, t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { linkTo, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Name, TextField } from "./ui.js";

/** @typedef {import("./history.js").Entry} Entry */

/** The most changes that are listed; the difference shows all of them. */
const MOST_CHANGES = 50;

export function HistoryView() {
  const [picked, setPicked] = useState(/** @type {number[]} */ ([]));
  const [kept, setKept] = useState(/** @type {Entry | null} */ (null));
  const toggle = (/** @type {number} */ number) =>
    setPicked(picked.includes(number) ? picked.filter((one) => one !== number) : [...picked, number].slice(-2));
  const [older, newer] = entries.value
    .filter((entry) => picked.includes(entry.number))
    .sort((a, b) => a.number - b.number);
  return h(
    "div",
    { class: "view history" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("history")), h("p", { class: "lead" }, t("historyHint"))),
    ),
    entries.value.length === 0
      ? h(
          Empty,
          { title: t("noHistory"), icon: "↺" },
          h("p", null, t("noHistoryHint")),
          h("a", { class: "button", href: linkTo("prompts") }, t("prompts")),
        )
      : h(
          "div",
          { class: "stack" },
          older && newer && h(Comparison, { older, newer }),
          h(
            "ul",
            { class: "plain-list", "aria-label": t("history") },
            entries.value.map((entry) =>
              h(EntryRow, {
                key: entry.number,
                entry,
                isPicked: picked.includes(entry.number),
                onToggle: () => toggle(entry.number),
                onKeep: () => setKept(entry),
              }),
            ),
          ),
        ),
    kept && h(KeepExample, { entry: kept, onClose: () => setKept(null) }),
  );
}

/** @param {{entry: Entry, isPicked: boolean, onToggle: () => void, onKeep: () => void}} props */
function EntryRow({ entry, isPicked, onToggle, onKeep }) {
  return h(
    "li",
    { class: "line" },
    h(
      "label",
      { class: "check" },
      h("input", { type: "checkbox", checked: isPicked, onChange: onToggle }),
      h("span", { class: "hidden" }, t("compare")),
      ` #${entry.number}`,
    ),
    h(
      "span",
      { class: "grow" },
      h("a", { href: linkTo(entry.kind === "chat" ? "chat" : "prompt", entry.id) }, h(Name, null, entry.id)),
      " ",
      h("span", { class: "hint", dir: "auto" }, withMarks(entry.text.slice(0, 80))),
    ),
    entry.isCut && h(Badge, { tone: "warning", children: t("textCut") }),
    h("time", { class: "hint" }, formatTime(entry.time)),
    entry.source &&
      h(Button, {
        tone: "small",
        scope: "write",
        label: `${t("keepExample")} #${entry.number}`,
        onClick: onKeep,
        children: t("keepExample"),
      }),
  );
}

/** @param {{older: Entry, newer: Entry}} props */
function Comparison({ older, newer }) {
  const names = changedVariables(older, newer);
  const changes = changesBetween(older, newer);
  return h(
    "section",
    { class: "stack", "aria-label": t("difference") },
    h("h2", null, t("difference")),
    h(
      "p",
      null,
      t("changedVariables"),
      " ",
      names.length ? names.map((name) => h(Badge, { key: name, tone: "warning", children: withMarks(name) })) : "–",
    ),
    changes.length > 0 && h(ChangeTable, { changes }),
    h(Difference, { left: older.text, right: newer.text, label: newer.id }),
  );
}

/** @param {{changes: import("./history.js").Change[]}} props */
const ChangeTable = ({ changes }) =>
  h(
    "div",
    { class: "scroll", tabIndex: 0, role: "region", "aria-label": t("changesWithCause") },
    h(
      "table",
      { class: "changes" },
      h("caption", null, t("changesWithCause")),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          [t("what"), t("change"), t("cause")].map((text) => h("th", { scope: "col", key: text }, text)),
        ),
      ),
      h(
        "tbody",
        null,
        changes.slice(0, MOST_CHANGES).map((change, index) =>
          h(
            "tr",
            { key: index },
            h("td", null, change.isAdded ? t("lineAdded") : t("lineRemoved")),
            h("td", { dir: "auto" }, h("code", null, withMarks(change.line.slice(0, 200)))),
            h(
              "td",
              null,
              change.causes.map((cause) => h(Badge, { key: cause, children: withMarks(cause) })),
            ),
          ),
        ),
      ),
    ),
  );

/** Writes the values and the text of an entry beside the prompt. @param {{entry: Entry, onClose: () => void}} props */
function KeepExample({ entry, onClose }) {
  const [name, setName] = useState(`example_${entry.number}`);
  const [error, setError] = useState(/** @type {any} */ (null));
  const write = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const path = `${entry.source}/examples/${name.trim()}.json`;
    try {
      const text = `${toJson({ variables: entry.variables, output: entry.text }, 2)}\n`;
      const headers = { "if-none-match": "*", "content-type": "text/plain; charset=utf-8" };
      await call("PUT", `/api/files/${filePath(path)}`, { text: new Blob([text]), headers });
      toast("exampleKept", "success", path);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    Dialog,
    { title: t("keepExample"), onClose },
    h(
      "form",
      { class: "stack", onSubmit: write },
      h(TextField, { label: t("exampleName"), value: name, onInput: setName, required: true, autofocus: true }),
      error && h(Failure, { error }),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, { type: "submit", tone: "primary", scope: "write", children: t("save") }),
      ),
    ),
  );
}
