// Text editors and differences: CodeMirror in shadow roots, loaded when the first one opens. Colours, findings and
// completion come from the daemon's own parsers.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { ApiError, call } from "./api.js";
import { t } from "./i18n.js";
import { markName } from "./marks.js";
import { can } from "./state.js";
import { Loading } from "./ui.js";

/** @type {Promise<any> | null} */
let loading = null;
export const loadEditor = () => (loading ??= import("./vendor-codemirror.js"));

const THEME = {
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--sheet)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-gutters": { backgroundColor: "var(--sheet)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--select)",
  },
  ".cm-line-marked": { backgroundColor: "var(--mark)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
  },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)" },
  ".cm-specialChar": { color: "var(--error)" },
  ".tok-tag, .tok-keyword": { color: "var(--tok-keyword)" },
  ".tok-variable, .tok-property": { color: "var(--tok-variable)" },
  ".tok-filter, .tok-test, .tok-function": { color: "var(--tok-function)" },
  ".tok-string": { color: "var(--tok-string)" },
  ".tok-number, .tok-boolean, .tok-null": { color: "var(--tok-number)" },
  ".tok-comment": { color: "var(--faint)", fontStyle: "italic" },
  ".tok-key, .tok-heading": { color: "var(--tok-key)", fontWeight: "600" },
  ".tok-operator": { color: "var(--soft)" },
};

/**
 * An editor of one file.
 * @param {{path: string, value: string, revision: number, readOnly?: boolean, label: string, line?: number,
 *   hovered?: number, onChange?: (text: string) => void, onLine?: (line: number) => void}} props
 */
export function Editor(props) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useRef(/** @type {any} */ (null));
  const handlers = useRef(props);
  handlers.current = props;
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let isGone = false;
    loadEditor().then((cm) => {
      if (isGone || !host.current) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      root.replaceChildren();
      view.current = makeView(cm, root, handlers);
      setReady(true);
      if (handlers.current.line) showLine(cm, view.current, handlers.current.line);
    });
    return () => {
      isGone = true;
      view.current?.destroy();
      view.current = null;
    };
  }, [props.path, props.readOnly]);
  useEffect(() => {
    // What was typed here comes back as `value` later than the next key, so only another revision replaces the text.
    const editor = view.current;
    const text = plain(handlers.current.value);
    if (editor && editor.state.doc.toString() !== text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
    }
  }, [props.revision]);
  useEffect(() => {
    if (view.current && props.line)
      loadEditor().then((cm) => view.current && showLine(cm, view.current, /** @type {number} */ (props.line)));
  }, [props.line, isReady]);
  useEffect(() => {
    // Once an origin was opened, its line stays marked until another one is hovered.
    if (view.current && props.hovered)
      loadEditor().then((cm) => view.current && markLine(cm, view.current, /** @type {number} */ (props.hovered)));
  }, [props.hovered, isReady]);
  return h("div", { class: "editor" }, !isReady && h(Loading, null), h("div", { ref: host, class: "editor-host" }));
}

/** CodeMirror counts every line end as one character. @param {string} text */
const plain = (text) => text.replace(/\r\n?/g, "\n");

/** @type {any} */
let markEffect = null;
/** @type {any} */
let tokenEffect = null;
/** @type {any[]} */
let fields = [];

/** @param {any} cm */
function sharedFields(cm) {
  if (fields.length) return fields;
  markEffect = cm.StateEffect.define();
  tokenEffect = cm.StateEffect.define();
  const field = (/** @type {any} */ effect) =>
    cm.StateField.define({
      create: () => cm.Decoration.none,
      update: (/** @type {any} */ value, /** @type {any} */ change) =>
        change.effects.reduce(
          (/** @type {any} */ now, /** @type {any} */ one) => (one.is(effect) ? one.value : now),
          value.map(change.changes),
        ),
      provide: (/** @type {any} */ self) => cm.EditorView.decorations.from(self),
    });
  fields = [field(tokenEffect), field(markEffect)];
  return fields;
}

/** @param {any} cm @param {ShadowRoot} root @param {{current: any}} handlers */
function makeView(cm, root, handlers) {
  let timer = 0;
  const props = handlers.current;
  const report = () => {
    handlers.current.onChange?.(view.state.doc.toString());
    clearTimeout(timer);
    timer = setTimeout(() => parse(cm, view, handlers.current), 200);
  };
  let pointed = 0;
  const pointAt = (/** @type {MouseEvent} */ event) => {
    const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
    const line = at === null ? 0 : lineOf(view.state, at);
    if (line && line !== pointed) handlers.current.onLine?.(line);
    pointed = line;
  };
  const view = new cm.EditorView({
    parent: root,
    root,
    state: cm.EditorState.create({
      doc: plain(props.value),
      extensions: [
        cm.lineNumbers(),
        cm.history(),
        cm.drawSelection(),
        cm.highlightActiveLine(),
        cm.highlightActiveLineGutter(),
        cm.highlightSpecialChars({ render: (/** @type {number} */ code) => specialMark(code) }),
        cm.EditorView.lineWrapping,
        cm.EditorView.theme(THEME),
        sharedFields(cm),
        cm.keymap.of([...cm.completionKeymap, ...cm.searchKeymap, ...cm.historyKeymap, ...cm.defaultKeymap]),
        cm.search({ top: true }),
        cm.EditorView.domEventHandlers({
          compositionend: () => void setTimeout(report),
          mousemove: (/** @type {MouseEvent} */ event) => pointAt(event),
        }),
        cm.autocompletion({ override: [(/** @type {any} */ context) => complete(context, handlers.current)] }),
        cm.EditorState.readOnly.of(Boolean(props.readOnly)),
        cm.EditorView.contentAttributes.of({
          "aria-label": props.label,
          "aria-readonly": String(Boolean(props.readOnly)),
        }),
        cm.EditorView.updateListener.of((/** @type {any} */ update) => {
          // Nothing is rendered while an input method composes.
          if (update.docChanged && !update.view.composing) report();
          if (update.selectionSet) handlers.current.onLine?.(lineOf(update.state, update.state.selection.main.head));
        }),
      ],
    }),
  });
  // A text that cannot be changed can still be scrolled with the keyboard.
  if (props.readOnly) view.scrollDOM.tabIndex = 0;
  parse(cm, view, props);
  return view;
}

