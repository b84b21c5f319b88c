// One prompt: form, files and output, linked both ways.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { ApiError, call, get, segment } from "./api.js";
import { unsavedTexts } from "./files.js";
import { FilesPane } from "./files-pane.js";
import { FindingList, findingsByPrompt, useFindings } from "./findings.js";
import { ParameterForm } from "./form.js";
import { remember } from "./history.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { OutputPane, effectText } from "./output-pane.js";
import { PromptActions } from "./prompt-actions.js";
import {
  can,
  catalogVersion,
  formValues,
  goTo,
  keep,
  kept,
  linkTo,
  place,
  setFormValues,
  storeVersion,
} from "./state.js";
import { TestsPane } from "./tests-pane.js";
import { Badge, Button, Failure, Loaded, Name, Notice, Tabs, useLoaded } from "./ui.js";

/** @param {{id: string}} props */
export function PromptView({ id }) {
  const definition = useLoaded(() => get(`/api/prompts/${segment(id)}/definition`), [id, catalogVersion.value]);
  if (definition.error instanceof ApiError && definition.error.code === "conflict") {
    return h(
      "div",
      { class: "view" },
      h("h1", null, h(Name, null, id)),
      h(Notice, {
        tone: "warning",
        children: [
          t("conflictNeeded"),
          " ",
          h("a", { href: linkTo("conflict", id), key: "link" }, t("settleConflict")),
        ],
      }),
    );
  }
  if (definition.value === undefined && definition.error) return h(BrokenPrompt, { id, error: definition.error });
  return h(
    "div",
    { class: "view prompt" },
    h(Loaded, {
      of: definition,
      children: () => h(Workbench, { key: id, id, definition: definition.value, error: definition.error }),
    }),
  );
}

/**
 * A prompt whose definition cannot be read: why, and its files, so that it can be repaired.
 * @param {{id: string, error: any}} props
 */
function BrokenPrompt({ id, error }) {
  const candidates = useLoaded(() => get(`/api/prompts/${segment(id)}/candidates`), [id, catalogVersion.value]);
  const list = /** @type {any[]} */ (candidates.value ?? []);
  const source = (list.find((one) => one.chosen) ?? list[0])?.source;
  const [line, setLine] = useState(/** @type {{file: string, line: number} | null} */ (null));
  const place = error instanceof ApiError ? error.problem.place : null;
  const showPlace = () => {
    setLine({ file: place.file, line: place.line ?? 1 });
    goTo(linkTo("prompt", id, "files", { file: place.file }), true);
  };
  return h(
    "div",
    { class: "view prompt" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, h(Name, null, id)), h("p", { class: "lead" }, t("brokenHint"))),
    ),
    h(Failure, { error }),
    source
      ? h(
          "div",
          { class: "pane" },
          place && h(Button, { tone: "small", onClick: showPlace, children: t("showPlace") }),
          h(FilesPane, { files: [], source, line, hovered: null, onLine: () => undefined, onSaved: () => undefined }),
        )
      : candidates.value !== undefined && h("p", null, h("a", { href: linkTo("prompts") }, t("prompts"))),
  );
}

/** The names of secret parameters, whose values the tab never keeps. @param {any[]} parameters @returns {string[]} */
const secretNames = (parameters) =>
  parameters.filter((parameter) => parameter.secret).map((parameter) => parameter.name);

