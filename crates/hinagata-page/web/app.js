// The shell: navigation, keys, token, and the view of the address.
import { h, render, useEffect, useRef, useState } from "./vendor-preact.js";
import { askWho, followChanges } from "./api.js";
import { LANGUAGES, language, rememberLanguage, startLanguage, t } from "./i18n.js";
import {
  dismissToast,
  goTo,
  isOnline,
  linkTo,
  place,
  refused,
  setLocalValue,
  setToken,
  singleKeys,
  takeToken,
  theme,
  toasts,
  token,
  whoami,
} from "./state.js";
import { Button, Dialog, Empty, Failure, Icon, Loading, Name, Notice } from "./ui.js";
import { ChatView } from "./view-chat.js";
import { ConflictView } from "./view-conflict.js";
import { ContextView } from "./view-context.js";
import { HistoryView } from "./view-history.js";
import { ModuleView } from "./view-module.js";
import { PacksView } from "./view-packs.js";
import { PromptView } from "./view-prompt.js";
import { PromptsView, loadPrompts } from "./view-prompts.js";
import { StoreView } from "./view-store.js";
import { withMarks } from "./marks.js";

takeToken();

/** The entries of the navigation: view, key of its text, letter after `g`. */
const VIEWS = [
  ["prompts", "prompts", "p"],
  ["packs", "packs", "k"],
  ["store", "store", "s"],
  ["context", "context", "c"],
  ["history", "history", "h"],
];

function CurrentView() {
  const { view, id } = place.value;
  switch (view) {
    case "prompts":
      return h(PromptsView, null);
    case "prompt":
      return h(PromptView, { id, key: id });
    case "conflict":
      return h(ConflictView, { id, key: id });
    case "packs":
      return h(PacksView, { id });
    case "store":
      return h(StoreView, null);
    case "chat":
      return h(ChatView, { id, key: id });
    case "module":
      return h(ModuleView, { id, key: id });
    case "context":
      return h(ContextView, null);
    case "history":
      return h(HistoryView, null);
    default:
      return h(
        "div",
        { class: "view" },
        h("h1", null, t("noView")),
        h(Empty, { title: t("noView") }, h("a", { href: linkTo("prompts") }, t("prompts"))),
      );
  }
}

function App() {
  const [dialog, setDialog] = useState("");
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  useKeys(setDialog);
  useEffect(() => {
    document.documentElement.dataset.theme = theme.value;
  }, [theme.value]);
  useEffect(() => {
    const { view, id } = place.value;
    const names = /** @type {Record<string, string>} */ ({
      prompts: t("prompts"),
      packs: t("packs"),
      store: t("store"),
      context: t("context"),
      history: t("history"),
    });
    document.title = `${withMarks(id) || names[view] || view} – Hinagata`;
  }, [place.value, language.value]);
  const who = whoami.value;
  const group = ["prompt", "conflict", "chat", "module"].includes(place.value.view) ? "prompts" : place.value.view;
  return h(
    "div",
    { class: "shell" },
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onClick: (/** @type {Event} */ event) => {
          event.preventDefault();
          main.current?.focus();
        },
      },
      t("skip"),
    ),
    h(
      "header",
      { class: "top" },
      h(
        "a",
        { class: "brand", href: linkTo("prompts") },
        h("img", { class: "brand-mark", src: new URL("icon.svg", import.meta.url).href, alt: "" }),
        h("span", { class: "brand-name" }, "Hinagata"),
      ),
      h(
        "nav",
        { "aria-label": t("views") },
        h(
          "ul",
          null,
          VIEWS.map(([view, key]) =>
            h(
              "li",
              { key: view },
              h("a", { href: linkTo(view), "aria-current": group === view ? "page" : undefined }, t(key)),
            ),
          ),
        ),
      ),
      h(
        "div",
        { class: "top-end" },
        who?.workspace &&
          h(
            "span",
            { class: "workspace" },
            h(Name, null, who.workspace),
            who.trust === "untrusted" &&
              h("span", { class: "badge warning", title: t("untrustedHint") }, t("untrusted")),
          ),
        h(Button, {
          tone: "quiet",
          label: `${t("find")} (Ctrl+K)`,
          onClick: () => setDialog("find"),
          children: h(Icon, { name: "search" }),
        }),
        h(Button, {
          tone: "quiet",
          label: t("settings"),
          onClick: () => setDialog("settings"),
          children: h(Icon, { name: "settings" }),
        }),
        h(Button, {
          tone: "quiet",
          label: t("keys"),
          onClick: () => setDialog("keys"),
          children: h(Icon, { name: "help" }),
        }),
      ),
    ),
    !isOnline.value && h("div", { class: "banner", role: "alert" }, t("offline")),
    refused.value && h(TokenBar, null),
    h("main", { id: "main", ref: main, tabIndex: -1 }, who === null ? h(Loading, null) : h(CurrentView, null)),
    h(
      "div",
      { class: "toasts", role: "status", "aria-live": "polite" },
      toasts.value.map((entry) =>
        h(
          "div",
          { class: `toast ${entry.tone}`, key: entry.id },
          h(
            "span",
            null,
            t(entry.key),
            entry.detail && h("bdi", { class: "toast-detail" }, ` ${withMarks(entry.detail)}`),
          ),
          entry.action &&
            h(Button, {
              tone: "small",
              onClick: () => {
                entry.action?.run();
                dismissToast(entry.id);
              },
              children: t(entry.action.key),
            }),
          h(Button, { tone: "tiny", label: t("close"), onClick: () => dismissToast(entry.id), children: "✕" }),
        ),
      ),
    ),
    dialog === "find" && h(FindDialog, { onClose: () => setDialog("") }),
    dialog === "settings" && h(SettingsDialog, { onClose: () => setDialog("") }),
    dialog === "keys" && h(KeysDialog, { onClose: () => setDialog("") }),
  );
}

