// What can be done with a whole prompt: copy, rename, delete, and calls to copy.
import { h, useState } from "./vendor-preact.js";
import { call, segment, toJson } from "./api.js";
import { ExportDialog } from "./foreign.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { goTo, isWritable, linkTo, toast, whoami } from "./state.js";
import { Button, Dialog, Failure, Name, TextField, copyText } from "./ui.js";

/** @param {{id: string, definition: any, values: Record<string, any>}} props */
export function PromptActions({ id, definition, values }) {
  const [open, setOpen] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const hasPython = (definition.files ?? []).some((/** @type {string} */ path) => path.endsWith(".py"));
  const scope = hasPython ? "admin" : "write";
  const close = () => setOpen("");
  const remove = async () => {
    try {
      const { data } = await call("DELETE", `/api/prompts/${segment(id)}`);
      goTo(linkTo("prompts"));
      toast("deleted", "info", id, {
        key: "undo",
        run: async () => {
          await call("POST", `/api/trash/${segment(data.trash)}/restore`);
          toast("restored", "success", id);
        },
      });
    } catch (problem) {
      setError(problem);
    }
  };
  const isOwn = whoami.value?.bound || isWritable(definition.source ?? "");
  return h(
    "div",
    { class: "actions" },
    definition.body?.kind === "module" && h("a", { class: "button", href: linkTo("module", id) }, t("module")),
    h(Button, { onClick: () => setOpen("as"), children: t("copyAs") }),
    h(Button, { onClick: () => setOpen("export"), children: t("exportButton") }),
    h(Button, { scope, onClick: () => setOpen("copy"), children: t("duplicate") }),
    isOwn && h(Button, { scope, onClick: () => setOpen("rename"), children: t("rename") }),
    isOwn && h(Button, { scope, tone: "danger", onClick: remove, children: t("delete") }),
    h("a", { class: "button primary", href: linkTo("chat", id) }, t("chat")),
    error && h(Dialog, { title: t("delete"), onClose: () => setError(null) }, h(Failure, { error })),
    open === "as" && h(CopyAs, { id, values, onClose: close }),
    open === "export" && h(ExportDialog, { id, onClose: close }),
    open === "copy" && h(Duplicate, { id, onClose: close }),
    open === "rename" && h(Rename, { id, onClose: close }),
  );
}

/** A word of a shell. @param {string} text */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** @param {string} route @param {string} body */
const curlText = (route, body) =>
  [
    `curl -s ${quoted(route)} \\`,
    `  -H "authorization: Bearer $HINAGATA_TOKEN" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d ${quoted(body)}`,
  ].join("\n");

/** @param {string} route @param {string} body */
const openAiText = (route, body) =>
  [
    `import os, requests`,
    `from openai import OpenAI`,
    ``,
    `rendered = requests.post(`,
    `    ${JSON.stringify(route)},`,
    `    headers={"authorization": f"Bearer {os.environ['HINAGATA_TOKEN']}", "content-type": "application/json"},`,
    `    data=${JSON.stringify(body)}.encode(),`,
    `).json()["rendered_prompt"]`,
    `messages = rendered if isinstance(rendered, list) else [{"role": "user", "content": rendered}]`,
    `answer = OpenAI().chat.completions.create(model="gpt-5", messages=messages)`,
    `print(answer.choices[0].message.content)`,
  ].join("\n");

/** @param {{id: string, values: Record<string, any>, onClose: () => void}} props */
function CopyAs({ id, values, onClose }) {
  const words = Object.entries(values).map(([name, value]) =>
    quoted(typeof value === "string" && !value.startsWith("@") ? `${name}=${value}` : `${name}:=${toJson(value)}`),
  );
  const body = toJson({ variables: values });
  const route = `${location.origin}/api/render/prompts/${segment(id)}`;
  const texts = [
    ["hina render", ["hina", "render", quoted(id), ...words].join(" ")],
    ["curl", curlText(route, body)],
    ["OpenAI", openAiText(route, body)],
  ];
  return h(
    Dialog,
    { title: t("copyAs"), onClose, wide: true },
    texts.map(([name, text]) =>
      h(
        "section",
        { key: name, class: "stack" },
        h(
          "div",
          { class: "line" },
          h("h3", { class: "grow" }, name),
          h(Button, {
            tone: "small",
            label: `${t("copy")} ${name}`,
            onClick: async () => {
              await copyText(text);
              toast("copied", "success", name);
            },
            children: t("copy"),
          }),
        ),
        h("pre", { class: "code-block", tabIndex: 0 }, withMarks(text)),
      ),
    ),
  );
}

/** @param {{id: string, onClose: () => void}} props */
function Duplicate({ id, onClose }) {
  const [to, setTo] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const copy = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const { data } = await call("POST", `/api/prompts/${segment(id)}/copy`, {
        body: to.trim() ? { to: to.trim() } : {},
      });
      onClose();
      toast("copiedPrompt", "success", data.source);
      goTo(linkTo("prompt", data.prompt_id, "files"));
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    Dialog,
    { title: t("duplicate"), onClose },
    h(
      "form",
      { class: "stack", onSubmit: copy },
      h(TextField, {
        label: t("newId"),
        value: to,
        onInput: setTo,
        hint: t("copyHint"),
        placeholder: id,
        autofocus: true,
      }),
      error && h(Failure, { error }),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, { type: "submit", tone: "primary", children: t("duplicate") }),
      ),
    ),
  );
}

/** @param {{id: string, onClose: () => void}} props */
function Rename({ id, onClose }) {
  const [to, setTo] = useState(id);
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const send = async (/** @type {boolean} */ isDry) => {
    setError(null);
    try {
      const { data } = await call("POST", `/api/prompts/${segment(id)}/rename`, {
        body: { to: to.trim(), dry_run: isDry },
      });
      if (isDry) return setPlan(data);
      onClose();
      toast("renamed", "success", data.to);
      goTo(linkTo("prompt", data.to), true);
    } catch (problem) {
      setPlan(null);
      setError(problem);
    }
    return undefined;
  };
  return h(
    Dialog,
    { title: t("rename"), onClose },
    h(
      "form",
      {
        class: "stack",
        onSubmit: (/** @type {Event} */ event) => (
          event.preventDefault(),
          send(plan === null || plan.to !== to.trim())
        ),
      },
      h(TextField, {
        label: t("newId"),
        value: to,
        onInput: (text) => {
          setTo(text);
          setPlan(null);
        },
        required: true,
        autofocus: true,
      }),
      plan &&
        h(
          "div",
          { class: "stack" },
          h("p", null, t("renameTo"), " ", h(Name, null, plan.new_source)),
          plan.references.length === 0
            ? h("p", { class: "hint" }, t("noReferences"))
            : h(
                "div",
                null,
                h("p", null, t("references", { count: plan.references.length })),
                h(
                  "ul",
                  { class: "plain-list" },
                  plan.references.map((/** @type {any} */ reference, /** @type {number} */ index) =>
                    h(
                      "li",
                      { key: index },
                      h("code", null, `${reference.file}:${reference.line}`),
                      " ",
                      withMarks(reference.text ?? ""),
                    ),
                  ),
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
          disabled: to.trim() === id,
          children: plan ? t("rename") : t("checkRename"),
        }),
      ),
    ),
  );
}
