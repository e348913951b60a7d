/** The names in a path such as `/contracts/{contract_id}/status`, in order. */
export const placeholders = (template: string): string[] =>
  [...template.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!);

/** Puts percent-encoded values in the place of the names. `full_path` is the one value that may hold slashes. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`No value for {${name}} in ${template}`);
    return name === "full_path"
      ? String(value).split("/").map(encodeURIComponent).join("/")
      : encodeURIComponent(String(value));
  });
}
