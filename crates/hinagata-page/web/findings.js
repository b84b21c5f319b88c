// What the daemon found wrong: which prompt a finding belongs to, and lists of findings with links to their places.
import { h } from "./vendor-preact.js";
import { get } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { catalogVersion, linkTo, storeVersion } from "./state.js";
import { Badge, Name, useLoaded } from "./ui.js";

/**
 * @typedef {{severity: string, source: string, code: string, message: string, hint?: string, near?: string[],
 *   prompt_id?: string, prompts?: string[], place?: {file: string, line?: number, column?: number}}} Finding
 */

/** All findings, read again after each change. */
export const useFindings = () =>
  useLoaded(
    () => /** @type {Promise<Finding[]>} */ (get("/api/diagnostics")),
    [catalogVersion.value, storeVersion.value],
  );

/**
 * The findings by the prompts that they are about: those that they name, or the one whose directory they lie in.
 * @param {Finding[]} findings
 * @param {{prompt_id: string, source?: string | null}[]} prompts
 * @returns {Map<string, Finding[]>}
 */
export function findingsByPrompt(findings, prompts) {
  const bySource = new Map(prompts.filter((one) => one.source).map((one) => [one.source, one.prompt_id]));
  /** @type {Map<string, Finding[]>} */
  const groups = new Map();
  for (const finding of findings) {
    const ids = new Set([finding.prompt_id, ...(finding.prompts ?? [])].filter((id) => id !== undefined));
    const owner = ownerOf(finding.source, bySource) ?? ownerOf(finding.place?.file ?? "", bySource);
    if (owner) ids.add(owner);
    for (const id of ids) groups.set(id, [...(groups.get(id) ?? []), finding]);
  }
  return groups;
}

/**
 * The prompt whose source is this path or a directory above it.
 * @param {string} path
 * @param {Map<string | null | undefined, string>} bySource
 */
function ownerOf(path, bySource) {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
    const found = bySource.get(path.slice(0, end));
    if (found) return found;
  }
  return undefined;
}

/** @param {Finding[]} findings */
export const countErrors = (findings) => findings.filter((finding) => finding.severity === "error").length;

/** How many findings of each severity, as marks. @param {{findings: Finding[]}} props */
export function FindingBadges({ findings }) {
  const errors = countErrors(findings);
  const warnings = findings.length - errors;
  const said = withMarks(findings.map((finding) => finding.message).join(" · ")).slice(0, 400);
  return [
    errors > 0 &&
      h(
        "span",
        { class: "badge error", title: said, key: "errors" },
        t(errors === 1 ? "oneError" : "errorCount", { count: errors }),
      ),
    warnings > 0 &&
      h(
        "span",
        { class: "badge warning", title: said, key: "warnings" },
        t(warnings === 1 ? "oneWarning" : "warningCount", { count: warnings }),
      ),
  ];
}

/**
 * A list of findings. A place of the shown prompt is opened by `onPlace`; other ones are links.
 * @param {{findings: Finding[], onPlace?: (place: {file: string, line: number}) => void,
 *   promptOf?: (finding: Finding) => string | undefined}} props
 */
export const FindingList = ({ findings, onPlace, promptOf }) =>
  h(
    "ul",
    { class: "plain-list findings", "aria-label": t("findings") },
    findings.map((finding, index) => h(FindingRow, { key: index, finding, onPlace, prompt: promptOf?.(finding) })),
  );

/** The pack whose directory a source is. @param {string} source */
const packOf = (source) => /^user_data\/packs\/([^/]+)$/.exec(source)?.[1] ?? "";

/** @param {{finding: Finding, onPlace?: (place: any) => void, prompt?: string}} props */
function FindingRow({ finding, onPlace, prompt }) {
  const { place } = finding;
  const line = place?.line ?? 1;
  const where = place ? `${place.file}${place.line ? `:${place.line}` : ""}` : finding.source;
  return h(
    "li",
    { class: `finding ${finding.severity}` },
    h(Badge, { tone: finding.severity, children: finding.severity === "error" ? t("error") : t("warning") }),
    h(
      "div",
      { class: "grow" },
      h("p", { dir: "auto" }, withMarks(finding.message)),
      (finding.near?.length ?? 0) > 0 &&
        h("p", { class: "hint" }, t("near"), " ", (finding.near ?? []).map(withMarks).join(", ")),
      finding.hint && h("p", { class: "hint", dir: "auto" }, withMarks(String(finding.hint))),
      h(
        "p",
        { class: "hint" },
        place && onPlace
          ? h(
              "button",
              { type: "button", class: "place-link", onClick: () => onPlace({ file: place.file, line }) },
              h(Name, null, where),
            )
          : packOf(finding.source)
            ? h("a", { href: linkTo("packs", packOf(finding.source)) }, h(Name, null, where))
            : prompt
              ? h(
                  "a",
                  {
                    href: linkTo(
                      "prompt",
                      prompt,
                      place ? "files" : "",
                      place ? { file: place.file, line: String(line) } : {},
                    ),
                  },
                  h(Name, null, where),
                )
              : h(Name, null, where),
        " ",
        h("code", null, withMarks(finding.code)),
      ),
    ),
  );
}