/** The number of the line at an offset. @param {any} state @param {number} offset @returns {number} */
const lineOf = (state, offset) => state.doc.lineAt(offset).number;

/** @param {number} code */
function specialMark(code) {
  const mark = document.createElement("span");
  mark.className = "cm-specialChar";
  mark.textContent = `⟦${markName(String.fromCodePoint(code))}⟧`;
  return mark;
}

/**
 * Asks the parser for colours and findings.
 * @param {any} cm
 * @param {any} view
 * @param {any} props
 */
async function parse(cm, view, props) {
  if (!can("render")) return;
  const text = view.state.doc.toString();
  try {
    const { data } = await call("POST", "/api/source", { body: { path: props.path, text, units: "utf16" } });
    if (view.state.doc.toString() !== text) return;
    const builder = new cm.RangeSetBuilder();
    for (const [start, length, kind] of data.tokens ?? []) {
      if (length > 0) builder.add(start, start + length, cm.Decoration.mark({ class: `tok-${data.kinds[kind]}` }));
    }
    const most = text.length;
    const findings = (data.findings ?? []).map((/** @type {any} */ finding) => ({
      from: Math.min(finding.start ?? 0, most),
      to: Math.min(Math.max(finding.end ?? 0, finding.start ?? 0), most),
      severity: finding.severity,
      message: finding.message,
    }));
    view.dispatch({ effects: tokenEffect.of(builder.finish()) });
    view.dispatch(cm.setDiagnostics(view.state, findings));
  } catch (error) {
    // Without the parser, the text stays plain.
    if (!(error instanceof ApiError)) throw error;
  }
}

/** @param {any} context @param {any} props */
async function complete(context, props) {
  const before = context.matchBefore(/[\w.|]+/);
  if (!before && !context.explicit) return null;
  try {
    const { data } = await call("POST", "/api/source", {
      body: { path: props.path, text: context.state.doc.toString(), offset: context.pos, units: "utf16" },
    });
    if (!data.completion) return null;
    return {
      from: data.completion.start,
      options: data.completion.items.map((/** @type {any} */ item) => ({
        label: item.label,
        type: item.kind,
        detail: item.detail,
      })),
    };
  } catch {
    return null;
  }
}

/** @param {any} view @param {number} number */
const lineAt = (view, number) => view.state.doc.line(Math.min(Math.max(1, number), view.state.doc.lines));

/** Marks a line. @param {any} cm @param {any} view @param {number} number */
function markLine(cm, view, number) {
  const mark = cm.Decoration.line({ class: "cm-line-marked" }).range(lineAt(view, number).from);
  view.dispatch({ effects: [markEffect.of(cm.Decoration.set([mark]))] });
}

/** Marks a line and brings it into view. @param {any} cm @param {any} view @param {number} number */
function showLine(cm, view, number) {
  markLine(cm, view, number);
  view.dispatch({ effects: [cm.EditorView.scrollIntoView(lineAt(view, number).from, { y: "center" })] });
}

/**
 * Two texts side by side. With `onMerge`, the right one can be changed hunk by hunk.
 * @param {{left: string, right: string, label: string, onMerge?: (text: string) => void}} props
 */
export function Difference({ left, right, label, onMerge }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    /** @type {any} */
    let view = null;
    let isGone = false;
    loadEditor().then((cm) => {
      if (isGone || !host.current) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      root.replaceChildren();
      const common = [
        cm.lineNumbers(),
        cm.EditorView.lineWrapping,
        cm.EditorView.theme(THEME),
        cm.keymap.of(cm.defaultKeymap),
        cm.highlightSpecialChars({ render: specialMark }),
      ];
      view = new cm.MergeView({
        parent: root,
        root,
        revertControls: onMerge ? "a-to-b" : undefined,
        gutter: true,
        collapseUnchanged: { margin: 3, minSize: 6 },
        a: {
          doc: plain(left),
          extensions: [
            ...common,
            cm.EditorState.readOnly.of(true),
            cm.EditorView.contentAttributes.of({ "aria-label": `${label}: ${t("before")}` }),
          ],
        },
        b: {
          doc: plain(right),
          extensions: [
            ...common,
            cm.EditorState.readOnly.of(!onMerge),
            cm.EditorView.contentAttributes.of({ "aria-label": `${label}: ${t("after")}` }),
            cm.EditorView.updateListener.of(
              (/** @type {any} */ update) => update.docChanged && onMerge?.(update.state.doc.toString()),
            ),
          ],
        },
      });
    });
    return () => {
      isGone = true;
      view?.destroy();
    };
  }, [left, onMerge ? "merge" : right]);
  return h("div", { class: "difference" }, h("div", { ref: host, class: "editor-host" }));
}
