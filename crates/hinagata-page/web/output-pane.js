// The output of a prompt: coloured by origin, with what is known about each piece below it.
import { h, useEffect, useMemo, useRef, useState } from "./vendor-preact.js";
import { ApiError, call, segment } from "./api.js";
import { formatNumber, language, t } from "./i18n.js";
import { AbsentList, Inspector, SharesTable, absentReason } from "./inspector.js";
import { withMarks } from "./marks.js";
import { COLOURS, OutputView } from "./output.js";
import { KIND_KEYS, SpanMap } from "./spanmap.js";
import { goTo, keep, kept, linkTo, place, singleKeys, toast } from "./state.js";
import { Button, Empty, Failure, Notice, Tabs, copyText } from "./ui.js";

/** The forms of requests that explain can show. */
export const PROVIDERS = ["openai", "openai-responses", "anthropic", "gemini", "ollama"];
const WAYS = /** @type {const} */ (["kind", "file", "layer", "who"]);

/** What a render uses, in words. @param {string} effect */
export function effectText(effect) {
  const WORDS = /** @type {Record<string, string>} */ ({
    http_request: t("effectHttp"),
    llm_call: t("effectModel"),
    subprocess: t("effectProgram"),
    tools: t("effectTools"),
  });
  return WORDS[effect] ?? t("effectTool", { tool: withMarks(effect) });
}

/** @param {any} error */
const missingIn = (error) =>
  error instanceof ApiError &&
  error.code === "validation" &&
  Array.isArray(error.problem.missing) &&
  !error.problem.type_errors?.length
    ? /** @type {string[]} */ (error.problem.missing)
    : [];

/** What has to be filled in before there is an output. @param {{names: string[]}} props */
const FillIn = ({ names }) =>
  h(
    Notice,
    { tone: "info", role: "status" },
    h("strong", null, t("fillIn")),
    " ",
    names.map((name) =>
      h(Button, {
        key: name,
        tone: "small",
        onClick: () => document.getElementById(`field-${name}`)?.focus(),
        children: withMarks(name),
      }),
    ),
  );

