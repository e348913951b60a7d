/** What is to differ in a body, by the paths of its fields: `counterparties.0.poc_email`. */
export interface Amendments {
  /** Other values of fields that are there. */
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
  /** Fields that are not there yet, or the next item of a list. */
  readonly additions?: Readonly<Record<string, unknown>> | undefined;
  /** Fields that are there, and are to go. */
  readonly removals?: readonly string[] | undefined;
}

/** An amendment that does not fit the body: each of these must throw. */
export interface Conflicts {
  /** `known` are the fields at the place where the path stops. */
  missing(path: string, known: readonly string[]): never;
  present(path: string): never;
}

type Parent = Record<string, unknown> | unknown[];

/** A body with the amendments made, in a copy: additions last, so that a field can be removed and added anew. */
export function amended(body: object, { overrides, additions, removals }: Amendments, conflicts: Conflicts): object {
  if (!overrides && !additions && !removals) return body;
  const copy = structuredClone(body);
  const at = (path: string) => placeOf(copy, path, conflicts);
  for (const [path, value] of Object.entries(overrides ?? {})) {
    const { parent, step } = at(path);
    known(parent, step, path, conflicts);
    put(parent, step, value);
  }
  for (const path of removals ?? []) {
    const { parent, step } = at(path);
    known(parent, step, path, conflicts);
    if (Array.isArray(parent)) parent.splice(Number(step), 1);
    else delete parent[step];
  }
  for (const [path, value] of Object.entries(additions ?? {})) {
    const { parent, step } = at(path);
    if (fieldsOf(parent).includes(step)) conflicts.present(path);
    // A gap in a list would be null in the JSON text.
    if (Array.isArray(parent) && Number(step) !== parent.length) conflicts.missing(path, fieldsOf(parent));
    put(parent, step, value);
  }
  return copy;
}

function placeOf(body: object, path: string, conflicts: Conflicts): { parent: Parent; step: string } {
  const steps = path.split(".");
  const step = steps.pop()!;
  const parent = steps.reduce<unknown>((at, one) => known(at, one, path, conflicts), body);
  if (typeof parent !== "object" || parent === null) conflicts.missing(path, []);
  return { parent: parent as Parent, step };
}

function known(at: unknown, step: string, path: string, { missing }: Conflicts): unknown {
  const fields = fieldsOf(at);
  return fields.includes(step) ? (at as Record<string, unknown>)[step] : missing(path, fields);
}

const put = (parent: Parent, step: string, value: unknown): void =>
  void Object.defineProperty(parent, step, { value, writable: true, enumerable: true, configurable: true });

/** A key without a value is not in the JSON text. */
const fieldsOf = (at: unknown): string[] =>
  typeof at === "object" && at !== null
    ? Object.entries(at).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    : [];
