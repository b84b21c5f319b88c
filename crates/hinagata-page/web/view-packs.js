// Packs: what they bring, what they may do, what they would replace. Approving says exactly what it allows.
import { h, useRef, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { Difference } from "./editor.js";
import { readFile } from "./files.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { catalogVersion, linkTo, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Loaded, Name, Notice, useLoaded } from "./ui.js";

const STATES = /** @type {Record<string, string>} */ ({
  approved: "success",
  pending: "warning",
  modified: "error",
  rejected: "locked",
});
const STATE_KEYS = /** @type {Record<string, string>} */ ({
  approved: "stateApproved",
  pending: "statePending",
  modified: "stateModified",
  rejected: "stateRejected",
});

const PROPOSAL_KEYS = /** @type {Record<string, string>} */ ({
  open: "proposalOpen",
  accepted: "proposalAccepted",
  declined: "proposalDeclined",
});

/** @param {{state: string}} props */
const State = ({ state }) =>
  h(Badge, { tone: STATES[state] ?? "", children: STATE_KEYS[state] ? t(STATE_KEYS[state]) : state });

/** @param {{id: string}} props */
export function PacksView({ id }) {
  const packs = useLoaded(() => get("/api/packs"), [catalogVersion.value]);
  const [error, setError] = useState(/** @type {any} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const install = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    setError(null);
    try {
      const { data } = await call("POST", "/api/packs", {
        text: file,
        headers: { "content-type": "application/octet-stream" },
      });
      toast("installed", "success", data.pack_id);
      packs.again();
    } catch (problem) {
      setError(problem);
    }
  };
  return h(
    "div",
    { class: "view packs" },
    h(
      "div",
      { class: "view-head" },
      h("div", null, h("h1", null, t("packs")), h("p", { class: "lead" }, t("packsHint"))),
      h(
        "div",
        { class: "actions" },
        h("input", {
          type: "file",
          ref: input,
          hidden: true,
          accept: ".tar.gz,.tgz,.zip",
          "aria-label": t("archive"),
          onChange: (/** @type {any} */ event) => install(event.currentTarget.files?.[0]),
        }),
        h(Button, {
          tone: "primary",
          scope: "admin",
          onClick: () => input.current?.click(),
          children: t("installPack"),
        }),
      ),
    ),
    error && h(Failure, { error }),
    h(
      "div",
      { class: "split" },
      h(Loaded, {
        of: packs,
        children: () =>
          packs.value.length === 0
            ? h(Empty, { title: t("noPacks"), icon: "▣" }, h("p", null, t("noPacksHint")))
            : h(
                "ul",
                { class: "side-list", "aria-label": t("packs") },
                packs.value.map((/** @type {any} */ pack) =>
                  h(
                    "li",
                    { key: pack.pack_id },
                    h(
                      "a",
                      { href: linkTo("packs", pack.pack_id), "aria-current": pack.pack_id === id ? "true" : undefined },
                      h(
                        "span",
                        { class: "grow" },
                        h(Name, null, pack.name ?? pack.pack_id),
                        h("span", { class: "hint" }, ` v${withMarks(String(pack.version ?? "–"))}`),
                      ),
                      h(State, { state: pack.state }),
                    ),
                  ),
                ),
              ),
      }),
      id
        ? h(PackDetail, { id, key: id, onChange: packs.again })
        : packs.value?.length > 0 && h(Empty, { title: t("pickPack") }),
    ),
  );
}

