// Sends a prompt to up to four models, streaming. Answers are text, never HTML.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { call, get, readEvents, segment, toJson } from "./api.js";
import { unsavedTexts } from "./files.js";
import { remember } from "./history.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { can, catalogVersion, formValues, keep, kept, linkTo } from "./state.js";
import { Button, Empty, Failure, Locked, Name, Notice, useLoaded } from "./ui.js";

/**
 * One column: a model, the turns before, and the answer that comes or came.
 * @typedef {{role: string, content: string}} Turn
 * @typedef {{model: string, turns: Turn[], text: string, isRunning: boolean, error: any, first: number | null,
 *   usage: any, request: string, received: string}} ModelAnswer
 */

/** The most models beside each other. */
const MOST_MODELS = 4;

/** @param {{id: string}} props */
export function ChatView({ id }) {
  const [picked, setPicked] = useState(/** @type {string[]} */ (kept(`models:${id}`, [""])));
  const [answers, setAnswers] = useState(/** @type {ModelAnswer[]} */ (kept(`chat:${id}`, [])));
  const models = useLoaded(() => get("/api/models").catch(() => ({ models: [] })), []);
  const definition = useLoaded(() => get(`/api/prompts/${segment(id)}/definition`), [id, catalogVersion.value]);
  const running = useRef(/** @type {AbortController[]} */ ([]));
  const variables = formValues(id);
  const unsaved = can("write") ? unsavedTexts(definition.value?.files ?? []) : {};
  useEffect(() => keep(`models:${id}`, picked), [picked]);
  const isRunning = answers.some((one) => one.isRunning);
  useEffect(() => {
    if (!isRunning)
      keep(
        `chat:${id}`,
        answers.map((one) => ({ ...one, error: null })),
      );
  }, [isRunning]);
  const change = (/** @type {number} */ at, /** @type {(before: ModelAnswer) => Partial<ModelAnswer>} */ next) =>
    setAnswers((before) => before.map((one, index) => (index === at ? { ...one, ...next(one) } : one)));
  const sendOne = async (/** @type {number} */ at, /** @type {string} */ model, /** @type {Turn[]} */ turns) => {
    const control = (running.current[at] = new AbortController());
    const options = { ...(model ? { model } : {}), stream: true, ...(turns.length ? { messages: turns } : {}) };
    const isDraft = Object.keys(unsaved).length > 0;
    const path = isDraft ? "/api/draft" : `/api/chat/prompts/${segment(id)}`;
    const body = isDraft ? { prompt_id: id, files: unsaved, variables, chat: options } : { ...options, variables };
    const started = { model, turns, text: "", isRunning: true, error: null, first: null, usage: null, received: "" };
    setAnswers((before) => {
      const next = [...before];
      next[at] = { ...started, request: toJson(body, 2) };
      return next;
    });
    await streamAnswer(path, body, control.signal, (next) => change(at, next));
    change(at, (before) => {
      if (before.text)
        remember({ kind: "chat", id, model, variables: kept(`form:${id}`, {}), result: {}, text: before.text });
      return { isRunning: false };
    });
  };
  const stop = () => running.current.forEach((control) => control.abort());
  const send = () => {
    stop();
    setAnswers([]);
    picked.forEach((model, at) => sendOne(at, model, []));
  };
  useEffect(() => {
    addEventListener("hina-render", send);
    return () => removeEventListener("hina-render", send);
  });
  useEffect(() => stop, []);
  const pick = (/** @type {number} */ at, /** @type {string} */ model) =>
    setPicked(picked.map((old, index) => (index === at ? model : old)));
  return h(
    "div",
    { class: "view chat" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("chatWith"), " ", h(Name, null, id)), h("p", { class: "lead" }, t("chatHint"))),
      h("a", { class: "button", href: linkTo("prompt", id) }, t("openPrompt")),
    ),
    !can("chat")
      ? h(Locked, { scope: "chat" })
      : h(
          "div",
          { class: "stack" },
          h(
            "div",
            { class: "filters" },
            h(
              "datalist",
              { id: "models" },
              modelNames(models.value).map((name) => h("option", { value: name, key: name })),
            ),
            picked.map((model, at) =>
              h(ModelField, { key: at, at, model, standard: models.value?.default ?? "", onPick: pick }),
            ),
            picked.length < MOST_MODELS &&
              h(Button, { tone: "small", onClick: () => setPicked([...picked, ""]), children: t("addModel") }),
            isRunning
              ? h(Button, { tone: "danger", onClick: stop, children: t("stop") })
              : h(Button, { tone: "primary", scope: "chat", onClick: send, children: t("send") }),
          ),
          Object.keys(unsaved).length > 0 &&
            h(Notice, {
              tone: "info",
              children: t("unsavedSent", { files: Object.keys(unsaved).map(withMarks).join(", ") }),
            }),
          models.value?.providers &&
            !models.value.default &&
            picked.every((model) => !model.trim()) &&
            h(Notice, { tone: "info", children: t("noModels") }),
          answers.length === 0
            ? h(Empty, { title: t("noAnswers"), icon: "✎" }, h("p", null, t("noAnswersHint")))
            : h(
                "div",
                { class: "answers" },
                answers.map((one, at) =>
                  h(AnswerCard, { key: at, answer: one, onContinue: (turns) => sendOne(at, one.model, turns) }),
                ),
              ),
        ),
  );
}