/** @param {any} props */
export function OutputPane(props) {
  const { id, values, preview, effects, active, cursor, format, onFormat, onActive, onOrigin, onPlace } = props;
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useRef(/** @type {OutputView | null} */ (null));
  const [by, setBy] = useState(kept("by", "kind"));
  const [below, setBelow] = useState("origin");
  const [sort, setSort] = useState("bytes");
  const [hovered, setHovered] = useState(/** @type {any} */ (undefined));
  const [pinned, setPinned] = useState(/** @type {any} */ (undefined));
  const [revealed, setRevealed] = useState(/** @type {any} */ (null));
  const { result, error, isRunning } = preview;
  const missing = missingIn(error);
  const spans = useMemo(() => {
    if (!result?.map?.texts) return null;
    return (result.request ? SpanMap.forRequest(result) : new SpanMap(result.map)).withTrace(result.trace);
  }, [result]);
  const hasSecrets = spans?.all.some((one) => one.kind === "masked") ?? false;
  const categories = useMemo(() => spans?.categories(by) ?? [], [spans, by]);
  const span = hovered ?? pinned;
  useEffect(() => {
    if (!host.current) return undefined;
    view.current = new OutputView(host.current, {
      prefix: "span",
      onSpan: (found, isPinned) => {
        setHovered(found);
        if (isPinned && found) setPinned(found);
      },
    });
    return () => view.current?.destroy();
  }, []);
  const show = (/** @type {any} */ secrets) => {
    if (secrets !== null) return view.current?.show(outputTexts({ body: secrets }, null), null, []);
    const absent = (spans?.map.absent ?? []).map((/** @type {any} */ entry) => ({
      text: entry.text ?? 0,
      at: entry.at,
      words: t("absentMark", { reason: absentReason(spans, entry) }),
      onPick: () => spans?.place(entry.place) && onOrigin(spans.place(entry.place)),
    }));
    return view.current?.show(outputTexts(result, spans), spans, absent);
  };
  useEffect(() => {
    if (!result || !view.current) return;
    show(null);
    setRevealed(null);
    setHovered(undefined);
    const number = Number(place.value.query.get("span") ?? "-1");
    setPinned((/** @type {any} */ before) => spans?.all[before?.number ?? number]);
  }, [result]);
  useEffect(() => {
    if (result) show(revealed);
  }, [revealed, language.value]);
  const reveal = async () => {
    try {
      const { data } = await call("POST", `/api/render/prompts/${segment(id)}`, { body: { variables: values } });
      setRevealed(data.rendered_prompt);
    } catch (problem) {
      preview.fail(problem);
    }
  };
  useEffect(() => {
    if (!spans || revealed !== null) return;
    const numbers = new Map(
      categories
        .filter(({ name }) => by !== "kind" || name !== "text")
        .map(({ name }, index) => [name, index % COLOURS]),
    );
    view.current?.colour((one) => numbers.get(spans.category(one, by)) ?? -1);
    keep("by", by);
  }, [spans, by, categories, revealed, language.value]);
  useEffect(() => {
    if (!spans) return;
    const marked = span
      ? [span]
      : active
        ? spans.matching((one) => spans.variables(one).some((variable) => variable.path.split(/[.[]/)[0] === active))
        : [];
    view.current?.mark(marked);
    onPlace(span ? spans.place(span.place) : null);
    if (span) onActive(spans.variables(span)[0]?.path.split(/[.[]/)[0] ?? "");
  }, [span, active, spans]);
  useEffect(() => {
    if (!spans || !cursor) return;
    view.current?.mark(
      spans.matching((one) => {
        const at = spans.place(one.place);
        return at?.file === cursor.file && at?.line === cursor.line;
      }),
    );
  }, [cursor]);
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (!event.altKey || !spans?.all.length) return;
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step) {
        event.preventDefault();
        const next =
          spans.all[
            Math.min(spans.all.length - 1, Math.max(0, (pinned?.number ?? (step > 0 ? -1 : spans.all.length)) + step))
          ];
        setHovered(undefined);
        setPinned(next);
        view.current?.reveal(next);
        const { view: name, id, tab, query } = place.value;
        goTo(linkTo(name, id, tab, { ...Object.fromEntries(query), span: String(next.number) }), true);
      } else if (event.key === "Enter" && (pinned ?? hovered)) {
        event.preventDefault();
        const at = spans.place((pinned ?? hovered).place);
        if (at) onOrigin(at);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [spans, pinned, hovered]);
  const WAY_TEXT = { kind: t("byKind"), file: t("byFile"), layer: t("byLayer"), who: t("byWho") };
  const total = result?.map?.shares?.all;
  return h(
    "section",
    { class: "pane output", "aria-label": t("output"), tabIndex: -1, "data-pane": "output" },
    h(
      "div",
      { class: "pane-head" },
      h("h2", null, t("output")),
      total &&
        h(
          "span",
          { class: "sizes" },
          t("sizes", { characters: formatNumber(total.characters), tokens: formatNumber(total.tokens ?? 0) }),
        ),
      isRunning && h("span", { class: "spinner", role: "status", "aria-label": t("rendering") }),
      h("span", { class: "grow" }),
      h(
        "label",
        { class: "inline" },
        t("outputAs"),
        h(
          "select",
          { value: format, onChange: (/** @type {any} */ event) => onFormat(event.currentTarget.value) },
          h("option", { value: "" }, t("asRendered")),
          PROVIDERS.map((name) => h("option", { value: name, key: name }, t("requestTo", { provider: name }))),
        ),
      ),
      h(
        "label",
        { class: "inline" },
        t("colours"),
        h(
          "select",
          { value: by, onChange: (/** @type {any} */ event) => setBy(event.currentTarget.value) },
          WAYS.map((way) => h("option", { value: way, key: way }, WAY_TEXT[way])),
        ),
      ),
      (hasSecrets || revealed !== null) &&
        h(Button, {
          tone: "small",
          scope: "render",
          onClick: () => (revealed === null ? reveal() : setRevealed(null)),
          children: revealed === null ? t("revealSecrets") : t("hideSecrets"),
        }),
      h(Button, {
        tone: "small",
        disabled: !result,
        onClick: () =>
          copyText(
            outputTexts(result, spans)
              .map((/** @type {{text: string}} */ one) => one.text)
              .join("\n\n"),
          ).then(() => toast("copied", "success", t("output"))),
        children: t("copy"),
      }),
      effects.length > 0 &&
        h(Button, {
          tone: "primary",
          scope: "render",
          onClick: preview.run,
          children: t("renderNow"),
        }),
    ),
    result && h(Legend, { categories, by }),
    missing.length > 0 ? h(FillIn, { names: missing }) : error && h(Failure, { error }),
    effects.length > 0 &&
      h("p", { class: "hint effects" }, t("effectsHint", { effects: effects.map(effectText).join(", ") })),
    !result && !error && effects.length > 0 && h(Empty, { title: t("notRendered"), icon: "▷" }),
    h("div", {
      class: `output-text ${error ? "stale" : ""}`,
      ref: host,
      tabIndex: 0,
      role: "region",
      "aria-label": t("renderedText"),
      "aria-keyshortcuts": singleKeys.value ? "Alt+ArrowDown Alt+ArrowUp Alt+Enter" : undefined,
    }),
    result &&
      h(
        "div",
        { class: "below" },
        h(Tabs, {
          label: t("details"),
          current: below,
          onPick: setBelow,
          tabs: [
            { id: "origin", text: t("origin") },
            { id: "shares", text: t("shares") },
            { id: "absent", text: t("absent"), count: spans?.map.absent?.length ?? 0 },
          ],
        }),
        below === "origin"
          ? h(Inspector, { span, spans, trace: result?.trace, onOrigin, isPinned: span === pinned })
          : below === "shares"
            ? h(SharesTable, { shares: result?.map?.shares, sort, onSort: setSort })
            : spans
              ? h(AbsentList, { spans, onOrigin })
              : h("p", { class: "hint" }, t("notRendered")),
      ),
  );
}

/**
 * The texts of a result: one, or one for each part of a message.
 * @param {any} result
 * @param {SpanMap | null} spans
 */
export function outputTexts(result, spans) {
  const body = result.body;
  if (spans) {
    return spans.map.texts.map((/** @type {any} */ text) => ({
      label:
        text.message === null
          ? ""
          : String((Array.isArray(body) ? body[text.message]?.role : undefined) ?? text.message),
      text: text.text,
    }));
  }
  if (typeof body === "string") return [{ label: "", text: body }];
  if (Array.isArray(body))
    return body.map((message) => ({
      label: message.role ?? "",
      text: typeof message.content === "string" ? message.content : JSON.stringify(message.content, null, 2),
    }));
  return [{ label: "", text: JSON.stringify(body, null, 2) }];
}

/** @param {{categories: {name: string, length: number}[], by: string}} props */
function Legend({ categories, by }) {
  const WHO = /** @type {Record<string, string>} */ ({
    author: t("whoAuthor"),
    caller: t("whoCaller"),
    store: t("whoStore"),
    outside: t("whoOutside"),
  });
  let colour = -1;
  return h(
    "ul",
    { class: "legend", "aria-label": t("colours") },
    categories.slice(0, 12).map(({ name }) => {
      const isPlain = by === "kind" && name === "text";
      if (!isPlain) colour++;
      const text = by === "kind" ? t(KIND_KEYS[name] ?? "kindText") : by === "who" ? (WHO[name] ?? name) : name;
      return h(
        "li",
        { key: name, class: isPlain ? "plain" : `k${colour % COLOURS}` },
        withMarks(by === "file" ? name.split("/").slice(-2).join("/") : text),
      );
    }),
  );
}
