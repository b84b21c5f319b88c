// Documents of the store, as JSON, saved with the version they started from.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { ApiError, call, fromJson, get, segment, toJson } from "./api.js";
import { Difference } from "./editor.js";
import { SchemaField } from "./form.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { resolved } from "./schema.js";
import { goTo, keep, kept, linkTo, place, storeVersion, toast } from "./state.js";
import { Button, Empty, Failure, Loaded, Name, Notice, Tabs, TextField, useLoaded } from "./ui.js";

const KINDS = ["environs", "tools", "extensions", "templates"];

/** The schemas of the documents, by the name in the description of the routes. */
const SCHEMAS = /** @type {Record<string, string>} */ ({
  tools: "Tool",
  extensions: "Extension",
  templates: "Template",
});

/** What a new document starts with. @param {string} kind @param {string} id */
function starterText(kind, id) {
  const last = id.split(".").pop() ?? id;
  switch (kind) {
    case "tools":
      return toJson(
        {
          name: last,
          description: "",
          type: "restful",
          method: "POST",
          url: "http://127.0.0.1:9000/",
          parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        },
        2,
      );
    case "extensions":
      return toJson(
        {
          name: id,
          version: "1.0.0",
          contributes: { prompts: [{ name: "hello", userPrompt: "Hello {{.variables.name}}!" }] },
        },
        2,
      );
    case "templates":
      return toJson({ name: id, messages: [{ role: "user", content: "Hello {{.variables.name}}!" }] }, 2);
    default:
      return '""';
  }
}

export function StoreView() {
  const kind = KINDS.includes(place.value.id) ? place.value.id : "environs";
  const id = place.value.tab;
  const [name, setName] = useState("");
  const list = useLoaded(() => get(`/api/${kind}`), [kind, storeVersion.value]);
  const WORDS = /** @type {Record<string, string>} */ ({
    environs: t("environs"),
    tools: t("tools"),
    extensions: t("extensions"),
    templates: t("templates"),
  });
  const HINTS = /** @type {Record<string, string>} */ ({
    environs: t("environsHint"),
    tools: t("toolsHint"),
    extensions: t("extensionsHint"),
    templates: t("templatesHint"),
  });
  return h(
    "div",
    { class: "view store" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("store")), h("p", { class: "lead" }, t("storeHint"))),
      h(
        "form",
        {
          class: "actions end",
          onSubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            if (name.trim()) goTo(linkTo("store", kind, name.trim()));
          },
        },
        h(TextField, {
          label: t("newDocument"),
          value: name,
          onInput: setName,
          placeholder: kind === "environs" ? "team.name" : kind === "tools" ? "town.weather" : "my_document",
        }),
        h(Button, { type: "submit", scope: "write", disabled: !name.trim(), children: t("create") }),
      ),
    ),
    h(Tabs, {
      label: t("store"),
      current: kind,
      onPick: (next) => goTo(linkTo("store", next)),
      tabs: KINDS.map((one) => ({ id: one, text: WORDS[one] })),
    }),
    h(
      "div",
      { class: "split" },
      h(Loaded, {
        of: list,
        children: () =>
          list.value.length === 0
            ? h(Empty, { title: t("noDocuments"), icon: "▦" }, h("p", null, HINTS[kind]))
            : h(
                "ul",
                { class: "side-list", "aria-label": WORDS[kind] },
                list.value.map((/** @type {any} */ one) => {
                  const key = typeof one === "string" ? one : one.id;
                  return h(
                    "li",
                    { key },
                    h(
                      "a",
                      { href: linkTo("store", kind, key), "aria-current": key === id ? "true" : undefined },
                      h(Name, null, key),
                    ),
                  );
                }),
              ),
      }),
      id
        ? h(Document, { kind, id, key: `${kind}/${id}`, onChange: list.again })
        : list.value?.length
          ? h(Empty, { title: t("pickDocument"), icon: "▦" }, h("p", null, HINTS[kind]))
          : null,
    ),
  );
}

/**
 * One document. A change is saved with the version that it started from, so that nobody's change is lost.
 * @param {{kind: string, id: string, onChange: () => void}} props
 */
