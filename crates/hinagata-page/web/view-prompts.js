// All prompts: filtered while typing; only the rows in view are elements.
import { h, useEffect, useMemo, useRef, useState } from "./vendor-preact.js";
import { call, get } from "./api.js";
import { FindingBadges, FindingList, findingsByPrompt, useFindings } from "./findings.js";
import { ImportDialog } from "./foreign.js";
import { formatNumber, formatTime, t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { catalogVersion, goTo, keep, kept, linkTo, localValue, setLocalValue, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Loaded, Name, TextField, useLoaded } from "./ui.js";

const ROW = 64;

/** All prompts, page by page. @returns {Promise<any[]>} */
export async function loadPrompts() {
  const all = [];
  let path = "/api/prompts?view=full&limit=10000";
  while (path) {
    const { data, response } = await call("GET", path);
    all.push(...data);
    path = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get("link") ?? "")?.[1] ?? "";
  }
  return all;
}

/** Prompts of the workspace come before those that the program and packs bring. @param {any} prompt */
const rank = (prompt) => (prompt.origin === "builtin" ? 2 : prompt.origin === "pack" ? 1 : 0);

/** What the list is narrowed to besides the words: nothing, or what needs a decision or a repair. */
const NARROWINGS = /** @type {const} */ (["conflict", "finding"]);

export function PromptsView() {
  const prompts = useLoaded(loadPrompts, [catalogVersion.value]);
  const findings = useFindings();
  const [query, setQuery] = useState(kept("filter", ""));
  const [type, setType] = useState("");
  const [only, setOnly] = useState("");
  const [open, setOpen] = useState("");
  const all = useMemo(() => [...(prompts.value ?? [])].sort((one, other) => rank(one) - rank(other)), [prompts.value]);
  const byPrompt = useMemo(() => findingsByPrompt(findings.value ?? [], all), [findings.value, all]);
  const rows = useMemo(() => filterPrompts(all, query, type, only, byPrompt), [all, query, type, only, byPrompt]);
  const types = useMemo(() => [...new Set(all.map((prompt) => prompt.type).filter(Boolean))].sort(), [all]);
  const counts = {
    conflict: useMemo(() => all.filter(isConflict).length, [all]),
    finding: findings.value?.length ?? 0,
  };
  const WORDS = { conflict: t("conflictsToSettle"), finding: t("findings") };
  useEffect(() => keep("filter", query || null), [query]);
  const close = () => setOpen("");
  return h(
    "div",
    { class: "view prompts" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("prompts")), h("p", { class: "lead" }, t("promptsHint"))),
      h(
        "div",
        { class: "actions" },
        h(Button, { tone: "quiet-text", scope: "write", onClick: () => setOpen("trash"), children: t("trash") }),
        h(Button, { scope: "write", onClick: () => setOpen("import"), children: t("importButton") }),
        h(Button, { tone: "primary", scope: "write", onClick: () => setOpen("new"), children: t("newPrompt") }),
      ),
    ),
    prompts.value && h(Welcome, { prompts: all, onNew: () => setOpen("new"), onImport: () => setOpen("import") }),
    h(
      "div",
      { class: "filters" },
      h("input", {
        type: "search",
        class: "search",
        "aria-label": t("filterPrompts"),
        placeholder: t("filterPrompts"),
        value: query,
        onInput: (/** @type {any} */ event) => setQuery(event.currentTarget.value),
      }),
      types.length > 1 &&
        h(
          "select",
          {
            "aria-label": t("type"),
            value: type,
            onChange: (/** @type {any} */ event) => setType(event.currentTarget.value),
          },
          h("option", { value: "" }, t("allTypes")),
          types.map((name) => h("option", { value: name, key: name }, withMarks(name))),
        ),
      NARROWINGS.filter((name) => counts[name] > 0 || only === name).map((name) =>
        h(Button, {
          key: name,
          tone: name === "finding" ? "chip error" : "chip warning",
          pressed: only === name,
          onClick: () => setOnly(only === name ? "" : name),
          children: [WORDS[name], " ", h("span", { class: "count", key: "count" }, formatNumber(counts[name]))],
        }),
      ),
      h(
        "span",
        { class: "hint shown-count", role: "status" },
        t("promptCount", { shown: formatNumber(rows.length), all: formatNumber(all.length) }),
      ),
    ),
    only === "finding" && findings.value && h(OtherFindings, { findings: findings.value, byPrompt }),
    h(Loaded, {
      of: prompts,
      children: () =>
        rows.length > 0
          ? h(VirtualList, { rows, byPrompt })
          : all.length === 0
            ? h(
                Empty,
                { title: t("noPrompts"), icon: "✎" },
                h("p", null, t("noPromptsHint")),
                h(
                  "div",
                  { class: "actions centred" },
                  h(Button, {
                    tone: "primary",
                    scope: "write",
                    onClick: () => setOpen("new"),
                    children: t("newPrompt"),
                  }),
                  h(Button, { scope: "write", onClick: () => setOpen("import"), children: t("importButton") }),
                ),
              )
            : h(
                Empty,
                { title: t("noMatch"), icon: "⌕" },
                h(Button, {
                  onClick: () => (setQuery(""), setType(""), setOnly("")),
                  children: t("showAll"),
                }),
              ),
    }),
    open === "new" && h(NewPrompt, { onClose: close }),
    open === "import" && h(ImportDialog, { onClose: close }),
    open === "trash" && h(Trash, { onClose: close }),
  );
}