/** @param {{id: string, onChange: () => void}} props */
function PackDetail({ id, onChange }) {
  const pack = useLoaded(() => get(`/api/packs/${segment(id)}`), [id, catalogVersion.value]);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isAsking, setAsking] = useState(false);
  const act = async (/** @type {() => Promise<any>} */ work, /** @type {string} */ key) => {
    setError(null);
    try {
      await work();
      toast(key, "success", id);
      pack.again();
      onChange();
      return true;
    } catch (problem) {
      setError(problem);
      pack.again();
      return false;
    }
  };
  return h(Loaded, {
    of: pack,
    children: () => {
      const shown = pack.value;
      const permissions = [
        ...new Set(
          [...(shown.python ?? []), ...(shown.providers ?? [])].flatMap(
            (/** @type {any} */ file) => file.permissions ?? [],
          ),
        ),
      ];
      return h(
        "article",
        { class: "pack stack", "aria-label": shown.name ?? id },
        h(
          "div",
          { class: "line" },
          h("h2", { class: "grow" }, h(Name, null, shown.name ?? id)),
          h(State, { state: shown.state }),
        ),
        shown.description && h("p", { dir: "auto" }, withMarks(shown.description)),
        (shown.problems ?? []).map((/** @type {any} */ problem, /** @type {number} */ index) =>
          h(Notice, { tone: "error", key: index, children: withMarks(problem.message ?? String(problem)) }),
        ),
        error && h(Failure, { error }),
        h(
          "div",
          { class: "actions" },
          shown.state !== "approved" &&
            h(Button, {
              tone: "primary",
              scope: "admin",
              onClick: () => setAsking(true),
              children: t("approveWith", {
                code: (shown.python ?? []).length,
                permissions: permissions.join(", ") || t("noPermissions"),
              }),
            }),
          shown.state !== "rejected" &&
            h(Button, {
              scope: "admin",
              onClick: () => act(() => call("POST", `/api/packs/${segment(id)}/reject`), "rejected"),
              children: t("reject"),
            }),
          h(Button, {
            tone: "danger",
            scope: "admin",
            onClick: () => act(() => call("DELETE", `/api/packs/${segment(id)}`), "removed"),
            children: t("remove"),
          }),
        ),
        h(Section, {
          title: t("codeFiles"),
          items: shown.python,
          children: (/** @type {any} */ file) => [
            h("code", { key: "f" }, withMarks(file.file)),
            " ",
            (file.permissions ?? []).map((/** @type {string} */ name) =>
              h(Badge, { tone: file.needs_trust?.includes(name) ? "error" : "warning", key: name, children: name }),
            ),
          ],
        }),
        h(Section, {
          title: t("prompts"),
          items: shown.prompts,
          children: (/** @type {any} */ prompt) => [
            h(Name, { key: "n" }, prompt.prompt_id),
            " ",
            h("span", { class: "hint", key: "d" }, withMarks(prompt.description ?? prompt.type ?? "")),
          ],
        }),
        h(Section, {
          title: t("partials"),
          items: shown.partials,
          children: (/** @type {any} */ name) => h("code", null, withMarks(String(name.file ?? name))),
        }),
        h(Section, {
          title: t("proposals"),
          items: shown.replaces,
          children: (/** @type {any} */ one) => h(Proposal, { pack: id, one, act }),
        }),
        h(Section, {
          title: t("conflicts"),
          items: shown.conflicts,
          children: (/** @type {any} */ one) => [
            h("a", { href: linkTo("conflict", one.name), key: "l" }, h(Name, null, one.name)),
            " ",
            h("span", { class: "hint", key: "o" }, withMarks((one.others ?? []).join(", "))),
          ],
        }),
        h(PackFiles, { id }),
        shown.state === "modified" && h(Changes, { id }),
        isAsking &&
          h(ApproveDialog, {
            pack: shown,
            permissions,
            onClose: () => setAsking(false),
            onApprove: async (/** @type {Record<string, boolean>} */ replaces) => {
              setAsking(false);
              await act(() => approve(id, shown.content, replaces), "approvedDone");
            },
          }),
      );
    },
  });
}

/**
 * Approves exactly the shown content, then accepts the replacements that were answered with yes.
 * @param {string} id
 * @param {string} content
 * @param {Record<string, boolean>} replaces
 */
async function approve(id, content, replaces) {
  await call("POST", `/api/packs/${segment(id)}/approve`, { body: { content } });
  for (const [name, accept] of Object.entries(replaces)) {
    if (accept) await call("PUT", `/api/packs/${segment(id)}/replaces/${segment(name)}`, { body: { accept } });
  }
}

/** The files of a pack that differ from their approved copies. @param {string} id */
async function changedFiles(id) {
  const { files } = await get(`/api/files?under=${encodeURIComponent(packDirectory(id))}`);
  const both = await Promise.all(
    files.map(async (/** @type {any} */ file) => {
      const current = await readFile(file.path);
      const approved = await readFile(file.path, "?approved=true").catch((error) => {
        if (error.status === 404) return null;
        throw error;
      });
      return {
        path: file.path,
        change: approved ? "modified" : "added",
        approved: approved?.text ?? "",
        current: current.text,
      };
    }),
  );
  return both.filter((file) => file.change === "added" || file.approved !== file.current);
}

/** @param {{title: string, items: any[] | undefined, children: (item: any) => any}} props */
const Section = ({ title, items, children }) =>
  items?.length
    ? h(
        "section",
        { "aria-label": title },
        h("h3", null, title),
        h(
          "ul",
          { class: "plain-list" },
          items.map((item, index) => h("li", { key: index }, children(item))),
        ),
      )
    : null;

