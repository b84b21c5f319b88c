// Control, bidirectional and invisible characters become named marks, so that nothing hides in a text.

const NAMES = /** @type {Record<number, string>} */ ({
  0x00ad: "SHY",
  0x061c: "ALM",
  0x180e: "MVS",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x2028: "LS",
  0x2029: "PS",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2060: "WJ",
  0x2061: "FA",
  0x2062: "IT",
  0x2063: "IS",
  0x2064: "IP",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
  0x00a0: "NBSP",
  0x3164: "HF",
  0x115f: "HCF",
  0x1160: "HJF",
});
export const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000d\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\u3164\ufeff]|(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]{0,6})[\u{e0000}-\u{e007f}]|(?<!\p{Extended_Pictographic}\ufe0f?|\p{L}\p{M}*)[\u200c\u200d]/gu;

/** The name of a hidden character. @param {string} character */
export function markName(character) {
  const code = character.codePointAt(0) ?? 0;
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text with marks, for one line such as a title or a name. @param {string} text */
export const withMarks = (text) => text.replace(HIDDEN, (character) => `⟦${markName(character)}⟧`);

/** Which hidden characters a text has, and how often. @param {string} text @returns {[string, number][]} */
export function hiddenIn(text) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const [character] of text.matchAll(HIDDEN)) {
    const name = markName(character);
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  return [...found];
}
