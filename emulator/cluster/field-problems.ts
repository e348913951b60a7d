/** Shape C as it grows: fields, rows keyed by index, messages (DECISIONS.md, F4). */
export type FieldProblems = { [field: string]: readonly string[] | FieldProblems };

/** Collects what is wrong with the fields of a body, so that one answer tells all of it. */
export class Problems {
  readonly #found: FieldProblems = Object.create(null);

  /** `path` leads from the body to the field: `add(["counter_party_details", 0, "organization_name"], "…")`. */
  add(path: readonly (string | number)[], ...messages: readonly string[]): void {
    let at = this.#found;
    for (const key of path.slice(0, -1)) {
      at[key] ??= Object.create(null) as FieldProblems;
      at = at[key] as FieldProblems;
    }
    at[path.at(-1)!] = messages;
  }

  addAll(path: readonly (string | number)[], problems: Readonly<Record<string, readonly string[]>> | undefined): void {
    for (const [key, messages] of Object.entries(problems ?? {})) this.add([...path, key], ...messages);
  }

  /** Undefined: nothing was wrong. */
  get found(): FieldProblems | undefined {
    return Object.keys(this.#found).length > 0 ? this.#found : undefined;
  }
}
