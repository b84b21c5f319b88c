// Prompts of other programs: brought in after a look at what an import would do, and written for other programs.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { call, segment } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { goTo, linkTo, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Loaded, Loading, Name, Notice, copyText, useLoaded } from "./ui.js";

/** The formats that are read, by the name of the daemon. */
const READ = /** @type {[string, string][]} */ ([
  ["dotprompt", "dotprompt (Genkit)"],
  ["prompty", "Prompty 2"],
  ["prompty1", "Prompty 1"],
  ["skill", "Agent Skills"],
  ["claude", "Claude Code: commands"],
  ["claude-agent", "Claude Code: agents"],
  ["langchain", "LangChain"],
  ["langfuse", "Langfuse"],
  ["github", "GitHub Models"],
  ["gemini", "Gemini CLI"],
  ["llm", "llm"],
  ["semantic_kernel", "Semantic Kernel"],
  ["fabric", "fabric"],
  ["aichat", "aichat"],
  ["vscode", "VS Code"],
  ["cursor", "Cursor: commands"],
  ["cursor-rule", "Cursor: rules"],
  ["mustache", "mustache.js"],
  ["chevron", "chevron"],
]);

/** The formats that are written. */
const WRITTEN = [
  "dotprompt",
  "prompty",
  "skill",
  "claude",
  "claude-agent",
  "langchain",
  "langfuse",
  "github",
  "gemini",
];

/** The most bytes of files that one import sends; the daemon refuses larger bodies. */
const MOST_BYTES = 4_000_000;

/** @typedef {Record<string, string>} Texts */

/**
 * The texts of picked files by their paths. A file that is not UTF-8 is left out and named.
 * @param {Iterable<File>} files
 * @returns {Promise<{texts: Texts, skipped: string[]}>}
 */
async function readTexts(files) {
  /** @type {Texts} */
  const texts = {};
  const skipped = [];
  let bytes = 0;
  for (const file of files) {
    const path = /** @type {any} */ (file).webkitRelativePath || file.name;
    bytes += file.size;
    try {
      if (bytes > MOST_BYTES) throw new Error("too large");
      texts[path] = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      skipped.push(path);
    }
  }
  return { texts, skipped };
}

