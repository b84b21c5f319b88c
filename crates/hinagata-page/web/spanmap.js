// Reads the source map of a render: which span holds an offset, and what is known about it.

export const KIND_KEYS = /** @type {Record<string, string>} */ ({
  text: "kindText",
  value: "kindValue",
  derived: "kindDerived",
  tool: "kindTool",
  computed: "kindComputed",
  frame: "kindFrame",
  hook: "kindHook",
  masked: "kindMasked",
});

/** Who can change a text, by the layer of its variable. */
const AUTHORS = new Set([
  "default",
  "optional",
  "custom",
  "required",
  "prompt",
  "definition",
  "settings",
  "extends",
  "computed",
  "system",
  "parent",
]);
const STORES = new Set(["store", "environ", "environs", "extension", "memory", "project"]);

/**
 * @typedef {{start: number, end: number, text: number, kind: string, place: any, via: number, of: number, from:
 *   number, number: number}} Span
 */

export class SpanMap {
  /** @param {any} map the field `map` of explain, with `units: utf16` */
  constructor(map) {
    this.map = map;
    /** @type {Span[][]} spans by text */
    this.texts = [];
    /** @type {Span[]} */
    this.all = [];
    (map.texts ?? []).forEach((/** @type {any} */ text, /** @type {number} */ index) => {
      let at = 0;
      const spans = [];
      for (const [length, kind, place, via, of, from] of text.spans) {
        const span = {
          start: at,
          end: at + length,
          text: index,
          kind: map.kinds[kind],
          place,
          via,
          of,
          from,
          number: this.all.length,
        };
        at += length;
        spans.push(span);
        this.all.push(span);
      }
      this.texts.push(spans);
    });
  }

  /**
   * The spans of a provider's request, which point at those of the texts.
   * @param {any} result what explain answered, with `request`
   */
  static forRequest({ map, request }) {
    const frame = map.kinds.indexOf("frame");
    const spans = request.spans.map((/** @type {number[]} */ [length, text, span, from]) => {
      if (text < 0) return [length, frame, -1, -1, -1, -1];
      const [, kind, place, via, of] = map.texts[text].spans[span];
      return [length, kind, place, via, of, from];
    });
    const body = typeof request.body === "string" ? request.body : JSON.stringify(request.body);
    return new SpanMap({ ...map, texts: [{ message: null, part: null, text: body, spans }], absent: [] });
  }

  /**
   * The span at an offset, by halving.
   * @param {number} text
   * @param {number} offset
   * @returns {Span | undefined}
   */
  at(text, offset) {
    const spans = this.texts[text] ?? [];
    let [low, high] = [0, spans.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (offset < spans[middle].start) high = middle - 1;
      else if (offset >= spans[middle].end) low = middle + 1;
      else return spans[middle];
    }
    return undefined;
  }

  /**
   * @param {number} place
   * @returns {{file: string, from: number, to: number, line: number, column: number, inString: boolean} | null}
   */
  place(place) {
    const row = this.map.places?.[place];
    if (!row) return null;
    const file = this.map.files[row[0]];
    return {
      file: file.file,
      from: row[1],
      to: row[2],
      line: row[3],
      column: row[4],
      inString: Boolean(file.in_string),
    };
  }

  /**
   * The section of a module that a text was written in, by its place in the file.
   * @param {Span} span
   * @returns {string | undefined}
   */
  writtenSection(span) {
    const row = this.map.places?.[span.place];
    const pointer = row ? (this.map.files[row[0]].pointer ?? "") : "";
    return /^\/sections\/([^/]+)/.exec(pointer)?.[1];
  }

  /**
   * The variables behind a span.
   * @param {Span} span
   * @returns {{path: string, layer?: string, origin?: string, text?: string}[]}
   */
  variables(span) {
    if (span.of < 0) return [];
    if (span.kind === "derived") {
      return (this.map.inputs[span.of] ?? []).map((/** @type {any} */ input) =>
        typeof input === "string"
          ? { path: input }
          : typeof input === "number"
            ? (this.map.values[input] ?? { path: "?" })
            : input,
      );
    }
    const value = this.map.values[span.of];
    return value ? [value] : [];
  }

  /** The steps around a span, outermost first. @param {number} via @returns {any[]} */
  steps(via) {
    const steps = [];
    for (let at = via; at >= 0 && steps.length < 100; at = this.map.via[at]?.parent ?? -1)
      steps.unshift(this.map.via[at]);
    return steps.filter(Boolean);
  }

  /**
   * What a span counts as, by the chosen way to colour.
   * @param {Span} span
   * @param {string} by
   * @returns {string}
   */
  category(span, by) {
    if (by === "kind") return span.kind;
    if (by === "file") return this.place(span.place)?.file ?? "–";
    const variable = this.variables(span)[0];
    const layer = variable?.layer ?? this.layerOf(variable?.path);
    if (by === "layer") return layer ?? (span.kind === "text" ? "text" : "–");
    if (span.kind === "text" || span.kind === "frame" || span.kind === "computed" || span.kind === "hook")
      return "author";
    if (span.kind === "tool") return "outside";
    if (layer === undefined) return "author";
    if (layer === "call" || layer === "caller") return "caller";
    return STORES.has(layer) ? "store" : AUTHORS.has(layer) ? "author" : "outside";
  }

  /** @param {string | undefined} path */
  layerOf(path) {
    if (!path) return undefined;
    const name = path.split(/[.[]/)[0];
    return this.layers?.get(name);
  }

  /** Takes the layers of the trace, for inputs that name only a path. @param {any} trace */
  withTrace(trace) {
    this.layers = new Map(
      (trace?.variables ?? []).map((/** @type {any} */ variable) => [variable.name, variable.layer]),
    );
    return this;
  }

  /** The categories of all spans, most bytes first. @param {string} by @returns {{name: string, length: number}[]} */
  categories(by) {
    /** @type {Map<string, number>} */
    const sizes = new Map();
    for (const span of this.all) {
      const name = this.category(span, by);
      sizes.set(name, (sizes.get(name) ?? 0) + span.end - span.start);
    }
    return [...sizes].map(([name, length]) => ({ name, length })).sort((a, b) => b.length - a.length);
  }

  /** The spans that a line of a file or a variable wrote. @param {(span: Span) => boolean} test */
  matching(test) {
    return this.all.filter(test);
  }
}
