// Small parts that several views use.
import { Fragment, h, useEffect, useRef, useState } from "./vendor-preact.js";
import { ApiError } from "./api.js";
import { hasText, t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { can } from "./state.js";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * A name of a prompt, file or pack: isolated, hidden characters marked.
 * @param {{children?: string, class?: string}} props
 */
export const Name = (props) =>
  h("bdi", { class: props.class, title: withMarks(props.children ?? "") }, withMarks(props.children ?? ""));

/**
 * A button; with `scope`, it is locked for callers without that scope and says so.
 * @param {{children: Children, onClick?: () => any, tone?: string, scope?: string, disabled?: boolean, label?: string,
 *   pressed?: boolean, type?: "button" | "submit", class?: string, expanded?: boolean}} props
 */
export function Button(props) {
  const isLocked = props.scope !== undefined && !can(props.scope);
  const lock = isLocked ? t("lockedScope", { scope: /** @type {string} */ (props.scope) }) : undefined;
  return h(
    "button",
    {
      type: props.type ?? "button",
      class: `button ${props.tone ?? ""} ${props.class ?? ""}`,
      disabled: props.disabled,
      "aria-disabled": isLocked ? "true" : undefined,
      "aria-label": props.label,
      "aria-pressed": props.pressed === undefined ? undefined : String(props.pressed),
      "aria-expanded": props.expanded === undefined ? undefined : String(props.expanded),
      title: lock ?? props.label,
      onClick: isLocked ? undefined : props.onClick,
    },
    props.children,
    isLocked && h("span", { class: "lock" }, ` 🔒 ${props.scope}`),
  );
}

/** @param {{title: string, children?: Children, icon?: string}} props */
export const Empty = (props) =>
  h(
    "div",
    { class: "empty" },
    h("div", { class: "empty-icon", "aria-hidden": "true" }, props.icon ?? "○"),
    h("p", { class: "empty-title" }, props.title),
    props.children,
  );

/** The shapes of icons, each in a square of 24. */
const SHAPES = /** @type {Record<string, string>} */ ({
  search: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M15.5 15.5L20.5 20.5",
  settings: "M4 7h10M18 7h2M16 5v4M4 12h2M10 12h10M8 10v4M4 17h8M16 17h4M14 15v4",
  help: "M9 9a3 3 0 1 1 4.2 2.8c-.8.3-1.2 1-1.2 1.8v.6M12 17.4v.1M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18",
});

/** @param {{name: string}} props */
export const Icon = ({ name }) =>
  h("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: SHAPES[name] }));

/** @param {{tone?: string, children?: Children, role?: string}} props */
export const Notice = (props) =>
  h("div", { class: `notice ${props.tone ?? "info"}`, role: /** @type {any} */ (props.role) }, props.children);

/** @param {{scope: string}} props */
export const Locked = (props) =>
  h(Empty, { title: t("lockedTitle"), icon: "🔒" }, h("p", null, t("lockedScope", { scope: props.scope })));

/** An error: its code in the reader's language, the details as sent. @param {{error: any}} props */
export function Failure({ error }) {
  const problem = error instanceof ApiError ? error.problem : {};
  const code = error instanceof ApiError ? error.code : "unexpected";
  const key = `error_${code.replace(/\W/g, "_")}`;
  const title = hasText(key) ? t(key) : t("error_other", { code });
  const place = problem.place;
  return h(
    Notice,
    { tone: "error", role: "alert" },
    h("strong", null, title),
    error.message && h("p", { class: "detail", dir: "auto" }, withMarks(error.message)),
    place &&
      h("p", { class: "place" }, h(Name, null, `${place.file}${place.line ? `:${place.line}:${place.column}` : ""}`)),
    Array.isArray(problem.missing) &&
      problem.missing.length > 0 &&
      h(
        "p",
        null,
        t("missing"),
        " ",
        problem.missing.map((/** @type {string} */ name) => h("code", { key: name }, withMarks(name))),
      ),
    problem.hint && h("p", { class: "hint" }, withMarks(String(problem.hint))),
    Array.isArray(problem.near) &&
      problem.near.length > 0 &&
      h("p", { class: "hint" }, t("near"), " ", problem.near.map(withMarks).join(", ")),
  );
}

export const Loading = () =>
  h("div", { class: "loading", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), t("loading"));

/** @param {{children: Children, tone?: string}} props */
export const Badge = (props) => h("span", { class: `badge ${props.tone ?? ""}` }, props.children);

/**
 * Tabs; the arrow keys go from one to the next.
 * @param {{tabs: {id: string, text: string, count?: number}[], current: string, onPick: (id: string) => void,
 *   label: string}} props
 */
export function Tabs({ tabs, current, onPick, label }) {
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    onPick(next.id);
    const list = /** @type {HTMLElement} */ (event.currentTarget);
    requestAnimationFrame(() =>
      /** @type {HTMLElement | null} */ (list.querySelector('[aria-selected="true"]'))?.focus(),
    );
  };
  return h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": label, onKeyDown },
    tabs.map((tab) =>
      h(
        "button",
        {
          key: tab.id,
          type: "button",
          role: "tab",
          class: "tab",
          "aria-selected": String(tab.id === current) === "true" ? "true" : "false",
          tabIndex: tab.id === current ? 0 : -1,
          onClick: () => onPick(tab.id),
        },
        tab.text,
        tab.count !== undefined && h("span", { class: "count" }, String(tab.count)),
      ),
    ),
  );
}

