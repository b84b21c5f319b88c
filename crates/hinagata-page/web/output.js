// The rendered text: pieces of plain text, coloured by ranges. No span is an element, so the text can be found, selected
// and printed.
import { HIDDEN, markName } from "./marks.js";

const PIECE = 8192;
/** The most marks for what is left out; a loop can leave out something in every turn. */
const MOST_MARKS = 200;
export const COLOURS = 8;

/** A text as it is shown: hidden characters are marks, and offsets are translated both ways. */
class ShownText {
  /** @param {string} text */
  constructor(text) {
    /**
     * Where marks stand in the original, and how much longer the shown text is behind each.
     * @type {[number, number][]}
     */
    this.shifts = [];
    let shift = 0;
    this.shown = text.replace(HIDDEN, (character, at) => {
      const mark = `⟦${markName(character)}⟧`;
      shift += mark.length - character.length;
      this.shifts.push([at + character.length, shift]);
      return mark;
    });
  }

  /** @param {number} offset of the original */
  toShown(offset) {
    return offset + this.shiftAt((at) => at[0] <= offset);
  }

  /** @param {number} offset of the shown text */
  toOriginal(offset) {
    return Math.max(0, offset - this.shiftAt((at) => at[0] + at[1] <= offset));
  }

  /** @param {(at: [number, number]) => boolean} isBefore */
  shiftAt(isBefore) {
    let [low, high] = [0, this.shifts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.shifts[middle])) low = middle + 1;
      else high = middle;
    }
    return low ? this.shifts[low - 1][1] : 0;
  }
}

/** @typedef {{text: number, at: number, words: string, onPick: () => void}} AbsentMark */

export class OutputView {
  /**
   * @param {HTMLElement} root
   * @param {{onSpan: (span: import("./spanmap.js").Span | undefined, isPinned: boolean) => void, prefix: string}}
   *   options
   */
  constructor(root, options) {
    this.root = root;
    this.options = options;
    /** @type {Map<Node, {text: number, start: number}>} */
    this.nodes = new Map();
    /** @type {{node: Text, start: number, end: number}[][]} */
    this.pieces = [];
    /** @type {ShownText[]} */
    this.shown = [];
    /** @type {import("./spanmap.js").SpanMap | null} */
    this.spans = null;
    this.hovered = -1;
    root.addEventListener("pointermove", (event) => this.point(event, false), { passive: true });
    root.addEventListener("click", (event) => this.point(event, true));
    root.addEventListener("pointerleave", () => {
      this.hovered = -1;
      options.onSpan(undefined, false);
    });
  }

  /**
   * Shows texts, with marks between their lines for what is left out.
   * @param {{label: string, text: string}[]} texts
   * @param {import("./spanmap.js").SpanMap | null} spans
   * @param {AbsentMark[]} absent sorted by offset
   */
  show(texts, spans, absent) {
    this.spans = spans;
    this.nodes.clear();
    this.clear("mark");
    this.pieces = [];
    this.shown = [];
    const all = document.createDocumentFragment();
    texts.forEach(({ label, text }, index) => {
      const marks = absent.filter((one) => one.text === index).slice(0, MOST_MARKS);
      if (label) {
        const head = document.createElement("div");
        head.className = "role";
        head.textContent = label;
        all.append(head);
      }
      const pre = document.createElement("pre");
      pre.className = "text";
      const shown = new ShownText(text);
      this.shown.push(shown);
      /** @type {{node: Text, start: number, end: number}[]} */
      const pieces = [];
      for (let start = 0; start < shown.shown.length;) {
        const stops = marks.splice(0, marksBefore(shown, marks, start));
        if (stops.length) pre.append(...stops.map(makeMark));
        const next = marks.length ? lineAfter(shown, marks[0].at) : shown.shown.length;
        const end = Math.min(pieceEnd(shown.shown, start), next > start ? next : shown.shown.length);
        const piece = document.createElement("span");
        piece.className = shown.shown[end - 1] === "\n" || end === shown.shown.length ? "piece" : "piece broken";
        const node = document.createTextNode(shown.shown.slice(start, end));
        piece.append(node);
        pre.append(piece);
        pieces.push({ node, start, end });
        this.nodes.set(node, { text: index, start });
        start = end;
      }
      pre.append(...marks.map(makeMark));
      this.pieces.push(pieces);
      all.append(pre);
    });
    this.root.replaceChildren(all);
  }

  /**
   * Colours the spans.
   * @param {(span: import("./spanmap.js").Span) => number} colourOf a number below COLOURS, or -1
   */
  colour(colourOf) {
    if (!this.spans || !("highlights" in CSS)) return;
    /** @type {StaticRange[][]} */
    const ranges = Array.from({ length: COLOURS }, () => []);
    this.spans.texts.forEach((spans, text) => {
      let piece = 0;
      const pieces = this.pieces[text] ?? [];
      for (const span of spans) {
        const colour = colourOf(span);
        const [start, end] = this.shownRange(span);
        while (piece < pieces.length && pieces[piece].end <= start) piece++;
        if (colour < 0) continue;
        for (let at = piece; at < pieces.length && pieces[at].start < end; at++)
          ranges[colour].push(rangeIn(pieces[at], start, end));
      }
    });
    ranges.forEach((list, colour) => this.set(`c${colour}`, list));
  }

