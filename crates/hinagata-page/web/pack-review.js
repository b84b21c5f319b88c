// The review of a pack: what a person looks at before approving it. The daemon hashes the very bytes that are shown.
import { h, useState } from "./vendor-preact.js";
import { FindingList } from "./findings.js";
import { hasText, t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { Badge, DiffText, Name, Notice, sizeText } from "./ui.js";

/**
 * What the Python of a pack is allowed: the permissions that it declares, and that others are not known.
 * @param {any} review
 * @returns {string[]}
 */
export const permissionsOf = (review) => [
  ...new Set(
    review.python.flatMap((/** @type {any} */ file) =>
      file.role === "native" ? [t("unknownPermissions")] : (file.permissions ?? [t("unknownPermissions")]),
    ),
  ),
];

/** Everything that easily stays unseen. @param {{review: any}} props */
export const PackReview = ({ review }) =>
  h(
    "div",
    { class: "stack" },
    review.problems.map((/** @type {any} */ problem, /** @type {number} */ index) =>
      h(
        Notice,
        { tone: problem.severity, key: index },
        h("p", { dir: "auto" }, withMarks(problem.message)),
        h("p", { class: "hint" }, h(Name, null, placeText(problem.file ?? problem.source, problem))),
      ),
    ),
    review.changes?.files.length > 0 && h(Changes, { changes: review.changes }),
    h(Section, {
      title: t("mayDo"),
      items: review.python,
      children: (/** @type {any} */ file) => h(PythonFile, { file, review }),
    }),
    h(Section, {
      title: t("easilyMissed"),
      items: review.notices,
      children: (/** @type {any} */ notice) => h(ReviewNotice, { notice }),
    }),
    review.findings.length > 0 &&
      h(
        "section",
        { "aria-label": t("packFindings") },
        h("h3", null, t("packFindings")),
        h(FindingList, { findings: review.findings.map(toFinding) }),
      ),
  );

/** @param {string} file @param {{line?: number | null, column?: number | null}} place */
const placeText = (file, { line, column }) => [file, line, column].filter((part) => part).join(":");

/** A finding of a check, as the lists of findings have them. @param {any} found */
const toFinding = ({ level, file, line, column, ...rest }) => ({
  ...rest,
  severity: level,
  place: line ? { file, line, column } : undefined,
});

/** @param {{title: string, items: any[], children: (item: any) => any}} props */
export const Section = ({ title, items, children }) =>
  items.length > 0
    ? h(
        "section",
        { "aria-label": title },
        h("h3", null, title),
        h(
          "ul",
          { class: "plain-list" },
          items.map((item, index) => h("li", { key: index }, children(item))),
        ),
      )
    : null;

/** What a file may do: the daemon's sentences, in the reader's language. @param {any} file @param {any} review */
function abilityTexts(file, review) {
  const keys =
    file.role === "native"
      ? ["may_native"]
      : file.permissions === null
        ? ["may_computed"]
        : file.permissions.map((/** @type {string} */ name) => `may_${name}`);
  const known = keys.length ? keys : ["may_compute"];
  if (known.every(hasText)) return known.map((/** @type {string} */ key) => t(key));
  return review.abilities.find((/** @type {any} */ one) => one.file === file.file)?.may ?? [];
}

/** @param {{file: any, review: any}} props */
const PythonFile = ({ file, review }) =>
  h(
    "div",
    null,
    h("code", null, withMarks(file.file)),
    " ",
    (file.permissions ?? []).map((/** @type {string} */ name) =>
      h(Badge, { tone: file.needs_trust.includes(name) ? "error" : "warning", key: name, children: withMarks(name) }),
    ),
    abilityTexts(file, review).map((/** @type {string} */ text) => h("p", { class: "hint", key: text }, text)),
  );

/** @param {{notice: any}} props */
const ReviewNotice = ({ notice }) =>
  h(
    "div",
    null,
    h(Badge, { tone: "error", children: notice.kind === "hidden" ? t("noticeHidden") : t("secret") }),
    " ",
    h(Name, null, placeText(notice.file, notice)),
    h("p", { class: "hint", dir: "auto" }, withMarks(notice.message)),
  );

/** What is different from what was approved, file by file. @param {{changes: any}} props */
function Changes({ changes }) {
  const WORDS = /** @type {Record<string, string>} */ ({
    added: t("fileAdded"),
    changed: t("fileModified"),
    removed: t("fileRemoved"),
  });
  return h(
    "section",
    { class: "stack", "aria-label": t("changesSince") },
    h("h3", null, t("changesSince")),
    changes.files.map((/** @type {any} */ file) =>
      h(
        "details",
        { key: file.path, open: true },
        h(
          "summary",
          null,
          h(Name, null, file.path),
          " ",
          h(Badge, { tone: "warning", children: WORDS[file.change] ?? file.change }),
        ),
        file.diff ? h(DiffText, { text: file.diff }) : h("p", { class: "hint" }, file.note),
      ),
    ),
  );
}

/** All files of a pack, to be read before it is approved. @param {{files: any[]}} props */
export const PackFiles = ({ files }) =>
  h(
    "section",
    { class: "stack", "aria-label": t("allFiles") },
    h("h3", null, t("allFiles")),
    h(
      "div",
      null,
      files.map((file) => h(PackFile, { key: file.path, file })),
    ),
  );

/** @param {{file: any}} props */
function PackFile({ file }) {
  const [isOpen, setOpen] = useState(false);
  return h(
    "details",
    { class: "pack-file", onToggle: (/** @type {any} */ event) => setOpen(event.currentTarget.open) },
    h("summary", null, h(Name, null, file.path), " ", h("span", { class: "hint" }, sizeText(file.size))),
    isOpen &&
      (file.text === null
        ? h("p", { class: "hint" }, file.note)
        : h("pre", { class: "code-block", tabIndex: 0 }, withMarks(file.text))),
  );
}
