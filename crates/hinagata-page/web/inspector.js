// What is known about one span: its kind, place, variable with winner and losers, and the way it came.
import { h } from "./vendor-preact.js";
import { toJson } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { KIND_KEYS } from "./spanmap.js";
import { Button, Name } from "./ui.js";

const VIA_KEYS = /** @type {Record<string, string>} */ ({
  include: "viaInclude",
  parent: "viaParent",
  block: "viaBlock",
  call: "viaCall",
  turn: "viaTurn",
});

/** @param {any} value */
const shortJson = (value) => {
  const text = typeof value === "string" ? value : toJson(value);
  return withMarks(text.length > 400 ? `${text.slice(0, 400)}…` : text);
};

/**
 * @param {{span: import("./spanmap.js").Span | undefined, spans: import("./spanmap.js").SpanMap | null, trace: any,
 *   onOrigin: (place: any) => void, isPinned: boolean}} props
 */
export function Inspector({ span, spans, trace, onOrigin, isPinned }) {
  if (!span || !spans)
    return h(
      "aside",
      { class: "inspector idle", "aria-label": t("origin") },
      h("p", { class: "hint" }, t("inspectHint")),
    );
  const place = spans.place(span.place);
  const variables = spans.variables(span);
  return h(
    "aside",
    { class: "inspector", "aria-label": t("origin"), "aria-live": isPinned ? "polite" : "off" },
    h(
      "div",
      { class: "inspector-head" },
      h("strong", null, t(KIND_KEYS[span.kind] ?? "kindText")),
      place &&
        h(
          "button",
          { type: "button", class: "place-link", onClick: () => onOrigin(place), title: t("showOrigin") },
          h(Name, null, `${place.file}:${place.line}:${place.column}`),
        ),
      h("span", { class: "grow" }),
      h("span", { class: "hint" }, t("spanNumber", { number: span.number + 1, all: spans.all.length })),
    ),
    h("p", { class: "hint" }, t(`${KIND_KEYS[span.kind] ?? "kindText"}Hint`)),
    spans.steps(span.via).length > 0 &&
      h(
        "ol",
        { class: "via", "aria-label": t("via") },
        spans.steps(span.via).map((step, index) => {
          const at = spans.place(step.place);
          return h(
            "li",
            { key: index },
            t(VIA_KEYS[step.kind] ?? "viaCall"),
            " ",
            h("code", null, withMarks(String(step.name ?? step.turn ?? ""))),
            at && h("span", { class: "hint" }, ` ${at.file}:${at.line}`),
          );
        }),
      ),
    variables.map((variable) => h(VariableCard, { key: variable.path, variable, trace })),
  );
}

