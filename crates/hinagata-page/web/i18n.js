// The words of the page, by language. English is part of the first view; the others are loaded when they are chosen.
import { signal } from "./vendor-preact.js";
import { localValue, setLocalValue } from "./state.js";
import en from "./text-en.js";

/** @type {Record<string, string>} */
export const LANGUAGES = { en: "English", ja: "日本語", "zh-Hans": "简体中文" };
/** @type {Record<string, () => Promise<{default: Record<string, string>}>>} */
const LOADERS = { ja: () => import("./text-ja.js"), "zh-Hans": () => import("./text-zh.js") };

const words = signal(/** @type {Record<string, string>} */ (en));
export const language = signal("en");

/**
 * The first language of the browser that the page has. All kinds of Chinese get the one that is there.
 * @param {readonly string[]} wanted
 */
export function chooseLanguage(wanted) {
  for (const tag of wanted) {
    const name = tag.toLowerCase().split("-")[0];
    if (name === "en" || name === "ja") return name;
    if (name === "zh") return "zh-Hans";
  }
  return "en";
}

/** @param {string} tag */
export async function setLanguage(tag) {
  try {
    words.value = LOADERS[tag] ? (await LOADERS[tag]()).default : en;
    language.value = LOADERS[tag] ? tag : "en";
  } catch {
    // A daemon that was replaced no longer has the file: the page goes on in the language that it has.
  }
  document.documentElement.lang = language.value;
}

/** @param {string} tag */
export function rememberLanguage(tag) {
  setLocalValue("language", tag);
  return setLanguage(tag);
}

export const startLanguage = () => setLanguage(localValue("language", "") || chooseLanguage(navigator.languages));

/**
 * A text; `{name}` in it stands for a value.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = words.value[key] ?? /** @type {Record<string, string>} */ (en)[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Whether a key exists. @param {string} key */
export const hasText = (key) => key in en;

/** @param {number} value */
export const formatNumber = (value) => value.toLocaleString(language.value);

/** A moment, as the reader of this language writes it. @param {string | number} moment */
export const formatTime = (moment) => new Date(moment).toLocaleString(language.value);
