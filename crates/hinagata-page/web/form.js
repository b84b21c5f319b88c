// A form made from the parameters of a prompt. Unset, empty and null differ; form and JSON change into each other.
import { h, useEffect, useRef, useState } from "./vendor-preact.js";
import { RawNumber, call, fromJson, segment, toJson } from "./api.js";
import { t } from "./i18n.js";
import { withMarks } from "./marks.js";
import { fieldKind, firstValue, parameterSchema, resolved } from "./schema.js";
import { Badge, Button, Notice, Tabs, TextField } from "./ui.js";

/** @typedef {Record<string, any>} Values */

/**
 * @param {{id: string, parameters: any[], reads: string[], values: Values, onChange: (values: Values) => void,
 *   trace: any, active: string, onActive: (name: string) => void, missing: string[]}} props
 */
export function ParameterForm({ id, parameters, reads, values, onChange, trace, active, onActive, missing }) {
  const [mode, setMode] = useState("form");
  const known = new Set(parameters.map((parameter) => parameter.name));
  // What a template reads without a declaration has a field, too.
  const others = [...new Set([...reads, ...Object.keys(values)])].filter((name) => !known.has(name));
  const set = (/** @type {string} */ name, /** @type {any} */ value) => onChange({ ...values, [name]: value });
  const unset = (/** @type {string} */ name) => {
    const { [name]: _left, ...rest } = values;
    onChange(rest);
  };
  return h(
    "section",
    { class: "form", "aria-label": t("variables") },
    h(
      "div",
      { class: "pane-head" },
      h("h2", { class: "hidden" }, t("variables")),
      h(Tabs, {
        label: t("formMode"),
        current: mode,
        onPick: setMode,
        tabs: [
          { id: "form", text: t("form") },
          { id: "json", text: "JSON" },
        ],
      }),
    ),
    mode === "json"
      ? h(JsonField, {
          id: "all-variables",
          label: t("variablesJson"),
          value: values,
          rows: 12,
          isObject: true,
          onValue: onChange,
        })
      : h(
          "div",
          { class: "fields" },
          parameters.length === 0 && others.length === 0 && h("p", { class: "hint" }, t("noParameters")),
          parameters.map((parameter) =>
            h(ParameterField, {
              key: parameter.name,
              parameter,
              propose: parameter.complete
                ? (/** @type {string} */ typed) => proposedValues(id, parameter.name, typed, values)
                : undefined,
              value: values[parameter.name],
              isSet: parameter.name in values,
              isMissing: missing.includes(parameter.name),
              isActive: active === parameter.name,
              onActive,
              winner: trace?.variables?.find((/** @type {any} */ variable) => variable.name === parameter.name),
              onValue: (/** @type {any} */ value) => set(parameter.name, value),
              onUnset: () => unset(parameter.name),
            }),
          ),
          others.map((name) =>
            h(ParameterField, {
              key: name,
              parameter: {
                name,
                class: "extra",
                type: !(name in values) || typeof values[name] === "string" ? "string" : undefined,
              },
              value: values[name],
              isSet: name in values,
              isMissing: missing.includes(name),
              isActive: active === name,
              onActive,
              winner: trace?.variables?.find((/** @type {any} */ variable) => variable.name === name),
              onValue: (/** @type {any} */ value) => set(name, value),
              onUnset: () => unset(name),
            }),
          ),
          h(AddVariable, { onAdd: (name) => name in values || set(name, "") }),
        ),
  );
}

/**
 * What the author of a prompt proposes for a parameter; nothing where the daemon cannot be asked.
 * @param {string} id
 * @param {string} parameter
 * @param {string} value
 * @param {Values} variables
 * @returns {Promise<string[]>}
 */
const proposedValues = (id, parameter, value, variables) =>
  call("POST", `/api/prompts/${segment(id)}/complete`, { body: { parameter, value, variables } }).then(
    ({ data }) => data.values,
    () => [],
  );

/**
 * For variables that a template uses and its prompt does not declare.
 * @param {{onAdd: (name: string) => void}} props
 */
function AddVariable({ onAdd }) {
  const [name, setName] = useState("");
  const add = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (name.trim()) onAdd(name.trim());
    setName("");
  };
  return h(
    "form",
    { class: "line end", onSubmit: add },
    h(TextField, { label: t("addVariable"), value: name, onInput: setName }),
    h(Button, { type: "submit", tone: "small", disabled: !name.trim(), children: t("add") }),
  );
}

const CLASS_KEYS = /** @type {Record<string, string>} */ ({
  required: "classRequired",
  optional: "classOptional",
  custom: "classCustom",
  extra: "classExtra",
});