/** @param {any} prompt */
const isConflict = (prompt) => prompt.error?.code === "conflict" || (prompt.origin === null && !prompt.source);

/**
 * What can be done here, until it is hidden.
 * @param {{prompts: any[], onNew: () => void, onImport: () => void}} props
 */
function Welcome({ prompts, onNew, onImport }) {
  const [isHidden, setHidden] = useState(localValue("welcome", "") === "off");
  const first =
    prompts.find((prompt) => !prompt.error && rank(prompt) === 0) ?? prompts.find((prompt) => !prompt.error);
  if (isHidden || !first) return null;
  const hide = () => {
    setLocalValue("welcome", "off");
    setHidden(true);
  };
  const steps = [
    [
      t("welcomeTry"),
      t("welcomeTryHint"),
      h(
        "a",
        { class: "button", href: linkTo("prompt", first.prompt_id) },
        t("openNamed", { name: withMarks(first.prompt_id) }),
      ),
    ],
    [t("welcomeWrite"), t("welcomeWriteHint"), h(Button, { scope: "write", onClick: onNew, children: t("newPrompt") })],
    [
      t("welcomeBring"),
      t("welcomeBringHint"),
      h(Button, { scope: "write", onClick: onImport, children: t("importButton") }),
    ],
  ];
  return h(
    "section",
    { class: "welcome", "aria-label": t("welcome") },
    h(
      "div",
      { class: "welcome-head" },
      h("h2", null, t("welcome")),
      h(Button, { tone: "tiny", onClick: hide, children: t("hide") }),
    ),
    h(
      "ul",
      { class: "welcome-steps" },
      steps.map(([title, hint, action], index) =>
        h("li", { key: index }, h("h3", null, title), h("p", { class: "hint" }, hint), action),
      ),
    ),
  );
}

/** Findings that belong to no prompt, such as those about packs and settings. @param {any} props */
function OtherFindings({ findings, byPrompt }) {
  const owned = new Set([...byPrompt.values()].flat());
  const others = findings.filter((/** @type {any} */ finding) => !owned.has(finding));
  return others.length
    ? h(
        "section",
        { class: "pane other-findings", "aria-label": t("otherFindings") },
        h("h2", null, t("otherFindings")),
        h(FindingList, { findings: others }),
      )
    : null;
}

/**
 * @param {any[]} prompts
 * @param {string} query
 * @param {string} type
 * @param {string} only
 * @param {Map<string, any[]>} findings
 */