/** @param {any} props */
function Proposal({ pack, one, act }) {
  const decide = (/** @type {boolean} */ accept) =>
    act(
      () => call("PUT", `/api/packs/${segment(pack)}/replaces/${segment(one.replaces)}`, { body: { accept } }),
      accept ? "accepted" : "declined",
    );
  return h(
    "div",
    { class: "line" },
    h(
      "span",
      { class: "grow" },
      t("proposal", { by: withMarks(one.by), replaces: withMarks(one.replaces) }),
      " ",
      h(Badge, { children: PROPOSAL_KEYS[one.state] ? t(PROPOSAL_KEYS[one.state]) : one.state }),
    ),
    h(Button, {
      tone: "small",
      scope: "admin",
      label: `${t("decline")} ${one.replaces}`,
      onClick: () => decide(false),
      children: t("decline"),
    }),
    h(Button, {
      tone: "small",
      scope: "admin",
      label: `${t("accept")} ${one.replaces}`,
      onClick: () => decide(true),
      children: t("accept"),
    }),
  );
}

/** @param {any} props */
function ApproveDialog({ pack, permissions, onClose, onApprove }) {
  const [answers, setAnswers] = useState(
    /** @type {Record<string, boolean>} */ (
      Object.fromEntries((pack.replaces ?? []).map((/** @type {any} */ one) => [one.replaces, false]))
    ),
  );
  return h(
    Dialog,
    { title: t("approve"), onClose },
    h(
      "div",
      { class: "stack" },
      h("p", null, t("approveMeans", { name: withMarks(pack.name ?? pack.pack_id) })),
      h(
        "ul",
        null,
        h("li", null, t("allowsCode", { count: (pack.python ?? []).length })),
        h(
          "li",
          null,
          t("allowsPermissions"),
          " ",
          permissions.length
            ? permissions.map((/** @type {string} */ name) => h(Badge, { tone: "warning", key: name, children: name }))
            : t("noPermissions"),
        ),
      ),
      (pack.replaces ?? []).map((/** @type {any} */ one) =>
        h(
          "fieldset",
          { class: "radios", key: one.replaces },
          h("legend", null, t("replaceQuestion", { by: withMarks(one.by), replaces: withMarks(one.replaces) })),
          h(
            "label",
            { class: "radio" },
            h("input", {
              type: "radio",
              name: `replace-${one.replaces}`,
              checked: !answers[one.replaces],
              onChange: () => setAnswers({ ...answers, [one.replaces]: false }),
            }),
            t("no"),
          ),
          h(
            "label",
            { class: "radio" },
            h("input", {
              type: "radio",
              name: `replace-${one.replaces}`,
              checked: answers[one.replaces],
              onChange: () => setAnswers({ ...answers, [one.replaces]: true }),
            }),
            t("yes"),
          ),
        ),
      ),
      h("p", { class: "hint" }, t("digest"), " ", h("code", { class: "digest" }, pack.content)),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, { tone: "primary", onClick: () => onApprove(answers), children: t("approve") }),
      ),
    ),
  );
}

/** All files of a pack, to be read before it is approved. @param {{id: string}} props */
function PackFiles({ id }) {
  const list = useLoaded(() => get(`/api/files?under=${encodeURIComponent(packDirectory(id))}`), [id]);
  return h(
    "section",
    { class: "stack", "aria-label": t("allFiles") },
    h("h3", null, t("allFiles")),
    h(Loaded, {
      of: list,
      children: () =>
        h(
          "div",
          null,
          list.value.files.map((/** @type {any} */ file) => h(PackFile, { key: file.path, path: file.path, pack: id })),
        ),
    }),
  );
}

/** @param {{path: string, pack: string}} props */
function PackFile({ path, pack }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const onToggle = (/** @type {any} */ event) =>
    event.currentTarget.open && readFile(path).then((file) => setText(file.text), setError);
  return h(
    "details",
    { class: "pack-file", onToggle },
    h("summary", null, h(Name, null, path.slice(packDirectory(pack).length + 1))),
    error && h(Failure, { error }),
    text !== null && h("pre", { class: "code-block", tabIndex: 0 }, withMarks(text)),
  );
}

/** @param {string} id */
const packDirectory = (id) => `user_data/packs/${id}`;

/** @param {{id: string}} props */
function Changes({ id }) {
  const changes = useLoaded(() => changedFiles(id), [id, catalogVersion.value]);
  const WORDS = /** @type {Record<string, string>} */ ({ added: t("fileAdded"), modified: t("fileModified") });
  return h(
    "section",
    { class: "stack", "aria-label": t("changesSince") },
    h("h3", null, t("changesSince")),
    h(Loaded, {
      of: changes,
      children: () =>
        h(
          "div",
          { class: "stack" },
          /** @type {any[]} */ (changes.value).map((/** @type {any} */ file) =>
            h(
              "details",
              { key: file.path, open: true },
              h(
                "summary",
                null,
                h(Name, null, file.path),
                " ",
                h(Badge, { tone: "warning", children: WORDS[file.change] ?? file.change }),
              ),
              h(Difference, { left: file.approved, right: file.current, label: file.path }),
            ),
          ),
        ),
    }),
  );
}