function Document({ kind, id, onChange }) {
  const path = `/api/${kind}/${segment(id)}`;
  const loaded = useLoaded(() => readDocument(path), [path, storeVersion.value]);
  const [draft, setDraft] = useState(
    /** @type {{text: string, etag: string | null} | null} */ (kept(`store:${path}`, null)),
  );
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => keep(`store:${path}`, draft), [draft]);
  const isNew = loaded.value !== undefined && loaded.value.data === undefined;
  const stored = loaded.value?.data === undefined ? (isNew ? starterText(kind, id) : "") : toJson(loaded.value.data, 2);
  const shown = draft?.text ?? stored;
  const wrong = jsonError(shown);
  const etag = loaded.value?.etag ?? null;
  const isOvertaken = draft !== null && loaded.value !== undefined && draft.etag !== etag;
  const write = async (/** @type {string} */ method) => {
    setError(null);
    const version = draft ? draft.etag : etag;
    try {
      const body = method === "PUT" ? fromJson(draft?.text ?? stored) : undefined;
      await call(method, path, { body, headers: version ? { "if-match": version } : { "if-none-match": "*" } });
      setDraft(null);
      toast(method === "PUT" ? "saved" : "removed", "success", id);
      loaded.again();
      onChange();
    } catch (problem) {
      setError(problem);
      loaded.again();
    }
  };
  return h(
    "article",
    { class: "stack", "aria-label": id },
    h("h2", null, h(Name, null, id)),
    h(Loaded, {
      of: loaded,
      children: () =>
        h(
          "label",
          { class: "field" },
          h("span", { class: "field-label" }, t("documentJson")),
          h("textarea", {
            class: "code",
            rows: Math.min(24, Math.max(kind === "environs" ? 4 : 12, shown.split("\n").length + 1)),
            spellcheck: false,
            value: shown,
            "aria-invalid": wrong ? "true" : undefined,
            onInput: (/** @type {any} */ event) =>
              setDraft({ text: event.currentTarget.value, etag: draft ? draft.etag : etag }),
          }),
        ),
    }),
    isOvertaken &&
      h(Overtaken, { stored, draft, id, onTake: () => setDraft(null), onKeep: (text) => setDraft({ text, etag }) }),
    wrong && h(Notice, { tone: "error", children: t("notJson", { reason: withMarks(wrong) }) }),
    error && h(Failure, { error }),
    h(
      "div",
      { class: "actions" },
      h(Button, {
        tone: "primary",
        scope: "write",
        disabled: Boolean(wrong) || (!isNew && shown === stored),
        onClick: () => write("PUT"),
        children: t("save"),
      }),
      etag && h(Button, { tone: "danger", scope: "write", onClick: () => write("DELETE"), children: t("remove") }),
    ),
    kind === "tools" &&
      loaded.value?.data !== undefined &&
      h(ToolTrial, { id, tool: loaded.value.data, isChanged: draft !== null }),
    SCHEMAS[kind] && h(SchemaFields, { name: SCHEMAS[kind] }),
  );
}

/** Why a text is no JSON, or an empty text. @param {string} text */
function jsonError(text) {
  if (!text.trim()) return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return String(/** @type {Error} */ (error).message);
  }
}

/**
 * The arguments of a tool as one schema: stores also hold lists of named parameters.
 * @param {any} parameters
 */
function argumentSchema(parameters) {
  if (!Array.isArray(parameters)) return parameters ?? { type: "object", properties: {} };
  const properties = Object.fromEntries(parameters.map(({ name, ...schema }) => [name, schema]));
  return { type: "object", properties, required: parameters.filter((one) => one.required).map((one) => one.name) };
}

