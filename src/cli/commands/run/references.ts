import { stringifyExact, toPlainNumbers } from "../../../base/json.ts";
import { findField, isObject } from "../../../base/object.ts";

type SavedValues = ReadonlyMap<string, unknown>;

/** `$$` is a literal dollar sign. `$name` and `${name.path}` are references. Any other dollar sign is literal. */
const referencePattern = /\$\$|\$\{([^{}]{0,200})\}|\$([a-z]\w{0,60})/gi;

const singleReferencePattern = /^(?:\$\{([^{}]{0,200})\}|\$([a-z]\w{0,60}))$/i;

/** Finds the names that a value refers to, each with the path of its string. */
export function* findReferences(
  value: unknown,
  path: readonly (string | number)[] = [],
): Generator<{ readonly name: string; readonly path: readonly (string | number)[] }> {
  if (typeof value === "string") {
    for (const [, bracedReference, plain] of value.matchAll(referencePattern)) {
      const reference = plain ?? bracedReference?.split(".")[0];
      if (reference !== undefined) yield { name: reference.trim(), path };
    }
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* findReferences(item, [...path, i]);
  } else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* findReferences(member, [...path, key]);
  }
}

/** Replaces the references in a value. A string that is one reference becomes its value, and keeps the type. */
export function resolveReferences<T>(value: T, values: SavedValues): T;
export function resolveReferences(value: unknown, values: SavedValues): unknown {
  return replaceLeaves(value, (_, leaf) => (typeof leaf === "string" ? resolveString(leaf, values) : leaf));
}

/** Replaces each reference with a placeholder word for checks before the values are known. */
export const fillReferences = (text: string): string =>
  text.replace(referencePattern, (match) => (match === "$$" ? "$" : "x"));

export const escapeReferences = (value: unknown): unknown =>
  replaceLeaves(value, (_, leaf) => (typeof leaf === "string" ? leaf.replaceAll("$", "$$$$") : leaf));

export function replaceLeaves(
  value: unknown,
  replace: (path: string, value: unknown) => unknown,
  path: readonly (string | number)[] = [],
): unknown {
  if (Array.isArray(value)) return value.map((item, i) => replaceLeaves(item, replace, [...path, i]));
  if (!isObject(value)) return replace(path.join("."), value);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, replaceLeaves(member, replace, [...path, key])]),
  );
}

/**
 * Formats a value as a replacement of `template` in a file. A field keeps its reference if it equals the value of the
 * reference. All other dollar signs are escaped.
 */
export function restoreReferences(value: unknown, template: unknown, values: SavedValues): unknown {
  const references: { readonly field: string; readonly text: string; readonly value: unknown }[] = [];
  replaceLeaves(template, (path, text) => {
    if (typeof text === "string" && !findReferences(text).next().done) {
      references.push({ field: getFieldPath(path), text, value: toPlainNumbers(resolveString(text, values)) });
    }
    return text;
  });
  return replaceLeaves(
    value,
    (path, leaf) =>
      references.find((reference) => reference.field === getFieldPath(path) && reference.value === leaf)?.text ??
      escapeReferences(leaf),
  );
}

/** Returns `to` for `0.to` and `3.to`, because observations and expectations may have different positions. */
const getFieldPath = (path: string): string =>
  path
    .split(".")
    .filter((name) => !/^\d+$/.test(name))
    .join(".");

function resolveString(text: string, values: SavedValues): unknown {
  const [, bracedReference, plain] = singleReferencePattern.exec(text) ?? [];
  if ((bracedReference ?? plain) !== undefined) return getSavedValue((bracedReference ?? plain)!, values);
  return text.replace(referencePattern, (match, inBraces?: string, plainName?: string, offset = 0) => {
    if (match === "$$") return "$";
    const value = getSavedValue((inBraces ?? plainName)!, values);
    const [field] = /^\.[a-z]\w*/i.exec(text.slice(offset + match.length)) ?? [];
    if (plainName !== undefined && field !== undefined && isObject(value))
      throw new Error(`$${plainName} is a map. To use its field, write $\{${plainName}${field}}`);
    return formatInterpolatedValue(value);
  });
}

export const formatInterpolatedValue = (value: unknown): string =>
  typeof value === "object" ? stringifyExact(value) : String(value);

function getSavedValue(reference: string, values: SavedValues): unknown {
  const [name = "", ...path] = reference.trim().split(".");
  if (!values.has(name)) throw new Error(`$${name} has no value yet`);
  const value = path.length === 0 ? values.get(name) : findField(values.get(name), path.join("."));
  if (value === undefined) throw new Error(`$${name} has no ${path.join(".")}`);
  return value;
}
