/** Problems in shape C: messages by field, with rows keyed by index (DECISIONS.md, F4). */
interface FieldProblems {
  [field: string]: string[] | FieldProblems;
}

/** Collects the problems of a body's fields, so that one response lists all of them. */
export class ProblemCollector {
  readonly #fields: FieldProblems = Object.create(null);

  /**
   * `path` leads from the body to the field, as in `add(["counter_party_details", 0, "organization_name"], "…")`. The
   * first problem of a field decides whether it gets messages of its own or of its rows.
   */
  add(path: readonly (string | number)[], ...messages: readonly string[]): void {
    let parent = this.#fields;
    for (const key of path.slice(0, -1)) {
      const member: string[] | FieldProblems = parent[key] ?? Object.create(null);
      if (Array.isArray(member)) return;
      parent[key] = member;
      parent = member;
    }
    const existing = parent[path.at(-1)!];
    if (Array.isArray(existing)) existing.push(...messages);
    else parent[path.at(-1)!] ??= [...messages];
  }

  addAll(path: readonly (string | number)[], problems: Readonly<Record<string, readonly string[]>> | undefined): void {
    for (const [key, messages] of Object.entries(problems ?? {})) this.add([...path, key], ...messages);
  }

  get fields(): FieldProblems | undefined {
    return Object.keys(this.#fields).length > 0 ? this.#fields : undefined;
  }
}
