// Packs: what they bring, what they may do, what they would replace. Approving says exactly what it allows.
import { h, useRef, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { PackFiles, PackReview, Section, permissionsOf } from "./pack-review.js";
import { can, catalogVersion, linkTo, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Loaded, Locked, Name, Notice, useLoaded } from "./ui.js";

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

/** The review of a pack; for callers who may not approve it, what everybody may know. @param {string} id */
async function readReview(id) {
  if (can("admin")) return get(`/api/packs/${segment(id)}/review?code=true`);
  const pack = await get(`/api/packs/${segment(id)}`);
  return { ...pack, abilities: [], notices: [], findings: [], changes: null, code: null };
}

/** @param {{id: string, onChange: () => void}} props */
function PackDetail({ id, onChange }) {
  const pack = useLoaded(() => readReview(id), [id, catalogVersion.value, can("admin")]);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [isAsking, setAsking] = useState(false);
  const act = async (/** @type {() => Promise<any>} */ work, /** @type {string} */ key) => {
    setError(null);
    try {
      await work();
      toast(key, "success", id);
    } catch (problem) {
      setError(problem);
    }
    pack.again();
    onChange();
  };
  return h(Loaded, {
    of: pack,
    children: () => {
      const shown = pack.value;
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
        error && h(Failure, { error }),
        shown.content === null && h(Notice, { tone: "error", children: t("cannotApprove") }),
        h(
          "div",
          { class: "actions" },
          shown.state !== "approved" &&
            h(Button, {
              tone: "primary",
              scope: "admin",
              disabled: shown.content === null,
              onClick: () => setAsking(true),
              children: t("approveWith", {
                code: shown.python.length,
                permissions: permissionsOf(shown).map(withMarks).join(", ") || t("noPermissions"),
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
        h(PackReview, { review: shown }),
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
            h("span", { class: "hint", key: "o" }, withMarks(one.others.join(", "))),
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
          children: (/** @type {any} */ name) => h("code", null, withMarks(name)),
        }),
        shown.code ? h(PackFiles, { files: shown.code }) : h(Locked, { scope: "admin" }),
        isAsking &&
          h(ApproveDialog, {
            pack: shown,
            onClose: () => setAsking(false),
            onApprove: async (content, replaces) => {
              setAsking(false);
              await act(() => approve(id, content, replaces), "approvedDone");
            },
          }),
      );
    },
  });
}

/**
 * Approves exactly the shown content, then accepts or declines its proposals, as they were answered.
 * @param {string} id
 * @param {string} content
 * @param {Record<string, boolean>} replaces
 */
async function approve(id, content, replaces) {
  await call("POST", `/api/packs/${segment(id)}/approve`, { body: { content } });
  for (const [name, accept] of Object.entries(replaces))
    await call("PUT", `/api/packs/${segment(id)}/replaces/${segment(name)}`, { body: { accept } });
}

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
    one.kind !== "flow" &&
      h(Button, {
        tone: "small",
        scope: "admin",
        label: `${t("decline")} ${one.replaces}`,
        onClick: () => decide(false),
        children: t("decline"),
      }),
    one.kind !== "flow" &&
      h(Button, {
        tone: "small",
        scope: "admin",
        label: `${t("accept")} ${one.replaces}`,
        onClick: () => decide(true),
        children: t("accept"),
      }),
  );
}

/** @param {{pack: any, onClose: () => void, onApprove: (content: string, replaces: Record<string,
 *   boolean>) => void}} props */
function ApproveDialog({ pack: shownNow, onClose, onApprove }) {
  // What is agreed to is what the dialog showed when it opened.
  const [pack] = useState(shownNow);
  const open = pack.replaces.filter((/** @type {any} */ one) => one.kind !== "flow" && one.state === "open");
  const accepted = pack.replaces.filter((/** @type {any} */ one) => one.state === "accepted");
  const permissions = permissionsOf(pack);
  const [answers, setAnswers] = useState(
    /** @type {Record<string, boolean>} */ (
      Object.fromEntries(open.map((/** @type {any} */ one) => [one.replaces, false]))
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
        h("li", null, t("allowsCode", { count: pack.python.length })),
        h(
          "li",
          null,
          t("allowsPermissions"),
          " ",
          permissions.length
            ? permissions.map((name) => h(Badge, { tone: "warning", key: name, children: withMarks(name) }))
            : t("noPermissions"),
        ),
        accepted.map((/** @type {any} */ one) =>
          h(
            "li",
            { key: one.replaces },
            t("stillReplaces", { by: withMarks(one.by), replaces: withMarks(one.replaces) }),
          ),
        ),
      ),
      pack.notices.length > 0 &&
        h(Notice, { tone: "warning", children: t("noticesFound", { count: pack.notices.length }) }),
      open.map((/** @type {any} */ one) =>
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
        h(Button, { tone: "primary", onClick: () => onApprove(pack.content, answers), children: t("approve") }),
      ),
    ),
  );
}
