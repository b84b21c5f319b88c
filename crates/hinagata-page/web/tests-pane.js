// The test cases of a prompt: written from the call in the form, listed, run, and compared with what was expected.
import { h, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { unsavedTexts } from "./files.js";
import { FindingList } from "./findings.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { catalogVersion, isWritable, toast, whoami } from "./state.js";
import { Badge, Button, Dialog, DiffText, Empty, Failure, Loaded, Name, Notice, TextField, useLoaded } from "./ui.js";

const DEFAULT_FILE = "cases.yaml";

/** What a person can choose to hold, by the type of assertion; `is-json` and `snapshot` need no text. */
const CHECKS = /** @type {[string, string][]} */ ([
  ["snapshot", "checkSnapshot"],
  ["contains", "checkContains"],
  ["not-contains", "checkNotContains"],
  ["equals", "checkEquals"],
  ["regex", "checkRegex"],
  ["is-json", "checkJson"],
]);

const STATUS = /** @type {Record<string, [string, string]>} */ ({
  passed: ["success", "casePassed"],
  failed: ["error", "caseFailed"],
  skipped: ["warning", "caseSkipped"],
});

/** @param {{file: string, name: string}} one */
const keyOf = (one) => `${one.file}\n${one.name}`;

/** @param {string} path */
const fileName = (path) => path.slice(path.lastIndexOf("/") + 1);

/**
 * @param {{id: string, definition: any, values: Record<string, any>,
 *   onPlace: (place: {file: string, line: number}) => void}} props
 */
export function TestsPane({ id, definition, values, onPlace }) {
  const list = useLoaded(() => get(`/api/prompts/${segment(id)}/tests`), [id, catalogVersion.value]);
  const [results, setResults] = useState(/** @type {Record<string, any>} */ ({}));
  const [counts, setCounts] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isRunning, setRunning] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const [leftOut, setLeftOut] = useState(/** @type {string[]} */ ([]));
  const isOwn = whoami.value?.bound || isWritable(definition.source ?? "");
  const run = async (/** @type {{file?: string, name?: string, update?: boolean}} */ selection) => {
    setError(null);
    setRunning(true);
    try {
      const { data } = await call("POST", `/api/prompts/${segment(id)}/tests/run`, { body: selection });
      const found = Object.fromEntries(data.cases.map((/** @type {any} */ one) => [keyOf(one), one]));
      setResults((before) => (selection.name === undefined ? found : { ...before, ...found }));
      setCounts(t("testCounts", { passed: data.passed, failed: data.failed, skipped: data.skipped }));
    } catch (problem) {
      setError(problem);
    }
    setRunning(false);
  };
  const files = /** @type {any[]} */ (list.value?.files ?? []);
  return h(
    "section",
    { class: "stack tests", "aria-label": t("tests") },
    h("p", { class: "hint" }, t("testsHint")),
    h(
      "div",
      { class: "actions" },
      h(Button, { scope: "write", disabled: !isOwn, onClick: () => setSaving(true), children: t("saveCase") }),
      files.length > 0 &&
        h(Button, {
          tone: "primary",
          scope: "render",
          disabled: isRunning,
          onClick: () => run({}),
          children: isRunning ? t("running") : t("runTests"),
        }),
      h("span", { role: "status" }, isRunning ? "" : counts),
    ),
    !isOwn && h("p", { class: "hint" }, t("error_read_only")),
    Object.keys(unsavedTexts(definition.files ?? [])).length > 0 && h(Notice, { tone: "warning" }, t("trySaved")),
    leftOut.length > 0 &&
      h(Notice, { tone: "info" }, t("secretsLeftOut", { names: leftOut.map(withMarks).join(", ") })),
    error && h(Failure, { error }),
    h(Loaded, {
      of: list,
      children: () => [
        list.value.problems.length > 0 &&
          h(
            "section",
            { key: "problems", "aria-label": t("testProblems") },
            h("h2", null, t("testProblems")),
            h(FindingList, { findings: list.value.problems, onPlace }),
          ),
        files.length === 0 &&
          list.value.problems.length === 0 &&
          h(Empty, { key: "empty", title: t("noTests"), icon: "✓" }, h("p", null, t("noTestsHint"))),
        files.map((file) => h(TestFile, { key: file.file, file, results, run, isRunning, onPlace })),
      ],
    }),
    isSaving &&
      h(SaveDialog, {
        id,
        values,
        files: files.filter((file) => file.writable).map((file) => fileName(file.file)),
        onClose: () => setSaving(false),
        onSaved: async (saved, isSnapshot) => {
          setSaving(false);
          setLeftOut(saved.left_out);
          toast("caseSaved", "success", saved.name);
          list.again();
          // The snapshot of a new case is what the prompt gives now.
          await run({ file: saved.file, name: saved.name, update: isSnapshot });
        },
      }),
  );
}

