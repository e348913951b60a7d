/** Whether a value that was read is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a JSON object; none where a value is something else. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

/** The value of a JSON text; undefined where a text is none. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