/** Asks for another token; what was typed elsewhere stays. */
function TokenBar() {
  const [text, setText] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setToken(text);
    try {
      await askWho();
      setText("");
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    Notice,
    { tone: "warning", role: "alert" },
    h(
      "form",
      { class: "token-form", onSubmit: send },
      h(
        "label",
        null,
        h("strong", null, token.value ? t("tokenRefused") : t("tokenNeeded")),
        " ",
        refused.value?.scope && t("lockedScope", { scope: refused.value.scope }),
        h("input", {
          type: "password",
          autocomplete: "off",
          value: text,
          required: true,
          onInput: (/** @type {any} */ event) => setText(event.currentTarget.value),
        }),
      ),
      h(Button, { type: "submit", tone: "primary", children: t("useToken") }),
    ),
    h("p", { class: "hint" }, t("tokenHint")),
    error && h(Failure, { error }),
  );
}

/** @param {{onClose: () => void}} props */
function FindDialog({ onClose }) {
  const [query, setQuery] = useState("");
  const [all, setAll] = useState(/** @type {any[]} */ ([]));
  const [at, setAt] = useState(0);
  useEffect(() => {
    loadPrompts().then(setAll, () => setAll([]));
  }, []);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all
    .filter((prompt) => words.every((word) => `${prompt.prompt_id} ${prompt.title ?? ""}`.toLowerCase().includes(word)))
    .slice(0, 12);
  const go = (/** @type {any} */ prompt) => (onClose(), goTo(linkTo("prompt", prompt.prompt_id)));
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter" && found[at]) go(found[at]);
  };
  return h(
    Dialog,
    { title: t("find"), onClose },
    h("input", {
      type: "search",
      class: "search",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "found",
      "aria-activedescendant": found[at] ? `found-${at}` : undefined,
      "aria-label": t("filterPrompts"),
      placeholder: t("filterPrompts"),
      autofocus: true,
      value: query,
      onKeyDown,
      onInput: (/** @type {any} */ event) => (setQuery(event.currentTarget.value), setAt(0)),
    }),
    h(
      "ul",
      { id: "found", class: "found", role: "listbox", "aria-label": t("prompts") },
      found.map((prompt, index) =>
        h(
          "li",
          {
            key: prompt.prompt_id,
            id: `found-${index}`,
            role: "option",
            "aria-selected": index === at ? "true" : "false",
            onClick: () => go(prompt),
          },
          h(Name, null, prompt.prompt_id),
          h("span", { class: "hint" }, ` ${withMarks(prompt.title ?? "")}`),
        ),
      ),
    ),
    found.length === 0 && h("p", { class: "hint" }, t("noMatch")),
  );
}