/** @param {any} props */
const TestFile = ({ file, results, run, isRunning, onPlace }) =>
  h(
    "section",
    { "aria-label": fileName(file.file) },
    h("h2", null, h(Name, null, fileName(file.file))),
    h(
      "ul",
      { class: "plain-list" },
      file.cases.map((/** @type {any} */ one) =>
        h(TestCase, {
          key: one.name,
          one: { ...one, file: file.file, writable: file.writable },
          result: results[keyOf({ file: file.file, name: one.name })],
          run,
          isRunning,
          onPlace,
        }),
      ),
    ),
  );

/** @param {any} props */
function TestCase({ one, result, run, isRunning, onPlace }) {
  const [tone, word] = STATUS[result?.status] ?? ["", "caseNotRun"];
  const failures = /** @type {any[]} */ (result?.failures ?? []);
  const selection = { file: one.file, name: one.name };
  return h(
    "li",
    { class: "stack" },
    h(
      "div",
      { class: "line" },
      h(Badge, { tone, children: t(word) }),
      h(
        "button",
        { type: "button", class: "place-link grow", onClick: () => onPlace({ file: one.file, line: one.line || 1 }) },
        h(Name, null, one.name),
      ),
      one.writable &&
        failures.some((failure) => failure.assertion.startsWith("snapshot")) &&
        h(Button, {
          tone: "small",
          scope: "write",
          disabled: isRunning,
          onClick: () => run({ ...selection, update: true }),
          children: t("acceptTexts"),
        }),
      h(Button, {
        tone: "small",
        scope: "render",
        disabled: isRunning,
        onClick: () => run(selection),
        label: t("runCase", { name: withMarks(one.name) }),
        children: t("run"),
      }),
    ),
    (result?.reason ?? one.skip) && h("p", { class: "hint" }, withMarks(result?.reason ?? one.skip)),
    failures.map((failure, index) =>
      h(
        "div",
        { key: index, class: "notice error" },
        h("strong", null, withMarks(failure.assertion)),
        h("p", { class: "detail", dir: "auto" }, withMarks(failure.message)),
        failure.difference && h(DiffText, { text: failure.difference }),
      ),
    ),
  );
}

/**
 * @param {{id: string, values: Record<string, any>, files: string[], onClose: () => void,
 *   onSaved: (saved: {file: string, name: string, left_out: string[]}, isSnapshot: boolean) => void}} props
 */
function SaveDialog({ id, values, files, onClose, onSaved }) {
  const [name, setName] = useState("");
  const [file, setFile] = useState(files[0] ?? DEFAULT_FILE);
  const [check, setCheck] = useState("snapshot");
  const [text, setText] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const needsText = check !== "snapshot" && check !== "is-json";
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    const assertion = check === "snapshot" ? { snapshot: true } : needsText ? { [check]: text } : { type: check };
    try {
      const { data } = await call("POST", `/api/prompts/${segment(id)}/tests`, {
        body: { name: name.trim(), file: file.trim(), variables: values, assert: [assertion] },
      });
      onSaved(data, check === "snapshot");
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    Dialog,
    { title: t("saveCase"), onClose },
    h(
      "form",
      { class: "stack", onSubmit: save },
      h(TextField, { label: t("caseName"), value: name, onInput: setName, required: true, autofocus: true }),
      h(TextField, { label: t("caseFile"), value: file, onInput: setFile, required: true, pattern: "[^\\/]+\\.ya?ml" }),
      h(
        "label",
        { class: "field" },
        h("span", { class: "field-label" }, t("caseChecks")),
        h(
          "select",
          { value: check, onChange: (/** @type {any} */ event) => setCheck(event.currentTarget.value) },
          CHECKS.map(([type, word]) => h("option", { key: type, value: type }, t(word))),
        ),
      ),
      needsText &&
        h(
          "label",
          { class: "field" },
          h("span", { class: "field-label" }, t("expectedText")),
          h("textarea", {
            rows: 4,
            required: true,
            spellcheck: false,
            value: text,
            onInput: (/** @type {any} */ event) => setText(event.currentTarget.value),
          }),
        ),
      error && h(Failure, { error }),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, { type: "submit", tone: "primary", children: t("save") }),
      ),
    ),
  );
}