/** Calls a stored tool with the values of a form. @param {{id: string, tool: any, isChanged: boolean}} props */
function ToolTrial({ id, tool, isChanged }) {
  const schema = argumentSchema(tool.parameters);
  const [values, setValues] = useState(/** @type {any} */ (kept(`tool:${id}`, {})));
  const [state, setState] = useState(
    /** @type {{result?: any, error?: any, isRunning: boolean}} */ ({ isRunning: false }),
  );
  useEffect(() => keep(`tool:${id}`, values), [values]);
  const run = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setState({ isRunning: true });
    await call("POST", `/api/tools/${segment(id)}/call`, { body: { arguments: values } }).then(
      ({ data }) => setState({ result: data, isRunning: false }),
      (error) => setState({ error, isRunning: false }),
    );
  };
  const hasFields = Object.keys(resolved(schema, schema).properties ?? {}).length > 0;
  return h(
    "section",
    { class: "pane stack", "aria-label": t("tryTool") },
    h("h3", null, t("tryTool")),
    h("p", { class: "hint" }, isChanged ? t("trySaved") : t("tryToolHint")),
    h(
      "form",
      { class: "stack", onSubmit: run },
      hasFields
        ? h(SchemaField, { id: "tool-arguments", schema, root: schema, value: values, isSet: true, onValue: setValues })
        : h("p", { class: "hint" }, t("noArguments")),
      h(
        "div",
        { class: "actions" },
        h(Button, {
          type: "submit",
          tone: "primary",
          scope: "chat",
          disabled: state.isRunning,
          children: t("callTool"),
        }),
        state.isRunning && h("span", { class: "spinner", role: "status", "aria-label": t("running") }),
      ),
    ),
    state.error && h(Failure, { error: state.error }),
    state.result &&
      h(
        "div",
        { class: "stack", role: "status" },
        h("p", { class: "hint" }, t("toolAnswered", { milliseconds: state.result.milliseconds })),
        h(
          "pre",
          { class: "code-block", tabIndex: 0 },
          withMarks(
            typeof state.result.result === "string" ? state.result.result : toJson(state.result.result, 2),
          ).replaceAll("⟦U+000A⟧", "\n"),
        ),
      ),
  );
}

/** The fields that a document can have, from the description of the routes. @param {{name: string}} props */
function SchemaFields({ name }) {
  const described = useLoaded(() => get("/openapi.json"), []);
  const all = described.value;
  const schema = all ? resolved(all.components.schemas[name], all) : null;
  const fields = /** @type {[string, any][]} */ (Object.entries(schema?.properties ?? {}));
  if (!fields.length) return null;
  const typeText = (/** @type {any} */ one) =>
    Array.isArray(one.enum) ? one.enum.map(String).join(" | ") : [one.type ?? ""].flat().join(" | ");
  return h(
    "details",
    null,
    h("summary", null, t("fieldsOf")),
    h(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": t("fieldsOf") },
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            [t("name"), t("type"), t("description")].map((text) => h("th", { scope: "col", key: text }, text)),
          ),
        ),
        h(
          "tbody",
          null,
          fields.map(([field, part]) => {
            const one = resolved(part, all);
            return h(
              "tr",
              { key: field },
              h("th", { scope: "row" }, h("code", null, field), schema.required?.includes(field) && " *"),
              h("td", { class: "hint" }, typeText(one)),
              h("td", null, one.description ?? ""),
            );
          }),
        ),
      ),
    ),
  );
}

/** A document and its version; a missing one is new. @param {string} path */
async function readDocument(path) {
  try {
    const { data, etag } = await call("GET", path);
    return { data, etag };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { data: undefined, etag: null };
    throw error;
  }
}

/**
 * The document was changed elsewhere while it was edited here.
 * @param {{stored: string, draft: {text: string} | null, id: string, onTake: () => void,
 *   onKeep: (text: string) => void}} props
 */
function Overtaken({ stored, draft, id, onTake, onKeep }) {
  const merged = useRef(draft?.text ?? "");
  return h(
    Notice,
    { tone: "warning", role: "alert" },
    h("strong", null, t("changedOnDisk")),
    h("p", null, t("changedOnDiskHint")),
    h(Difference, { left: stored, right: draft?.text ?? "", label: id, onMerge: (text) => (merged.current = text) }),
    h(
      "div",
      { class: "actions" },
      h(Button, { tone: "small", onClick: onTake, children: t("takeTheirs") }),
      h(Button, { tone: "small", onClick: () => onKeep(draft?.text ?? ""), children: t("keepMine") }),
      h(Button, { tone: "small primary", onClick: () => onKeep(merged.current), children: t("useMerged") }),
    ),
  );
}
