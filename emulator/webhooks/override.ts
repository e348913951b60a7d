/** An override names a field that the body does not have; `known` are the fields at the place where it stops. */
export interface NoSuchField {
  readonly path: string;
  readonly known: readonly string[];
}

/**
 * A copy of a body with other values by the paths of fields: `counterparties.0.poc_email`. A field that is not there
 * is not made: `missing` is called for it, and must throw.
 */
export function overridden(
  body: object,
  overrides: Readonly<Record<string, unknown>>,
  missing: (field: NoSuchField) => never,
): object {
  const copy = structuredClone(body) as Record<string, unknown>;
  for (const [path, value] of Object.entries(overrides)) {
    const steps = path.split(".");
    const last = steps.pop()!;
    const parent = steps.reduce<unknown>((at, step) => child(at, step, path, missing), copy);
    child(parent, last, path, missing);
    (parent as Record<string, unknown>)[last] = value;
  }
  return copy;
}

function child(at: unknown, step: string, path: string, missing: (field: NoSuchField) => never): unknown {
  const known = typeof at === "object" && at !== null ? fieldsOf(at) : [];
  return known.includes(step) ? (at as Record<string, unknown>)[step] : missing({ path, known });
}

/** A key without a value is not in the JSON text. */
const fieldsOf = (at: object): string[] =>
  Object.entries(at).flatMap(([name, value]) => (value === undefined ? [] : [name]));
