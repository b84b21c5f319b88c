// The candidates of a name, side by side with their differences; choose, and undo.
import { h, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { Difference } from "./editor.js";
import { readFile } from "./files.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { catalogVersion, linkTo, toast } from "./state.js";
import { Badge, Button, Failure, Loaded, Name, Notice, useLoaded } from "./ui.js";

/** @param {{id: string}} props */
export function ConflictView({ id }) {
  const candidates = useLoaded(() => get(`/api/prompts/${segment(id)}/candidates`), [id, catalogVersion.value]);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [other, setOther] = useState("");
  const act = async (/** @type {() => Promise<any>} */ work, /** @type {string} */ key) => {
    setError(null);
    try {
      await work();
      candidates.again();
      toast(key, "success", id, key === "undone" ? undefined : { key: "undo", run: undo });
    } catch (problem) {
      setError(problem);
    }
  };
  const undo = () => act(() => call("POST", `/api/prompts/${segment(id)}/resolution/undo`), "undone");
  const choose = (/** @type {string} */ source) =>
    act(() => call("PUT", `/api/prompts/${segment(id)}/resolution`, { body: { source } }), "chosenDone");
  return h(
    "div",
    { class: "view conflict" },
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        null,
        h("h1", null, t("candidatesOf"), " ", h(Name, null, id)),
        h("p", { class: "lead" }, t("candidatesHint")),
      ),
      h(
        "div",
        { class: "actions" },
        h(Button, { scope: "write", onClick: undo, children: t("undoDecision") }),
        h(Button, {
          scope: "write",
          onClick: () => act(() => call("DELETE", `/api/prompts/${segment(id)}/resolution`), "choiceRemoved"),
          children: t("removeChoice"),
        }),
        h("a", { class: "button", href: linkTo("prompt", id) }, t("openPrompt")),
      ),
    ),
    error && h(Failure, { error }),
    h(Loaded, {
      of: candidates,
      children: () => {
        const list = candidates.value;
        const first = list.find((/** @type {any} */ one) => one.chosen) ?? list[0];
        const second =
          list.find((/** @type {any} */ one) => one.source === other && one !== first) ??
          list.find((/** @type {any} */ one) => one !== first);
        return h(
          "div",
          { class: "stack" },
          list.length > 1 &&
            !list.some((/** @type {any} */ one) => one.chosen) &&
            h(Notice, { tone: "warning", children: t("conflictNeeded") }),
          h(
            "ul",
            { class: "cards", "aria-label": t("candidates") },
            list.map((/** @type {any} */ one) =>
              h(
                "li",
                { class: `card ${one.chosen ? "chosen" : ""}`, key: one.source },
                h("h2", null, h(Name, null, one.source)),
                h(
                  "p",
                  { class: "meta" },
                  one.version && h(Badge, { children: `v${withMarks(String(one.version))}` }),
                  one.chosen && h(Badge, { tone: "success", children: t("chosen") }),
                  one.approved === false && h(Badge, { tone: "warning", children: t("notApproved") }),
                ),
                h(
                  "div",
                  { class: "actions" },
                  !one.chosen &&
                    h(Button, {
                      tone: "primary",
                      scope: "write",
                      disabled: one.approved === false,
                      label: `${t("choose")} ${one.source}`,
                      onClick: () => choose(one.source),
                      children: t("choose"),
                    }),
                  list.length > 2 &&
                    one !== first &&
                    h(Button, {
                      tone: "small",
                      pressed: second === one,
                      onClick: () => setOther(one.source),
                      children: t("compare"),
                    }),
                ),
              ),
            ),
          ),
          second && h(SourceDifference, { left: first.source, right: second.source }),
        );
      },
    }),
  );
}

/** The difference of two candidates, file by file. @param {{left: string, right: string}} props */
function SourceDifference({ left, right }) {
  const files = useLoaded(async () => {
    const [ours, theirs] = await Promise.all(
      [left, right].map((source) => get(`/api/files?under=${encodeURIComponent(source)}`)),
    );
    /** @type {Map<string, {left?: string, right?: string}>} */
    const names = new Map();
    const add = (/** @type {any} */ data, /** @type {string} */ source, /** @type {"left" | "right"} */ side) => {
      for (const file of data.files)
        names.set(file.path.slice(source.length + 1) || file.path, {
          ...names.get(file.path.slice(source.length + 1) || file.path),
          [side]: file.path,
        });
    };
    add(ours, left, "left");
    add(theirs, right, "right");
    const text = async (/** @type {string | undefined} */ path) => (path ? (await readFile(path)).text : "");
    return Promise.all(
      [...names]
        .sort()
        .map(async ([name, paths]) => ({ name, paths, left: await text(paths.left), right: await text(paths.right) })),
    );
  }, [left, right]);
  return h(
    "section",
    { class: "stack", "aria-label": t("difference") },
    h("h2", null, t("difference")),
    h("p", { class: "hint" }, h(Name, null, left), " ↔ ", h(Name, null, right)),
    h(Loaded, {
      of: files,
      children: () =>
        h(
          "div",
          { class: "stack" },
          /** @type {any[]} */ (files.value).map((file) =>
            h(
              "details",
              { key: file.name, open: file.left !== file.right },
              h(
                "summary",
                null,
                h(Name, null, file.name),
                " ",
                file.left === file.right
                  ? h(Badge, { children: t("same") })
                  : !file.paths.left
                    ? h(Badge, { tone: "success", children: t("onlyRight") })
                    : !file.paths.right
                      ? h(Badge, { tone: "error", children: t("onlyLeft") })
                      : h(Badge, { tone: "warning", children: t("different") }),
              ),
              file.left !== file.right && h(Difference, { left: file.left, right: file.right, label: file.name }),
            ),
          ),
        ),
    }),
  );
}