/** @param {{onClose: () => void}} props */
function SettingsDialog({ onClose }) {
  const THEMES = /** @type {Record<string, string>} */ ({
    auto: t("themeAuto"),
    light: t("themeLight"),
    dark: t("themeDark"),
  });
  return h(
    Dialog,
    { title: t("settings"), onClose },
    h(
      "div",
      { class: "stack" },
      h(
        "label",
        { class: "field" },
        h("span", { class: "field-label" }, t("language")),
        h(
          "select",
          {
            value: language.value,
            onChange: (/** @type {any} */ event) => rememberLanguage(event.currentTarget.value),
          },
          Object.entries(LANGUAGES).map(([tag, name]) => h("option", { value: tag, key: tag, lang: tag }, name)),
        ),
      ),
      h(
        "label",
        { class: "field" },
        h("span", { class: "field-label" }, t("theme")),
        h(
          "select",
          {
            value: theme.value,
            onChange: (/** @type {any} */ event) => {
              theme.value = event.currentTarget.value;
              setLocalValue("theme", theme.value);
            },
          },
          Object.entries(THEMES).map(([name, text]) => h("option", { value: name, key: name }, text)),
        ),
      ),
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: singleKeys.value,
          onChange: (/** @type {any} */ event) => {
            singleKeys.value = event.currentTarget.checked;
            setLocalValue("keys", singleKeys.value ? "on" : "off");
          },
        }),
        t("singleKeys"),
      ),
      h(
        "p",
        { class: "hint" },
        t("whoAmI", { caller: whoami.value?.caller ?? "-", scopes: whoami.value?.scopes.join(", ") || "–" }),
      ),
      h(Button, {
        onClick: () => {
          refused.value = { detail: "" };
          onClose();
        },
        children: t("otherToken"),
      }),
      h("p", null, h("a", { href: "/docs", target: "_blank", rel: "noopener" }, t("routes"))),
    ),
  );
}

/** @param {{onClose: () => void}} props */
function KeysDialog({ onClose }) {
  const keys = [
    ["Ctrl+K", t("find")],
    ["Ctrl+S", t("save")],
    ["Ctrl+Enter", t("renderOrSend")],
    ["F6", t("nextPane")],
    ["Alt+↑ / Alt+↓", t("nextSpan")],
    ["Alt+Enter", t("showOrigin")],
    ["g p, g k, g s, g c, g h", t("goToView")],
    ["/", t("filterPrompts")],
    ["?", t("keys")],
  ];
  return h(
    Dialog,
    { title: t("keys"), onClose },
    h(
      "table",
      { class: "keys" },
      h(
        "tbody",
        null,
        keys.map(([key, text]) =>
          h("tr", { key }, h("th", { scope: "row" }, h("kbd", null, key)), h("td", null, text)),
        ),
      ),
    ),
  );
}

/** @param {(name: string) => void} setDialog */
function useKeys(setDialog) {
  useEffect(() => {
    let before = "";
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      if (event.isComposing || event.keyCode === 229) return;
      const control = event.ctrlKey || event.metaKey;
      if (control && event.key.toLowerCase() === "k") return (event.preventDefault(), setDialog("find"));
      if (control && event.key.toLowerCase() === "s")
        return (event.preventDefault(), void dispatchEvent(new Event("hina-save")));
      if (control && event.key === "Enter")
        return (event.preventDefault(), void dispatchEvent(new Event("hina-render")));
      if (event.key === "F6") return (event.preventDefault(), nextPane(event.shiftKey));
      if (!singleKeys.value || control || event.altKey || isTyping(event)) return undefined;
      if (event.key === "?") setDialog("keys");
      else if (event.key === "/") {
        event.preventDefault();
        /** @type {HTMLElement | null} */ (document.querySelector("main input[type=search]"))?.focus();
      } else if (before === "g") {
        const found = VIEWS.find(([, , letter]) => letter === event.key);
        if (found) goTo(linkTo(found[0]));
      }
      before = event.key;
      return undefined;
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.composedPath()[0]);
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** @param {boolean} isBack */
function nextPane(isBack) {
  const panes = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-pane], main")]);
  const at = panes.findLastIndex((pane) => pane.contains(document.activeElement));
  panes[(at + (isBack ? -1 : 1) + panes.length) % panes.length]?.focus();
}

startLanguage().then(async () => {
  render(h(App, null), /** @type {HTMLElement} */ (document.getElementById("app")));
  await askWho().catch(() => undefined);
  followChanges();
});