/** @param {any} props */
function ParameterField({ parameter, propose, value, isSet, isMissing, isActive, onActive, winner, onValue, onUnset }) {
  const [isJson, setJson] = useState(false);
  const sample = isSet ? value : winner ? winner.value : parameter.default;
  const schema = withTextItems(parameterSchema(parameter), sample);
  const id = `field-${parameter.name}`;
  const hasParts = ["array", "object"].includes(fieldKind(resolved(schema, schema)));
  return h(
    "div",
    {
      class: `parameter ${isActive ? "active" : ""} ${isMissing ? "missing" : ""}`,
      onFocusIn: () => onActive(parameter.name),
      onPointerEnter: () => onActive(parameter.name),
    },
    h(
      "div",
      { class: "parameter-head" },
      h("label", { for: id, class: "parameter-name" }, h("bdi", null, withMarks(parameter.name))),
      CLASS_KEYS[parameter.class] && h(Badge, { tone: parameter.class, children: t(CLASS_KEYS[parameter.class]) }),
      parameter.secret && h(Badge, { tone: "secret", children: t("secret") }),
      parameter.type && h("span", { class: "type" }, parameter.type),
      h("span", { class: "grow" }),
      hasParts &&
        h(Button, {
          tone: "tiny",
          label: t("asJson", { name: parameter.name }),
          pressed: isJson,
          onClick: () => setJson(!isJson),
          children: "JSON",
        }),
      isSet &&
        value !== null &&
        h(Button, {
          tone: "tiny",
          label: t("setNull", { name: parameter.name }),
          onClick: () => onValue(null),
          children: "null",
        }),
      isSet &&
        h(Button, { tone: "tiny", label: t("unset", { name: parameter.name }), onClick: onUnset, children: "✕" }),
    ),
    parameter.description && h("p", { class: "hint", id: `${id}-hint`, dir: "auto" }, withMarks(parameter.description)),
    isSet && value === null
      ? h(
          "div",
          { class: "null-value" },
          h("code", null, "null"),
          h(Button, { tone: "tiny", onClick: () => onValue(firstValue(schema, schema)), children: t("enterValue") }),
        )
      : h(SchemaField, {
          id,
          schema: isJson ? {} : schema,
          root: schema,
          value,
          isSet,
          isSecret: parameter.secret,
          propose,
          placeholder: greyedText(winner, isSet, parameter),
          onValue,
          isMissing,
        }),
    isMissing && h("p", { class: "field-error", id: `${id}-error` }, t("missingValue")),
    !isSet && winner && winner.layer && h("p", { class: "counted" }, t("countedFrom", { layer: winner.layer })),
  );
}

/**
 * A list whose items are not described holds texts, unless the value that counts has other items.
 * @param {any} schema
 * @param {any} sample
 */
function withTextItems(schema, sample) {
  const isTexts = (sample ?? []).every?.((/** @type {any} */ item) => typeof item === "string") ?? false;
  return schema.type === "array" && !schema.items && isTexts ? { ...schema, items: { type: "string" } } : schema;
}

/**
 * The value that counts while the field is unset.
 * @param {any} winner
 * @param {boolean} isSet
 * @param {any} parameter
 */
function greyedText(winner, isSet, parameter) {
  if (isSet) return "";
  const value = winner ? winner.value : parameter.default;
  if (value === null || value === undefined) return t("notSet");
  return typeof value === "string" ? value || t("emptyText") : toJson(value);
}

