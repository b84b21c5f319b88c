// What the page uses of CodeMirror; loaded when an editor or a difference opens.
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { setDiagnostics, lintGutter } from "@codemirror/lint";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { search, searchKeymap } from "@codemirror/search";
export { Compartment, EditorState, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
