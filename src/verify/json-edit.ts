import { writeJson } from "../base/json.ts";

interface JsonEdits {
  /**
   * `path` has the keys that lead to the value, with an empty key for each list. `name` is the last key. `isKey` is
   * true if the string itself is a key.
   */
  readonly editString: (found: { path: readonly string[]; name: string; isKey: boolean; value: string }) => string;
  /** `text` is the number in its original notation. */
  readonly editNumber: (found: { path: readonly string[]; name: string; text: string }) => string;
}

/**
 * Replaces strings and numbers of a JSON text in place. Preserves white space, order and the notation of other values.
 * The text must be valid JSON.
 */
export function editJson(text: string, edits: JsonEdits): string {
  const levels: { readonly isObject: boolean; awaitsKey: boolean }[] = [];
  const path: string[] = [];
  let out = "";
  // Each call needs its own expression, because a string can contain JSON that is edited recursively.
  const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}:,]|true|false|null|\s+/gy;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [piece] = found;
    const level = levels.at(-1);
    if (piece === "{" || piece === "[") {
      levels.push({ isObject: piece === "{", awaitsKey: piece === "{" });
      if (piece === "[") path.push("");
      out += piece;
    } else if (piece === "}" || piece === "]") {
      levels.pop();
      if (piece === "]") path.pop();
      endValue();
      out += piece;
    } else if (piece[0] === '"') {
      const value = JSON.parse(piece) as string;
      const isKey = level?.isObject === true && level.awaitsKey;
      const edited = edits.editString({ isKey, path, name: getName(), value });
      if (isKey) {
        level.awaitsKey = false;
        path.push(value);
      } else endValue();
      out += edited === value ? piece : formatJsonString(edited, piece);
    } else if (/^[-\d]/.test(piece)) {
      out += edits.editNumber({ path, name: getName(), text: piece });
      endValue();
    } else {
      if (/^[tfn]/.test(piece)) endValue();
      out += piece;
    }
  }
  return out;

  function getName(): string {
    return path.findLast((key) => key !== "") ?? "";
  }

  function endValue(): void {
    const level = levels.at(-1);
    if (!level?.isObject) return;
    path.pop();
    level.awaitsKey = true;
  }
}

/** Formats a string and escapes non-ASCII characters if the original does. */
function formatJsonString(value: string, original: string): string {
  return writeJson(JSON.stringify(value), /\\u[0-9a-fA-F]{4}/.test(original) ? "escaped" : "compact");
}