/** @param {any} props @returns {any} */
export function SchemaField(props) {
  const schema = resolved(props.schema, props.root);
  const kind = fieldKind(schema);
  const { id, value, onValue, placeholder, isSecret, root } = props;
  const fits = value === undefined || fitsKind(kind, value);
  if (!fits || kind === "json")
    return h(JsonField, { id, label: undefined, value, rows: 3, placeholder, onValue, isSet: props.isSet });
  const common = {
    id,
    "aria-invalid": props.isMissing ? "true" : undefined,
    "aria-describedby": props.isMissing ? `${id}-error` : undefined,
  };
  switch (kind) {
    case "enum":
      return h(
        "select",
        {
          ...common,
          value: value === undefined ? "" : toJson(value),
          onChange: (/** @type {any} */ event) =>
            event.currentTarget.value && onValue(JSON.parse(event.currentTarget.value)),
        },
        h("option", { value: "" }, placeholder || t("notSet")),
        schema.enum.map((/** @type {any} */ item) =>
          h(
            "option",
            { value: toJson(item), key: toJson(item) },
            typeof item === "string" ? withMarks(item) : toJson(item),
          ),
        ),
      );
    case "boolean":
      return h(
        "select",
        {
          ...common,
          value: value === undefined ? "" : String(value),
          onChange: (/** @type {any} */ event) =>
            event.currentTarget.value && onValue(event.currentTarget.value === "true"),
        },
        h("option", { value: "" }, placeholder || t("notSet")),
        h("option", { value: "true" }, "true"),
        h("option", { value: "false" }, "false"),
      );
    case "integer":
    case "number":
      return h(NumberField, { ...common, value, placeholder, onValue, isInteger: kind === "integer" });
    case "string":
      return isSecret
        ? h("input", {
            ...common,
            type: "password",
            autocomplete: "off",
            value: value ?? "",
            placeholder,
            onInput: (/** @type {any} */ event) => onValue(event.currentTarget.value),
          })
        : props.propose
          ? h(ProposedText, { ...common, value, placeholder, onValue, propose: props.propose })
          : h(GrowingText, { ...common, value, placeholder, onValue });
    case "object":
      return h(
        "fieldset",
        { class: "object", id },
        Object.entries(schema.properties ?? {}).map(([name, part]) => {
          const inner = value?.[name];
          const has = value !== undefined && name in value;
          return h(
            "div",
            { class: "property", key: name },
            h(
              "label",
              { for: `${id}-${name}` },
              withMarks(name),
              schema.required?.includes(name) && h("span", { class: "star", title: t("classRequired") }, " *"),
            ),
            has &&
              h(Button, {
                tone: "tiny",
                label: t("unset", { name }),
                children: "✕",
                onClick: () => {
                  const { [name]: _left, ...rest } = value;
                  onValue(rest);
                },
              }),
            h(SchemaField, {
              id: `${id}-${name}`,
              schema: part,
              root,
              value: inner,
              isSet: has,
              placeholder: "",
              onValue: (/** @type {any} */ next) => onValue({ ...value, [name]: next }),
            }),
          );
        }),
        value &&
          Object.keys(value).some((name) => !schema.properties?.[name]) &&
          h(JsonField, { id: `${id}-json`, label: t("wholeJson"), value, rows: 4, onValue }),
      );
    case "array": {
      const items = value ?? [];
      return h(
        "fieldset",
        { class: "array", id },
        items.map((/** @type {any} */ item, /** @type {number} */ index) =>
          h(
            "div",
            { class: "item", key: index },
            h("label", { for: `${id}-${index}`, class: "item-number" }, String(index + 1)),
            h(SchemaField, {
              id: `${id}-${index}`,
              schema: schema.items,
              root,
              value: item,
              isSet: true,
              placeholder: "",
              onValue: (/** @type {any} */ next) =>
                onValue(items.map((/** @type {any} */ old, /** @type {number} */ at) => (at === index ? next : old))),
            }),
            h(Button, {
              tone: "tiny",
              label: t("removeItem", { number: index + 1 }),
              children: "✕",
              onClick: () =>
                onValue(items.filter((/** @type {any} */ _item, /** @type {number} */ at) => at !== index)),
            }),
          ),
        ),
        h(Button, {
          tone: "small",
          onClick: () => onValue([...items, firstValue(schema.items, root)]),
          children: t("addItem"),
        }),
      );
    }
    default:
      return h(ChoiceField, { ...props, options: schema.oneOf ?? schema.anyOf });
  }
}

/** @param {any} props */
function ChoiceField({ id, options, root, value, onValue, isSet }) {
  const choices = options.map((/** @type {any} */ option) => resolved(option, root));
  const guess = choices.findIndex((/** @type {any} */ option) => fitsKind(fieldKind(option), value));
  const [picked, setPicked] = useState(Math.max(0, guess));
  return h(
    "div",
    { class: "choice" },
    h(
      "select",
      {
        "aria-label": t("variant"),
        value: String(picked),
        onChange: (/** @type {any} */ event) => {
          const next = Number(event.currentTarget.value);
          setPicked(next);
          onValue(firstValue(choices[next], root));
        },
      },
      choices.map((/** @type {any} */ option, /** @type {number} */ index) =>
        h("option", { value: String(index), key: index }, option.title ?? option.type ?? `${index + 1}`),
      ),
    ),
    h(SchemaField, { id, schema: choices[picked], root, value, isSet, placeholder: "", onValue }),
  );
}

/** @param {string} kind @param {any} value */
function fitsKind(kind, value) {
  if (value === undefined) return true;
  switch (kind) {
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "integer":
    case "number":
      return typeof value === "number" || value instanceof RawNumber;
    case "array":
      return Array.isArray(value);
    case "object":
      return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof RawNumber);
    default:
      return true;
  }
}

