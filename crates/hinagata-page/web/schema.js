// JSON Schemas as the form reads them: references resolved, `allOf` joined.

/** @param {any} schema @param {any} root @param {number} [depth] @returns {any} */
export function resolved(schema, root, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > 16) return {};
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#")) {
    const target = schema.$ref
      .slice(1)
      .split("/")
      .filter(Boolean)
      .reduce(
        (/** @type {any} */ node, /** @type {string} */ part) => node?.[part.replace(/~1/g, "/").replace(/~0/g, "~")],
        root,
      );
    return resolved({ ...target, ...without(schema, "$ref") }, root, depth + 1);
  }
  if (Array.isArray(schema.allOf)) {
    return schema.allOf
      .map((/** @type {any} */ part) => resolved(part, root, depth + 1))
      .reduce(joined, without(schema, "allOf"));
  }
  return schema;
}

/** @param {any} schema @param {string} name */
function without(schema, name) {
  const { [name]: _left, ...rest } = schema;
  return rest;
}

/** @param {any} one @param {any} other */
function joined(one, other) {
  return {
    ...one,
    ...other,
    properties: one.properties || other.properties ? { ...one.properties, ...other.properties } : undefined,
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

/** The schema of a parameter; its declared type where it has none. @param {any} parameter */
export function parameterSchema(parameter) {
  if (parameter.schema && typeof parameter.schema === "object") return parameter.schema;
  const types = /** @type {Record<string, string>} */ ({
    list: "array",
    dict: "object",
    map: "object",
    int: "integer",
    float: "number",
    bool: "boolean",
    str: "string",
  });
  const type = types[parameter.type] ?? parameter.type;
  return ["string", "integer", "number", "boolean", "array", "object"].includes(type) ? { type } : {};
}

/** Which field a schema gets; `json` where it has none. @param {any} schema @returns {string} */
export function fieldKind(schema) {
  if (Array.isArray(schema.enum)) return "enum";
  if ("const" in schema) return "json";
  if (Array.isArray(schema.oneOf) || Array.isArray(schema.anyOf)) return "choice";
  const type = Array.isArray(schema.type)
    ? schema.type.find((/** @type {string} */ name) => name !== "null")
    : schema.type;
  if (type === "object") return schema.properties ? "object" : "json";
  if (type === "array") return schema.items && typeof schema.items === "object" ? "array" : "json";
  return ["string", "integer", "number", "boolean"].includes(type) ? type : "json";
}

/** A first value for a schema. @param {any} schema @param {any} root @returns {any} */
export function firstValue(schema, root) {
  const known = resolved(schema, root);
  if ("default" in known) return known.default;
  switch (fieldKind(known)) {
    case "enum":
      return known.enum[0];
    case "choice":
      return firstValue((known.oneOf ?? known.anyOf)[0], root);
    case "object":
      return Object.fromEntries(
        (known.required ?? [])
          .filter((/** @type {string} */ name) => known.properties?.[name])
          .map((/** @type {string} */ name) => [name, firstValue(known.properties[name], root)]),
      );
    case "array":
      return [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return 0;
    case "string":
      return "";
    default:
      return known.type === "object" ? {} : known.type === "array" ? [] : null;
  }
}