  /** Marks some spans, such as those of the hovered variable. @param {import("./spanmap.js").Span[]} spans */
  mark(spans) {
    this.set(
      "mark",
      spans.flatMap((span) => this.rangesOf(span)),
    );
  }

  /** @param {import("./spanmap.js").Span} span */
  rangesOf(span) {
    const [start, end] = this.shownRange(span);
    const pieces = this.pieces[span.text] ?? [];
    let [low, high] = [0, pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle].end <= start) low = middle + 1;
      else high = middle;
    }
    const ranges = [];
    for (let at = low; at < pieces.length && pieces[at].start < end; at++) ranges.push(rangeIn(pieces[at], start, end));
    return ranges;
  }

  /** Brings a span into view. @param {import("./spanmap.js").Span} span */
  reveal(span) {
    const [first] = this.rangesOf(span);
    if (!first) return;
    const range = document.createRange();
    range.setStart(first.startContainer, first.startOffset);
    range.setEnd(first.endContainer, first.endOffset);
    const box = range.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) this.root.scrollTop += box.top - frame.top - frame.height / 3;
  }

  /** @param {import("./spanmap.js").Span} span */
  shownRange(span) {
    const shown = this.shown[span.text];
    return shown ? [shown.toShown(span.start), shown.toShown(span.end)] : [0, 0];
  }

  /** @param {MouseEvent} event @param {boolean} isPinned */
  point(event, isPinned) {
    if (!this.spans) return;
    const found = caretAt(event.clientX, event.clientY);
    const piece = found && this.nodes.get(found.node);
    const span = piece
      ? this.spans.at(piece.text, this.shown[piece.text].toOriginal(piece.start + found.offset))
      : undefined;
    const number = span ? span.number : -1;
    if (!isPinned && number === this.hovered) return;
    this.hovered = number;
    this.options.onSpan(span, isPinned);
  }

  /** @param {string} name @param {AbstractRange[]} ranges */
  set(name, ranges) {
    if (!("highlights" in CSS)) return;
    const full = `${this.options.prefix}-${name}`;
    const highlight = new Highlight();
    for (const range of ranges) highlight.add(range);
    highlight.priority = name === "mark" ? 2 : 1;
    CSS.highlights.set(full, highlight);
  }

  /** @param {string} name */
  clear(name) {
    if ("highlights" in CSS) CSS.highlights.delete(`${this.options.prefix}-${name}`);
  }

  destroy() {
    for (let colour = 0; colour < COLOURS; colour++) this.clear(`c${colour}`);
    this.clear("mark");
  }
}

/**
 * How many of the marks, which are sorted, stand at or before the start of a line.
 * @param {ShownText} shown
 * @param {AbsentMark[]} marks
 * @param {number} start
 */
function marksBefore(shown, marks, start) {
  const at = marks.findIndex((mark) => lineAfter(shown, mark.at) > start);
  return at < 0 ? marks.length : at;
}

/**
 * The start of the line at an offset of the original, or of the next one.
 * @param {ShownText} shown
 * @param {number} at
 */
function lineAfter(shown, at) {
  const offset = shown.toShown(at);
  if (offset === 0 || shown.shown[offset - 1] === "\n") return offset;
  const end = shown.shown.indexOf("\n", offset);
  return end < 0 ? shown.shown.length : end + 1;
}

/**
 * A mark between two lines. Its words are no part of the text: they are not found, selected or copied with it.
 * @param {AbsentMark} mark
 */
function makeMark({ words, onPick }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "absent-mark";
  button.setAttribute("aria-label", words);
  button.dataset.words = words;
  button.addEventListener("click", onPick);
  return button;
}

/**
 * @param {{node: Text, start: number, end: number}} piece
 * @param {number} start
 * @param {number} end
 */
function rangeIn(piece, start, end) {
  return new StaticRange({
    startContainer: piece.node,
    startOffset: Math.max(0, start - piece.start),
    endContainer: piece.node,
    endOffset: Math.min(piece.end, end) - piece.start,
  });
}

/**
 * The end of a piece: behind a line end where there is one, never inside a character.
 * @param {string} text
 * @param {number} start
 */
function pieceEnd(text, start) {
  const most = start + PIECE;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf("\n", most - 1);
  if (line > start) return line + 1;
  const code = text.charCodeAt(most - 1);
  return code >= 0xd800 && code < 0xdc00 ? most - 1 : most;
}

/** @param {number} x @param {number} y @returns {{node: Node, offset: number} | null} */
function caretAt(x, y) {
  if ("caretPositionFromPoint" in document) {
    const found = document.caretPositionFromPoint(x, y);
    return found ? { node: found.offsetNode, offset: found.offset } : null;
  }
  const range = /** @type {any} */ (document).caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}