/** @param {any} answer what `/api/models` said @returns {string[]} */
const modelNames = (answer) => (answer?.models ?? []).map((/** @type {any} */ model) => model.name ?? model);

/**
 * Reads an answer piece by piece.
 * @param {string} path
 * @param {any} body
 * @param {AbortSignal} signal
 * @param {(next: (before: ModelAnswer) => Partial<ModelAnswer>) => void} change
 */
async function streamAnswer(path, body, signal, change) {
  const start = performance.now();
  try {
    const { response } = await call("POST", path, { body, signal, raw: true });
    await readEvents(response, (_name, data) => {
      change((before) => ({ received: `${before.received}${data}\n` }));
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) change(() => ({ error: new Error(chunk.error.message) }));
      const piece = chunk.choices?.[0]?.delta?.content ?? "";
      change((before) => ({
        text: before.text + piece,
        first: before.first ?? (piece ? Math.round(performance.now() - start) : null),
        usage: chunk.usage ?? before.usage,
      }));
    });
  } catch (error) {
    // What was stopped on purpose is no error.
    if (!signal.aborted) change(() => ({ error }));
  }
}

/** @param {{at: number, model: string, standard: string, onPick: (at: number, model: string) => void}} props */
function ModelField({ at, model, standard, onPick }) {
  return h(
    "label",
    { class: "inline" },
    t("modelNumber", { number: at + 1 }),
    h("input", {
      autocomplete: "off",
      list: "models",
      value: model,
      placeholder: standard || t("defaultModel"),
      onInput: (/** @type {any} */ event) => onPick(at, event.currentTarget.value),
    }),
  );
}

/** @param {{answer: ModelAnswer, onContinue: (turns: Turn[]) => void}} props */
function AnswerCard({ answer, onContinue }) {
  const name = answer.model || t("defaultModel");
  const facts = [];
  if (answer.first !== null) facts.push(t("firstPiece", { milliseconds: answer.first }));
  if (answer.usage?.total_tokens !== undefined) facts.push(`${t("tokens")}: ${answer.usage.total_tokens}`);
  return h(
    "section",
    { class: "card", "aria-label": name, "aria-busy": answer.isRunning ? "true" : "false" },
    h("h2", null, withMarks(name)),
    facts.length > 0 && h("p", { class: "hint" }, facts.join(" · ")),
    answer.turns.map((turn, index) => h(TurnText, { key: index, turn })),
    answer.error && h(Failure, { error: answer.error }),
    h(TurnText, { turn: { role: "assistant", content: answer.text } }),
    !answer.isRunning && answer.text && h(ReplyForm, { answer, onContinue }),
    answer.request && h(RawText, { label: t("rawRequest"), text: answer.request }),
    answer.received && h(RawText, { label: t("rawAnswer"), text: answer.received }),
  );
}

/** @param {{turn: Turn}} props */
const TurnText = ({ turn }) =>
  h(
    "div",
    { class: `turn ${turn.role}` },
    h("p", { class: "role" }, turn.role === "user" ? t("roleUser") : t("roleAssistant")),
    h("pre", { class: "text", tabIndex: 0 }, withMarks(turn.content)),
  );

/** @param {{label: string, text: string}} props */
const RawText = ({ label, text }) =>
  h("details", null, h("summary", null, label), h("pre", { class: "code-block", tabIndex: 0 }, withMarks(text)));

/** @param {{answer: ModelAnswer, onContinue: (turns: Turn[]) => void}} props */
function ReplyForm({ answer, onContinue }) {
  const [text, setText] = useState("");
  const send = () => {
    if (!text.trim()) return;
    onContinue([...answer.turns, { role: "assistant", content: answer.text }, { role: "user", content: text }]);
    setText("");
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    // Enter that ends a composition sends nothing; without a key, it starts a new line.
    if (event.key !== "Enter" || event.isComposing || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    send();
  };
  return h(
    "div",
    { class: "line end" },
    h(
      "label",
      { class: "field grow" },
      h("span", { class: "field-label" }, t("yourReply")),
      h("textarea", {
        rows: 2,
        dir: "auto",
        value: text,
        onKeyDown,
        onInput: (/** @type {any} */ event) => setText(event.currentTarget.value),
      }),
    ),
    h(Button, { scope: "chat", disabled: !text.trim(), onClick: send, children: t("continueChat") }),
  );
}