/** @param {{onClose: () => void}} props */
export function ImportDialog({ onClose }) {
  const [texts, setTexts] = useState(/** @type {Texts} */ ({}));
  const [skipped, setSkipped] = useState(/** @type {string[]} */ ([]));
  const [format, setFormat] = useState("auto");
  const [name, setName] = useState("");
  const [report, setReport] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isBusy, setBusy] = useState(false);
  const turn = useRef(0);
  const [files, directory] = [useRef(/** @type {any} */ (null)), useRef(/** @type {any} */ (null))];
  const paths = Object.keys(texts);
  const body = (/** @type {boolean} */ isDry) => ({
    files: texts,
    format,
    dry_run: isDry,
    ...(name.trim() ? { as: name.trim() } : {}),
  });
  const take = async (/** @type {Iterable<File> | null | undefined} */ list) => {
    if (!list) return;
    const read = await readTexts(list);
    setTexts(read.texts);
    setSkipped(read.skipped);
    setName("");
  };
  useEffect(() => {
    directory.current?.setAttribute("webkitdirectory", "");
  }, []);
  useEffect(() => {
    const now = ++turn.current;
    setError(null);
    if (paths.length === 0) return setReport(null);
    setBusy(true);
    // What is typed is checked once it stands still.
    const timer = setTimeout(
      () =>
        call("POST", "/api/import", { body: body(true) }).then(
          ({ data }) => now === turn.current && (setReport(data), setBusy(false)),
          (problem) => now === turn.current && (setError(problem), setBusy(false)),
        ),
      name ? 300 : 0,
    );
    return () => clearTimeout(timer);
  }, [texts, format, name]);
  const write = async () => {
    setBusy(true);
    try {
      const { data } = await call("POST", "/api/import", { body: body(false) });
      const written = data.prompts.filter((/** @type {any} */ one) => one.written);
      onClose();
      toast(
        "imported",
        "success",
        written
          .map((/** @type {any} */ one) => one.prompt_id)
          .join(", ")
          .slice(0, 200),
      );
      if (written.length === 1) goTo(linkTo("prompt", written[0].prompt_id));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const ready = report?.summary.imported ?? 0;
  return h(
    Dialog,
    { title: t("importPrompts"), onClose, wide: true },
    h("p", { class: "hint" }, t("importHint")),
    h(
      "div",
      {
        class: "drop",
        onDragOver: (/** @type {DragEvent} */ event) => event.preventDefault(),
        onDrop: (/** @type {DragEvent} */ event) => (event.preventDefault(), take(event.dataTransfer?.files)),
      },
      h("input", {
        type: "file",
        multiple: true,
        hidden: true,
        ref: files,
        "aria-label": t("files"),
        onChange: (/** @type {any} */ event) => take(event.currentTarget.files),
      }),
      h("input", {
        type: "file",
        hidden: true,
        ref: directory,
        "aria-label": t("directory"),
        onChange: (/** @type {any} */ event) => take(event.currentTarget.files),
      }),
      h(
        "div",
        { class: "actions" },
        h(Button, { tone: "primary", onClick: () => files.current?.click(), children: t("pickFiles") }),
        h(Button, { onClick: () => directory.current?.click(), children: t("pickDirectory") }),
      ),
      h("p", { class: "hint" }, paths.length ? t("filesPicked", { count: paths.length }) : t("orDrop")),
    ),
    paths.length > 0 &&
      h(
        "div",
        { class: "filters" },
        h(
          "label",
          { class: "field" },
          h("span", { class: "field-label" }, t("format")),
          h(
            "select",
            { value: format, onChange: (/** @type {any} */ event) => setFormat(event.currentTarget.value) },
            h("option", { value: "auto" }, t("formatAuto")),
            READ.map(([id, text]) => h("option", { value: id, key: id }, text)),
          ),
        ),
        (name || report?.prompts.length === 1) &&
          h(
            "label",
            { class: "field" },
            h("span", { class: "field-label" }, t("newId")),
            h("input", {
              value: name,
              placeholder: report?.prompts[0]?.prompt_id,
              autocomplete: "off",
              spellcheck: false,
              onInput: (/** @type {any} */ event) => setName(event.currentTarget.value),
            }),
          ),
      ),
    skipped.length > 0 &&
      h(Notice, { tone: "warning", children: t("filesSkipped", { files: skipped.map(withMarks).join(", ") }) }),
    error && h(Failure, { error }),
    isBusy && !report && h(Loading, null),
    report && h(ImportReport, { report }),
    h(
      "div",
      { class: "dialog-foot" },
      h(Button, { onClick: onClose, children: t("cancel") }),
      h(Button, {
        tone: "primary",
        scope: "write",
        disabled: ready === 0 || isBusy || Boolean(error),
        onClick: write,
        children: ready > 1 ? t("importMany", { count: ready }) : t("importOne"),
      }),
    ),
  );
}

/** What an import would do with each file. @param {{report: any}} props */
function ImportReport({ report }) {
  const { prompts, failed, unrecognised } = report;
  return h(
    "section",
    { class: "stack import-report", "aria-label": t("importReport") },
    prompts.length === 0 && h(Empty, { title: t("nothingToImport") }),
    h(
      "ul",
      { class: "plain-list" },
      prompts.map((/** @type {any} */ one) => h(ImportedPrompt, { key: one.source, one })),
      failed.map((/** @type {any} */ one) =>
        h(
          "li",
          { key: one.file, class: "stack" },
          h("p", { class: "line" }, h(Badge, { tone: "error", children: t("error") }), h(Name, null, one.file)),
          h("p", { dir: "auto" }, withMarks(one.error.detail ?? one.error.message ?? "")),
          one.error.hint && h("p", { class: "hint" }, withMarks(one.error.hint)),
        ),
      ),
    ),
    unrecognised.length > 0 &&
      h("p", { class: "hint" }, t("unrecognised", { files: unrecognised.map(withMarks).join(", ") })),
  );
}

/** @param {{one: any}} props */
const ImportedPrompt = ({ one }) =>
  h(
    "li",
    { class: "stack" },
    h(
      "p",
      { class: "line" },
      h("strong", null, h(Name, null, one.prompt_id)),
      h(Badge, { children: withMarks(one.format) }),
      one.conflict
        ? h(Badge, { tone: "error", children: t("idTaken") })
        : one.losses.length
          ? h(Badge, { tone: "warning", children: t("lossCount", { count: one.losses.length }) })
          : h(Badge, { tone: "success", children: t("lossless") }),
      h("span", { class: "hint" }, h(Name, null, one.from)),
    ),
    h(LossList, { losses: one.losses }),
    h(
      "details",
      null,
      h("summary", null, t("filesToWrite")),
      [...one.files, ...one.partials].map((/** @type {any} */ file) => h(FileText, { key: file.path, file })),
    ),
  );

/** What could not be carried over as it was. @param {{losses: any[]}} props */
function LossList({ losses }) {
  const LEVELS = /** @type {Record<string, string>} */ ({
    lost: t("lossLost"),
    changed: t("lossChanged"),
    kept: t("lossKept"),
  });
  return losses.length
    ? h(
        "ul",
        { class: "losses", "aria-label": t("losses") },
        losses.map((loss, index) =>
          h(
            "li",
            { key: index },
            h(Badge, { tone: loss.level === "lost" ? "error" : "warning", children: LEVELS[loss.level] ?? loss.level }),
            " ",
            loss.line && h("span", { class: "hint" }, t("lineNumber", { line: loss.line }), " "),
            withMarks(loss.what),
            loss.instead && h("span", { class: "hint" }, " → ", withMarks(loss.instead)),
          ),
        ),
      )
    : null;
}

/** @param {{file: {path: string, content: string}}} props */
const FileText = ({ file }) =>
  h(
    "div",
    { class: "stack" },
    h("p", { class: "hint" }, h(Name, null, file.path)),
    h("pre", { class: "code-block", tabIndex: 0 }, withMarks(file.content)),
  );

/** @param {{id: string, onClose: () => void}} props */
export function ExportDialog({ id, onClose }) {
  const [format, setFormat] = useState(WRITTEN[0]);
  const exported = useLoaded(
    () => call("GET", `/api/prompts/${segment(id)}/export?to=${format}`).then(({ data }) => data),
    [id, format],
  );
  const titles = Object.fromEntries(READ);
  return h(
    Dialog,
    { title: t("exportPrompt"), onClose, wide: true },
    h(
      "div",
      { class: "stack" },
      h(
        "label",
        { class: "field" },
        h("span", { class: "field-label" }, t("format")),
        h(
          "select",
          { value: format, onChange: (/** @type {any} */ event) => setFormat(event.currentTarget.value) },
          WRITTEN.map((name) => h("option", { value: name, key: name }, titles[name] ?? name)),
        ),
      ),
      exported.error
        ? h(Failure, { error: exported.error })
        : h(Loaded, { of: exported, children: () => h(Exported, { exported: exported.value }) }),
    ),
  );
}

/** @param {{exported: any}} props */
function Exported({ exported }) {
  return h(
    "div",
    { class: "stack" },
    exported.lossless
      ? h(Notice, { tone: "success", children: t("exportLossless") })
      : h(Notice, { tone: "warning" }, h("p", null, t("exportLosses")), h(LossList, { losses: exported.losses })),
    exported.files.map((/** @type {any} */ file) =>
      h(
        "section",
        { key: file.path, class: "stack", "aria-label": file.path },
        h(
          "div",
          { class: "line" },
          h("h3", { class: "grow" }, h(Name, null, file.path)),
          h(Button, {
            tone: "small",
            onClick: () => copyText(file.content).then(() => toast("copied", "success", file.path)),
            children: t("copy"),
          }),
          h(Button, { tone: "small", onClick: () => saveText(file.path, file.content), children: t("download") }),
        ),
        h("pre", { class: "code-block", tabIndex: 0 }, withMarks(file.content)),
      ),
    ),
  );
}

/** Lets the browser save a text as a file. @param {string} path @param {string} text */
function saveText(path, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = path.split("/").pop() ?? path;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