/** A text for which values are proposed; any other one can be typed. @param {any} props */
function ProposedText({ value, placeholder, onValue, propose, ...rest }) {
  const [found, setFound] = useState(/** @type {string[]} */ ([]));
  const ask = (/** @type {string} */ typed) => propose(typed).then(setFound);
  return h(
    "div",
    { class: "proposed" },
    h("input", {
      ...rest,
      value: value ?? "",
      placeholder,
      dir: "auto",
      list: `${rest.id}-values`,
      autocomplete: "off",
      spellcheck: false,
      // What is there already must not hide the other values.
      onFocus: () => ask(""),
      onInput: (/** @type {any} */ event) => {
        if (event.isComposing) return;
        onValue(event.currentTarget.value);
        ask(event.currentTarget.value);
      },
      oncompositionend: (/** @type {any} */ event) => onValue(event.currentTarget.value),
    }),
    h(
      "datalist",
      { id: `${rest.id}-values` },
      found.map((one) => h("option", { value: one, key: one })),
    ),
  );
}

/**
 * A text that grows with its lines. Nothing is reported while an input method composes, and what it composes stays when
 * an answer comes meanwhile.
 * @param {any} props
 */
function GrowingText({ value, placeholder, onValue, ...rest }) {
  const [composed, setComposed] = useState(/** @type {string | null} */ (null));
  const shown = composed ?? String(value ?? "");
  return h("textarea", {
    ...rest,
    rows: Math.min(12, Math.max(1, shown.split("\n").length)),
    value: shown,
    placeholder,
    dir: "auto",
    spellcheck: false,
    onInput: (/** @type {any} */ event) => {
      const typed = event.currentTarget.value;
      if (event.isComposing) return setComposed(typed);
      setComposed(null);
      return onValue(typed);
    },
    // Preact knows this event in lower case only, because elements have no property for it.
    oncompositionend: (/** @type {any} */ event) => {
      setComposed(null);
      onValue(event.currentTarget.value);
    },
  });
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** @param {any} props */
function NumberField({ value, placeholder, onValue, isInteger, ...rest }) {
  const shown = value instanceof RawNumber ? value.digits : value === undefined ? "" : String(value);
  const [text, setText] = useState(shown);
  const [isWrong, setWrong] = useState(false);
  const last = useRef(shown);
  useEffect(() => {
    if (shown !== last.current) setText(shown);
    last.current = shown;
  }, [shown]);
  return h("input", {
    ...rest,
    inputMode: isInteger ? "numeric" : "decimal",
    value: text,
    placeholder,
    autocomplete: "off",
    "aria-invalid": isWrong ? "true" : rest["aria-invalid"],
    title: isWrong ? t("notNumber") : undefined,
    onInput: (/** @type {any} */ event) => {
      const typed = event.currentTarget.value.trim();
      setText(event.currentTarget.value);
      const isRight = NUMBER.test(typed) && (!isInteger || /^-?\d+$/.test(typed));
      setWrong(!isRight && typed !== "");
      if (!isRight) return;
      last.current = typed;
      onValue(String(Number(typed)) === typed ? Number(typed) : new RawNumber(typed));
    },
  });
}

/** JSON as text. What cannot be read stays as typed and is not used. @param {any} props */
export function JsonField({ id, label, value, rows, placeholder, onValue, isObject, isSet }) {
  const shown = value === undefined || isSet === false ? "" : toJson(value, 2);
  const [text, setText] = useState(shown);
  const [error, setError] = useState("");
  const last = useRef(shown);
  useEffect(() => {
    if (shown !== last.current && !error) setText(shown);
    last.current = shown;
  }, [shown]);
  const read = (/** @type {string} */ typed) => {
    setText(typed);
    if (typed.trim() === "") return setError("");
    try {
      const next = fromJson(typed);
      if (isObject && (next === null || typeof next !== "object" || Array.isArray(next)))
        throw new Error(t("needsObject"));
      setError("");
      last.current = toJson(next, 2);
      onValue(next);
    } catch (problem) {
      setError(String(/** @type {Error} */ (problem).message));
    }
  };
  return h(
    "div",
    { class: "json-field" },
    label && h("label", { for: id }, label),
    h("textarea", {
      id,
      class: "code",
      rows: Math.max(rows, Math.min(20, text.split("\n").length)),
      value: text,
      placeholder,
      spellcheck: false,
      "aria-invalid": error ? "true" : undefined,
      onInput: (/** @type {any} */ event) =>
        event.isComposing ? setText(event.currentTarget.value) : read(event.currentTarget.value),
      oncompositionend: (/** @type {any} */ event) => read(event.currentTarget.value),
    }),
    error && h(Notice, { tone: "error", children: error }),
  );
}