/**
 * A dialog over the page. @param {{title: string, children?: Children, onClose: () => void, wide?: boolean}} props
 */
export function Dialog({ title, children, onClose, wide }) {
  const reference = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = reference.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return h(
    "dialog",
    {
      ref: reference,
      class: wide ? "dialog wide" : "dialog",
      "aria-label": title,
      onCancel: (/** @type {Event} */ event) => (event.preventDefault(), onClose()),
    },
    h(
      "header",
      { class: "dialog-head" },
      h("h2", null, title),
      h(Button, { tone: "quiet", label: t("close"), onClick: onClose, children: "✕" }),
    ),
    children,
  );
}

/**
 * A labelled input. @param {{label: string, value: string, onInput: (text: string) => void, type?: string, hint?:
 *   string,
 *   required?: boolean, pattern?: string, autofocus?: boolean, placeholder?: string}} props
 */
export function TextField(props) {
  return h(
    "label",
    { class: "field" },
    h("span", { class: "field-label" }, props.label),
    h("input", {
      type: props.type ?? "text",
      value: props.value,
      required: props.required,
      pattern: props.pattern,
      spellcheck: false,
      autocomplete: "off",
      autofocus: props.autofocus,
      placeholder: props.placeholder,
      onInput: (/** @type {any} */ event) => props.onInput(event.currentTarget.value),
    }),
    props.hint && h("span", { class: "hint" }, props.hint),
  );
}

/**
 * Loads something and loads it again when one of `keys` changes. The last value stays while the next one is on its way.
 * @template T @param {() => Promise<T>} load @param {any[]} keys
 * @returns {{value: T | undefined, error: any, isLoading: boolean, again: () => void}}
 */
export function useLoaded(load, keys) {
  const [state, setState] = useState(
    /** @type {{value: T | undefined, error: any, isLoading: boolean}} */ ({
      value: undefined,
      error: null,
      isLoading: true,
    }),
  );
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, isLoading: true }));
    load().then(
      (value) => isCurrent && setState({ value, error: null, isLoading: false }),
      (error) => isCurrent && setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [...keys, turn]);
  return { ...state, again: () => setTurn((before) => before + 1) };
}

/**
 * What a loaded value looks like until it is there.
 * @param {{of: {value: any, error: any, isLoading: boolean}, children: () => Children}} props
 */
export function Loaded({ of, children }) {
  if (of.value === undefined) return of.error ? h(Failure, { error: of.error }) : h(Loading, null);
  return h(Fragment, null, of.error && h(Failure, { error: of.error }), children());
}

/** The elements of lines in a difference, by their first sign. */
const LINE_TAGS = /** @type {Record<string, string>} */ ({ "+": "ins", "-": "del" });

/** A difference in the unified format; runs of added and removed lines say so. @param {{text: string}} props */
export function DiffText({ text }) {
  /** @type {{tag: string, text: string}[]} */
  const runs = [];
  let isHead = true;
  for (const line of text.split("\n")) {
    if (line.startsWith("@@")) isHead = false;
    const tag = isHead ? "span" : (LINE_TAGS[line[0]] ?? "span");
    const last = runs.at(-1);
    if (last?.tag === tag) last.text += `\n${line}`;
    else runs.push({ tag, text: line });
  }
  return h(
    "pre",
    { class: "code-block diff", tabIndex: 0 },
    runs.map((run, index) => h(run.tag, { key: index }, withMarks(run.text))),
  );
}

/** Copies a text; pages of other machines have no clipboard, so that it is selected there. @param {string} text */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  return undefined;
}

/** @param {number} bytes */
export function sizeText(bytes) {
  return bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 * 1024
      ? `${(bytes / 1024).toFixed(1)} KiB`
      : `${(bytes / 1048576).toFixed(1)} MiB`;
}