/** @param {{id: string, definition: any, error: any}} props */
function Workbench({ id, definition }) {
  const [values, setValues] = useState(formValues(id));
  const [active, setActive] = useState("");
  const [line, setLine] = useState(/** @type {{file: string, line: number} | null} */ (null));
  const [hovered, setHovered] = useState(/** @type {{file: string, line: number} | null} */ (null));
  const [cursor, setCursor] = useState(/** @type {{file: string, line: number} | null} */ (null));
  const parameters = definition.parameters ?? [];
  const [format, setFormat] = useState(/** @type {string} */ (kept("format", "")));
  const preview = usePreview(id, values, definition, format);
  const { effects } = preview;
  const findings = useFindings();
  const own = findingsByPrompt(findings.value ?? [], [{ prompt_id: id, source: definition.source }]).get(id) ?? [];
  const tab = place.value.tab || "variables";
  const files = /** @type {string[]} */ (definition.files ?? []);
  const missing =
    preview.error instanceof ApiError && Array.isArray(preview.error.problem.missing)
      ? preview.error.problem.missing
      : [];
  useEffect(() => setFormValues(id, values, secretNames(parameters)), [values]);
  useEffect(() => keep("format", format || null), [format]);
  const jump = Number(place.value.query.get("line") ?? "0");
  useEffect(() => {
    // The address of a finding names its line.
    const file = place.value.query.get("file");
    if (jump && file) setLine({ file, line: jump });
  }, [jump]);
  const showOrigin = (/** @type {any} */ target) => {
    setLine({ file: target.file, line: target.line });
    goTo(linkTo("prompt", id, "files", { file: target.file }), true);
  };
  return h(
    "div",
    { class: "workbench" },
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        null,
        h("h1", null, h(Name, null, id)),
        h("p", { class: "lead", dir: "auto" }, withMarks(definition.title || definition.description || "")),
        h(
          "p",
          { class: "meta" },
          definition.type && definition.type !== "custom" && h(Badge, { children: withMarks(definition.type) }),
          definition.version && h(Badge, { children: `v${withMarks(String(definition.version))}` }),
          effects.map((/** @type {string} */ effect) =>
            h(Badge, { key: effect, tone: "warning", children: effectText(effect) }),
          ),
          definition.source && h("span", { class: "source" }, h(Name, null, definition.source)),
          h("a", { class: "hint", href: linkTo("conflict", id) }, t("candidates")),
        ),
      ),
      h(PromptActions, { id, definition, values }),
    ),
    own.length > 0 &&
      h(
        "details",
        { class: "notice findings-notice", open: own.some((finding) => finding.severity === "error") },
        h("summary", null, t("findingsHere", { count: own.length })),
        h(FindingList, { findings: own, onPlace: showOrigin }),
      ),
    h(
      "div",
      { class: "panes" },
      h(
        "div",
        { class: "pane left", tabIndex: -1, "data-pane": "left" },
        h(Tabs, {
          label: t("promptParts"),
          current: tab,
          onPick: (next) => goTo(linkTo("prompt", id, next), true),
          tabs: [
            { id: "variables", text: t("variables"), count: parameters.length },
            { id: "files", text: t("files"), count: files.length },
            { id: "definition", text: t("definition") },
            { id: "tests", text: t("tests") },
          ],
        }),
        tab === "files"
          ? h(FilesPane, {
              files,
              source: definition.source,
              line,
              hovered,
              onLine: (/** @type {string} */ file, /** @type {number} */ number) => setCursor({ file, line: number }),
              onSaved: preview.renderSoon,
            })
          : tab === "definition"
            ? h(DefinitionPane, { definition })
            : tab === "tests"
              ? h(TestsPane, { id, definition, values, onPlace: showOrigin })
              : h(ParameterForm, {
                  id,
                  parameters,
                  reads: definition.reads ?? [],
                  values,
                  onChange: setValues,
                  trace: preview.result?.trace,
                  active,
                  onActive: setActive,
                  missing,
                }),
      ),
      h(OutputPane, {
        id,
        values,
        preview,
        effects,
        active,
        cursor,
        format,
        onFormat: setFormat,
        onPlace: setHovered,
        onActive: setActive,
        onOrigin: showOrigin,
      }),
    ),
  );
}

/**
 * Renders while typing, one answer after the other.
 * @param {string} id
 * @param {Record<string, any>} values
 * @param {any} definition
 * @param {string} format the provider whose request is shown, or empty
 */
function usePreview(id, values, definition, format) {
  const [state, setState] = useState(
    /** @type {{result: any, error: any, isRunning: boolean, effects: string[]}} */ ({
      result: null,
      error: null,
      isRunning: false,
      effects: definition.effects ?? [],
    }),
  );
  const number = useRef(0);
  const timer = useRef(0);
  const running = useRef(/** @type {AbortController | null} */ (null));
  const drafts = unsavedTexts(definition.files ?? []);
  const draftKey = JSON.stringify(drafts);
  const run = async (/** @type {boolean} */ isAsked) => {
    const turn = ++number.current;
    running.current?.abort();
    const control = (running.current = new AbortController());
    setState((before) => ({ ...before, isRunning: true }));
    const isDraft = draftKey !== "{}" && can("write");
    // While somebody types, nothing is rendered that others could notice: the daemon refuses that.
    const body = { variables: values, units: "utf16", effects: isAsked, ...(format ? { format } : {}) };
    try {
      const { data } = isDraft
        ? await call("POST", "/api/draft", { body: { ...body, prompt_id: id, files: drafts }, signal: control.signal })
        : await call("POST", `/api/prompts/${segment(id)}/explain`, { body, signal: control.signal });
      if (turn !== number.current) return;
      setState((before) => ({ result: data, error: null, isRunning: false, effects: isAsked ? before.effects : [] }));
      remember({ kind: "render", id, variables: kept(`form:${id}`, {}), result: data, source: definition.source });
    } catch (error) {
      if (turn !== number.current || (error instanceof DOMException && error.name === "AbortError")) return;
      if (error instanceof ApiError && error.code === "effects")
        return setState((before) => ({ ...before, error: null, isRunning: false, effects: error.problem.effects }));
      setState((before) => ({ ...before, error, isRunning: false }));
    }
    return undefined;
  };
  const latest = useRef(run);
  latest.current = run;
  const renderSoon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => latest.current(false), 150);
  };
  useEffect(() => {
    if (can("render")) renderSoon();
  }, [values, draftKey, definition, format, storeVersion.value]);
  useEffect(() => {
    const now = () => latest.current(true);
    addEventListener("hina-render", now);
    return () => {
      removeEventListener("hina-render", now);
      clearTimeout(timer.current);
      running.current?.abort();
    };
  }, []);
  const fail = (/** @type {any} */ error) => setState((before) => ({ ...before, error }));
  return { ...state, run: () => run(true), renderSoon, fail };
}

/** @param {{definition: any}} props */
function DefinitionPane({ definition }) {
  return h(
    "section",
    { class: "definition", "aria-label": t("definition") },
    h(
      "pre",
      { class: "code-block", tabIndex: 0 },
      withMarks(JSON.stringify(definition, null, 2)).replaceAll("⟦U+000A⟧", "\n"),
    ),
  );
}
