// The files of a prompt: read, changed, saved, merged with what others wrote.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { call, get, segment } from "./api.js";
import { Difference, Editor } from "./editor.js";
import {
  createFile,
  deleteFile,
  editFile,
  isChanged,
  keepMine,
  openFile,
  openFiles,
  plain,
  refreshFile,
  revertFile,
  saveFile,
  takeTheirs,
} from "./files.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { can, catalogVersion, goTo, isWritable, linkTo, place, toast } from "./state.js";
import { Badge, Button, Dialog, Empty, Failure, Loading, Notice, TextField, useLoaded } from "./ui.js";

/**
 * @param {{files: string[], source: string | null, line: {file: string, line: number} | null,
 *   hovered: {file: string, line: number} | null, onLine: (file: string, line: number) => void,
 *   onSaved: () => void}} props
 */
export function FilesPane({ files: declared, source, line, hovered, onLine, onSaved }) {
  const wanted = place.value.query.get("file");
  const list = useLoaded(
    () => get("/api/files").then((data) => new Map(data.files.map((/** @type {any} */ file) => [file.path, file]))),
    [catalogVersion.value],
  );
  // What makes the prompt comes first, then whatever else lies in its directory.
  const beside = [...(list.value?.keys() ?? [])].filter((path) => source && path.startsWith(`${source}/`));
  const files = /** @type {string[]} */ ([...new Set([...declared, ...beside])]);
  const [picked, setPicked] = useState(wanted ?? declared[declared.length - 1]);
  const [error, setError] = useState(/** @type {any} */ (null));
  // A file of another prompt is shown after a jump to it; what the prompt no longer has gives way.
  const own = files.includes(picked) ? picked : (declared[declared.length - 1] ?? files[0]);
  const path = line && wanted === line.file ? line.file : own;
  const info = /** @type {any} */ (list.value?.get(path));
  const shown = files.includes(path) ? files : [...files, path].filter(Boolean);
  useEffect(() => {
    setError(null);
    if (path && list.value) openFile(path, Boolean(info?.writable)).catch(setError);
  }, [path, list.value]);
  useEffect(() => {
    for (const known of Object.keys(openFiles.value)) refreshFile(known);
  }, [catalogVersion.value]);
  const file = openFiles.value[path];
  const save = async () => {
    setError(null);
    try {
      if (await saveFile(path)) onSaved();
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => {
    // What was typed counts, also where it was not drawn yet.
    const onSave = () => isChanged(openFiles.value[path]) && save();
    addEventListener("hina-save", onSave);
    return () => removeEventListener("hina-save", onSave);
  });
  const [isNew, setNew] = useState(false);
  const show = (/** @type {string} */ name) => {
    setPicked(name);
    goTo(linkTo("prompt", place.value.id, "files", { file: name }), true);
  };
  const remove = async () => {
    try {
      const entry = await deleteFile(path);
      setPicked("");
      list.again();
      toast("deleted", "info", path, {
        key: "undo",
        run: () =>
          call("POST", `/api/trash/${segment(entry)}/restore`).then(
            () => (toast("restored", "success", path), list.again()),
            setError,
          ),
      });
    } catch (problem) {
      setError(problem);
    }
  };
  const isOwnPlace = source !== null && isWritable(`${source}/`);
  if (!path) return list.value || list.error ? h(Empty, { title: t("noFiles") }) : h(Loading, null);
  const scope = path.endsWith(".py") ? "admin" : "write";
  return h(
    "section",
    { class: "files", "aria-label": t("files") },
    h(
      "div",
      { class: "file-bar" },
      h(
        "select",
        {
          "aria-label": t("file"),
          value: path,
          onChange: (/** @type {any} */ event) => show(event.currentTarget.value),
        },
        shown.map((name) =>
          h(
            "option",
            { value: name, key: name },
            `${isChanged(openFiles.value[name]) ? "● " : ""}${withMarks(shortPath(name, source))}`,
          ),
        ),
      ),
      file && !file.writable && h(Badge, { tone: "locked", children: t("readOnlyFile") }),
      file && isChanged(file) && h(Button, { tone: "small", onClick: () => revertFile(path), children: t("revert") }),
      isOwnPlace && h(Button, { tone: "small", scope: "write", onClick: () => setNew(true), children: t("newFile") }),
      // What makes the prompt is deleted with the prompt.
      file?.writable &&
        !declared.includes(path) &&
        h(Button, { tone: "small danger", scope, onClick: remove, children: t("deleteFile") }),
      file?.writable &&
        h(Button, { tone: "small primary", scope, disabled: !isChanged(file), onClick: save, children: t("save") }),
    ),
    error && h(Failure, { error }),
    isNew &&
      h(NewFile, {
        source: /** @type {string} */ (source),
        onClose: () => setNew(false),
        onMade: (made) => {
          setNew(false);
          list.again();
          show(made);
        },
      }),
    file?.theirs && h(MergePane, { path }),
    (file?.findings ?? []).map((/** @type {any} */ finding, /** @type {number} */ index) =>
      h(Notice, {
        key: index,
        tone: finding.severity,
        children: withMarks(`${finding.place?.line ? `${finding.place.line}: ` : ""}${finding.message}`),
      }),
    ),
    file &&
      h(Editor, {
        path,
        value: file.text,
        revision: file.revision,
        readOnly: !file.writable || !can(scope),
        label: path,
        line: line?.file === path ? line.line : undefined,
        hovered: hovered?.file === path ? hovered.line : undefined,
        onChange: (text) => editFile(path, text),
        onLine: (number) => onLine(path, number),
      }),
  );
}

/** The path within the directory of the prompt, for a file of it. @param {string} path @param {string | null} source */
const shortPath = (path, source) => (source && path.startsWith(`${source}/`) ? path.slice(source.length + 1) : path);

/** @param {{source: string, onClose: () => void, onMade: (path: string) => void}} props */
function NewFile({ source, onClose, onMade }) {
  const [name, setName] = useState("");
  const [error, setError] = useState(/** @type {any} */ (null));
  const create = (/** @type {Event} */ event) => {
    event.preventDefault();
    const path = `${source}/${name.trim()}`;
    createFile(path).then(() => onMade(path), setError);
  };
  return h(
    Dialog,
    { title: t("newFile"), onClose },
    h(
      "form",
      { class: "stack", onSubmit: create },
      h(TextField, {
        label: t("fileName"),
        value: name,
        onInput: setName,
        required: true,
        autofocus: true,
        placeholder: "tone.md",
        hint: t("fileNameHint", { include: `{% include "${place.value.id}/${name.trim() || "tone.md"}" %}` }),
      }),
      error && h(Failure, { error }),
      h(
        "div",
        { class: "dialog-foot" },
        h(Button, { onClick: onClose, children: t("cancel") }),
        h(Button, {
          type: "submit",
          tone: "primary",
          scope: name.trim().endsWith(".py") ? "admin" : "write",
          disabled: !name.trim(),
          children: t("create"),
        }),
      ),
    ),
  );
}

/** The file was changed elsewhere: compare, take, keep, or merge by hunks. @param {{path: string}} props */
function MergePane({ path }) {
  const file = openFiles.value[path];
  const [isOpen, setOpen] = useState(false);
  const merged = useRef(plain(file.text));
  if (!file.theirs) return null;
  return h(
    Notice,
    { tone: "warning", role: "alert" },
    h("strong", null, t("changedOnDisk")),
    h("p", null, t("changedOnDiskHint")),
    h(
      "div",
      { class: "actions" },
      h(Button, { tone: "small", onClick: () => setOpen(!isOpen), expanded: isOpen, children: t("compare") }),
      h(Button, { tone: "small", onClick: () => takeTheirs(path), children: t("takeTheirs") }),
      h(Button, { tone: "small", onClick: () => keepMine(path, file.text), children: t("keepMine") }),
      isOpen &&
        h(Button, { tone: "small primary", onClick: () => keepMine(path, merged.current), children: t("useMerged") }),
    ),
    isOpen &&
      h(Difference, {
        left: file.theirs.text,
        right: file.text,
        label: path,
        onMerge: (text) => {
          merged.current = text;
        },
      }),
  );
}