export function filterPrompts(prompts, query, type, only, findings) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return prompts.filter((prompt) => {
    if (type && prompt.type !== type) return false;
    if (only === "conflict" && !isConflict(prompt)) return false;
    if (only === "finding" && !findings.has(prompt.prompt_id)) return false;
    if (!words.length) return true;
    const text = [
      prompt.prompt_id,
      prompt.title,
      prompt.description,
      prompt.type,
      prompt.pack_id,
      prompt.origin,
      ...(prompt.tags ?? []),
    ]
      .concat(prompt.error ? ["error", t("conflict")] : [], findings.has(prompt.prompt_id) ? [t("findings")] : [])
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** @param {{rows: any[], byPrompt: Map<string, any[]>}} props */
function VirtualList({ rows, byPrompt }) {
  const host = useRef(/** @type {HTMLUListElement | null} */ (null));
  const [range, setRange] = useState([0, 40]);
  useEffect(() => {
    const measure = () => {
      const top = host.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / ROW) - 10);
      setRange([first, first + Math.ceil(innerHeight / ROW) + 20]);
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, [rows.length]);
  const [first, last] = range;
  useEffect(() => {
    // The policy forbids style attributes in markup, not changes by script.
    if (host.current) {
      host.current.style.paddingTop = `${Math.min(first, rows.length) * ROW}px`;
      host.current.style.paddingBottom = `${Math.max(0, rows.length - last) * ROW}px`;
    }
  }, [first, last, rows.length]);
  return h(
    "ul",
    { class: "rows", ref: host, "aria-label": t("prompts") },
    rows.slice(first, last).map((prompt, index) =>
      h(PromptRow, {
        key: prompt.prompt_id,
        prompt,
        findings: byPrompt.get(prompt.prompt_id) ?? [],
        position: first + index + 1,
        count: rows.length,
      }),
    ),
  );
}

/** @param {any} props */
function PromptRow({ prompt, findings, position, count }) {
  const isOpen = isConflict(prompt);
  const target = isOpen ? linkTo("conflict", prompt.prompt_id) : linkTo("prompt", prompt.prompt_id);
  const said = prompt.error ? (prompt.error.detail ?? prompt.error.message) : undefined;
  return h(
    "li",
    { class: "row", "aria-posinset": position, "aria-setsize": count },
    h(
      "a",
      { href: target, class: "row-link" },
      h(
        "span",
        { class: "row-main" },
        h("span", { class: "row-name" }, h(Name, null, prompt.prompt_id)),
        h(
          "span",
          { class: "row-text", dir: "auto" },
          withMarks([prompt.title, prompt.description].filter(Boolean).join(" – ") || said || ""),
        ),
      ),
      h(
        "span",
        { class: "row-badges" },
        isOpen && h(Badge, { tone: "warning", children: t("conflict") }),
        prompt.error && !isOpen && h(Badge, { tone: "error", children: t("cannotUse") }),
        h(FindingBadges, { findings }),
        (prompt.tags ?? [])
          .slice(0, 3)
          .map((/** @type {string} */ tag) => h("span", { class: "tag", key: tag }, withMarks(tag))),
        prompt.pack_id && h(Badge, { tone: "pack", children: withMarks(prompt.pack_id) }),
        prompt.origin === "builtin" && h(Badge, { children: t("builtin") }),
        prompt.type && prompt.type !== "custom" && h("span", { class: "type" }, withMarks(prompt.type)),
      ),
    ),
  );
}

/** @param {{onClose: () => void}} props */
function NewPrompt({ onClose }) {
  const [id, setId] = useState("");
  const [form, setForm] = useState("simple");
  const [error, setError] = useState(/** @type {any} */ (null));
  const create = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const { data } = await call("POST", "/api/prompts", { body: { prompt_id: id, form } });
      onClose();
      goTo(linkTo("prompt", data.prompt_id, "files"));
    } catch (problem) {
      setError(problem);
    }
  };
  const forms = [
    ["simple", t("formSimple")],
    ["full", t("formFull")],
    ["messages", t("formMessages")],
    ["module", t("formModule")],
  ];
  return h(
    Dialog,
    { title: t("newPrompt"), onClose },
    h(
      "form",
      { onSubmit: create, class: "stack" },
      h(TextField, {
        label: t("promptId"),
        value: id,
        onInput: setId,
        required: true,
        autofocus: true,
        hint: t("promptIdHint"),
      }),
      h(
        "fieldset",
        { class: "radios" },
        h("legend", null, t("skeleton")),
        forms.map(([value, text]) =>
          h(
            "label",
            { key: value, class: "radio" },
            h("input", { type: "radio", name: "form", value, checked: form === value, onChange: () => setForm(value) }),
            text,
          ),
        ),
      ),
      error && h(Failure, { error }),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, {
          type: "submit",
          tone: "primary",
          scope: form === "full" ? "admin" : "write",
          children: t("create"),
        }),
      ),
    ),
  );
}

/** @param {{onClose: () => void}} props */
function Trash({ onClose }) {
  const trash = useLoaded(() => get("/api/trash"), []);
  const [error, setError] = useState(/** @type {any} */ (null));
  const restore = async (/** @type {any} */ entry) => {
    try {
      await call("POST", `/api/trash/${encodeURIComponent(entry.entry)}/restore`);
      toast("restored", "success", entry.prompt_id ?? entry.path);
      trash.again();
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    Dialog,
    { title: t("trash"), onClose, wide: true },
    h("p", { class: "hint" }, t("trashHint")),
    error && h(Failure, { error }),
    h(Loaded, {
      of: trash,
      children: () =>
        trash.value.entries.length === 0
          ? h(Empty, { title: t("trashEmpty") })
          : h(
              "ul",
              { class: "plain-list" },
              trash.value.entries.map((/** @type {any} */ entry) =>
                h(
                  "li",
                  { key: entry.entry, class: "line" },
                  h(
                    "span",
                    { class: "grow" },
                    h(Name, null, entry.prompt_id ?? entry.path),
                    h("span", { class: "hint" }, ` ${formatTime(entry.deleted)}`),
                  ),
                  h(Button, {
                    tone: "small",
                    label: `${t("restore")} ${entry.prompt_id ?? entry.path}`,
                    onClick: () => restore(entry),
                    children: t("restore"),
                  }),
                ),
              ),
            ),
    }),
  );
}