/** @param {{variable: {path: string, layer?: string, origin?: string, text?: string}, trace: any}} props */
function VariableCard({ variable, trace }) {
  const name = variable.path.split(/[.[]/)[0];
  const known = trace?.variables?.find((/** @type {any} */ one) => one.name === variable.path || one.name === name);
  const lost = known?.lost ?? [];
  return h(
    "div",
    { class: "variable-card" },
    h(
      "table",
      { class: "layers" },
      h("caption", null, h("code", null, withMarks(variable.path))),
      h(
        "thead",
        { class: "hidden" },
        h(
          "tr",
          null,
          h("th", { scope: "col" }, t("layer")),
          h("th", { scope: "col" }, t("value")),
          h("th", { scope: "col" }, t("origin")),
        ),
      ),
      h(
        "tbody",
        null,
        h(
          "tr",
          { class: "winner" },
          h("th", { scope: "row" }, "✓ ", variable.layer ?? known?.layer ?? "–"),
          h(
            "td",
            { dir: "auto" },
            variable.text === undefined && known === undefined
              ? "•••"
              : shortJson(known && known.name === variable.path ? known.value : (variable.text ?? known?.value)),
          ),
          h("td", { class: "hint" }, withMarks(variable.origin ?? known?.origin ?? "")),
        ),
        lost.map((/** @type {any} */ loser, /** @type {number} */ index) =>
          h(
            "tr",
            { class: "loser", key: index },
            h("th", { scope: "row" }, loser.layer),
            h("td", { dir: "auto" }, shortJson(loser.value)),
            h("td", { class: "hint" }, withMarks(loser.origin ?? "")),
          ),
        ),
      ),
    ),
    lost.length === 0 && h("p", { class: "hint" }, t("noLosers")),
  );
}

/** A table of shares that can be sorted. @param {{shares: any, sort: string, onSort: (name: string) => void}} props */
export function SharesTable({ shares, sort, onSort }) {
  if (!shares) return h("p", { class: "hint" }, t("noShares"));
  const rows = [];
  for (const [group, key] of [
    ["files", "file"],
    ["variables", "variable"],
    ["layers", "layer"],
    ["tools", "tool"],
  ]) {
    for (const [name, size] of Object.entries(shares[group] ?? {}))
      rows.push({ group: key, name, .../** @type {any} */ (size) });
  }
  rows.sort((a, b) => (sort === "name" ? a.name.localeCompare(b.name) : (b[sort] ?? 0) - (a[sort] ?? 0)));
  const head = (/** @type {string} */ name, /** @type {string} */ text) =>
    h(
      "th",
      { scope: "col", "aria-sort": sort === name ? (name === "name" ? "ascending" : "descending") : "none" },
      h("button", { type: "button", class: "sort", onClick: () => onSort(name) }, text, sort === name ? " ▾" : ""),
    );
  const GROUPS = /** @type {Record<string, string>} */ ({
    file: t("file"),
    variable: t("variable"),
    layer: t("layer"),
    tool: t("tool"),
  });
  return h(
    "table",
    { class: "shares" },
    h("caption", { class: "hidden" }, t("shares")),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, t("what")),
        head("name", t("name")),
        head("bytes", t("bytes")),
        head("characters", t("characters")),
        head("tokens", t("tokens")),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          "tr",
          { key: `${row.group}:${row.name}` },
          h("td", { class: "hint" }, GROUPS[row.group]),
          h("th", { scope: "row" }, h(Name, null, row.name)),
          h("td", { class: "number" }, row.bytes),
          h("td", { class: "number" }, row.characters),
          h("td", { class: "number" }, row.tokens),
        ),
      ),
    ),
    h(
      "tfoot",
      null,
      h(
        "tr",
        null,
        h("td", null),
        h("th", { scope: "row" }, t("all")),
        h("td", { class: "number" }, shares.all?.bytes),
        h("td", { class: "number" }, shares.all?.characters),
        h("td", { class: "number" }, shares.all?.tokens),
      ),
    ),
  );
}

/**
 * Why something is not in the text, with the names that decided it.
 * @param {import("./spanmap.js").SpanMap | null} spans
 * @param {any} entry
 */
export function absentReason(spans, entry) {
  const REASONS = /** @type {Record<string, string>} */ ({
    condition: t("absentCondition"),
    empty_loop: t("absentLoop"),
    empty_value: t("absentEmpty"),
    undefined: t("absentUndefined"),
    missing_include: t("absentInclude"),
  });
  const inputs = (spans?.map.inputs?.[entry.inputs] ?? [])
    .map((/** @type {any} */ input) =>
      typeof input === "number" ? spans?.map.values[input]?.path : typeof input === "string" ? input : input?.path,
    )
    .filter(Boolean);
  return [REASONS[entry.reason] ?? entry.reason, withMarks(inputs.join(", "))].filter(Boolean).join(" ");
}

/**
 * What is not in the text, and why.
 * @param {{spans: import("./spanmap.js").SpanMap, onOrigin: (place: any) => void}} props
 */
export function AbsentList({ spans, onOrigin }) {
  const absent = spans.map.absent ?? [];
  if (!absent.length) return h("p", { class: "hint" }, t("nothingAbsent"));
  return h(
    "ul",
    { class: "plain-list absent" },
    absent.map((/** @type {any} */ entry, /** @type {number} */ index) => {
      const place = spans.place(entry.place);
      return h(
        "li",
        { key: index, class: "line" },
        h("span", { class: "absent-sign", "aria-hidden": "true" }, "∅"),
        h("span", { class: "grow" }, absentReason(spans, entry)),
        place &&
          h(Button, {
            tone: "tiny",
            onClick: () => onOrigin(place),
            children: `${place.file.split("/").pop()}:${place.line}`,
          }),
      );
    }),
  );
}
