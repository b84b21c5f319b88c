// A prompt made of modules: its merged sections with the files that they came from, beside what a provider gets.
import { h, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { PROVIDERS, outputTexts } from "./output-pane.js";
import { SpanMap } from "./spanmap.js";
import { catalogVersion, formValues, keep, kept, linkTo } from "./state.js";
import { Empty, Failure, Loaded, Name, Notice, useLoaded } from "./ui.js";

/** @typedef {{name: string, text: string, files: string[]}} Section */

/** @param {{id: string}} props */
export function ModuleView({ id }) {
  const [provider, setProvider] = useState(/** @type {string} */ (kept("provider", PROVIDERS[0])));
  const loaded = useLoaded(async () => {
    const definition = await get(`/api/prompts/${segment(id)}/definition`);
    if (definition.body?.kind !== "module") return { isModule: false };
    const body = { variables: formValues(id), units: "utf16", format: provider };
    const { data } = await call("POST", `/api/prompts/${segment(id)}/explain`, { body });
    return { isModule: true, result: data };
  }, [id, provider, catalogVersion.value]);
  const pick = (/** @type {string} */ name) => {
    keep("provider", name);
    setProvider(name);
  };
  return h(
    "div",
    { class: "view module" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("module"), " ", h(Name, null, id)), h("p", { class: "lead" }, t("moduleHint"))),
      h("a", { class: "button", href: linkTo("prompt", id) }, t("openPrompt")),
    ),
    h(Loaded, {
      of: loaded,
      children: () =>
        loaded.value?.isModule
          ? h(ModuleParts, { result: loaded.value.result, provider, onProvider: pick })
          : h(Empty, { title: t("notModule") }),
    }),
  );
}

/** @param {{result: any, provider: string, onProvider: (name: string) => void}} props */
function ModuleParts({ result, provider, onProvider }) {
  const spans = new SpanMap(result.map);
  return h(
    "div",
    { class: "columns" },
    h(
      "section",
      { class: "pane stack", "aria-label": t("mergedSections"), "data-pane": "sections", tabIndex: -1 },
      h("h2", null, t("mergedSections")),
      moduleSections(spans).map((section, index) => h(SectionCard, { key: index, section })),
    ),
    h(
      "section",
      { class: "pane stack", "aria-label": t("wholeResult"), "data-pane": "result", tabIndex: -1 },
      h("h2", null, t("wholeResult")),
      outputTexts(result, spans).map((/** @type {any} */ text, /** @type {number} */ index) =>
        h(
          "div",
          { key: index },
          text.label && h("p", { class: "role" }, withMarks(text.label)),
          h("pre", { class: "text", tabIndex: 0 }, withMarks(text.text)),
        ),
      ),
    ),
    h(
      "section",
      { class: "pane stack", "aria-label": t("requestTo", { provider }), "data-pane": "request", tabIndex: -1 },
      h(
        "label",
        { class: "field" },
        h("span", { class: "field-label" }, t("provider")),
        h(
          "select",
          { value: provider, onChange: (/** @type {any} */ event) => onProvider(event.currentTarget.value) },
          PROVIDERS.map((name) => h("option", { value: name, key: name }, name)),
        ),
      ),
      result.request ? h(Request, { request: result.request }) : h(Failure, { error: new Error(t("notRendered")) }),
    ),
  );
}

/** @param {{section: Section}} props */
const SectionCard = ({ section }) =>
  h(
    "article",
    { class: "section-card", "aria-label": sectionName(section) },
    h("h3", null, sectionName(section)),
    h(
      "p",
      { class: "hint" },
      section.files.map((file) => h(Name, { key: file }, file)),
    ),
    h("pre", { class: "text", tabIndex: 0 }, withMarks(section.text)),
  );

/** @param {Section} section */
const sectionName = ({ name }) =>
  name === "messages" ? t("sectionMessages") : name ? withMarks(name) : t("sectionOther");

/** @param {{request: any}} props */
const Request = ({ request }) =>
  h(
    "div",
    { class: "stack" },
    (request.notes ?? []).map((/** @type {any} */ note, /** @type {number} */ index) =>
      h(Notice, { key: index, tone: "warning", children: withMarks(note.message ?? String(note)) }),
    ),
    h("pre", { class: "text", tabIndex: 0 }, withMarks(JSON.stringify(JSON.parse(request.body), null, 2))),
  );

/**
 * The sections of a module, in the order of the result. A heading opens a section; texts tell theirs by the place in
 * the file that they were written at.
 * @param {SpanMap} spans
 * @returns {Section[]}
 */
export function moduleSections(spans) {
  /** @type {Section[]} */
  const sections = [];
  spans.texts.forEach((list, index) => {
    /** @type {Section | null} */
    let current = null;
    for (const span of list) {
      const isHeading = span.kind === "frame" && span.of >= 0;
      /** @type {string} */
      const name = isHeading ? spans.map.sections[span.of] : (spans.writtenSection(span) ?? current?.name ?? "");
      if (!current || current.name !== name) sections.push((current = { name, text: "", files: [] }));
      current.text += spans.map.texts[index].text.slice(span.start, span.end);
      const file = spans.place(span.place)?.file;
      if (file && !current.files.includes(file)) current.files.push(file);
    }
  });
  return sections.filter((section) => section.text.trim());
}
