/** A string of a JSON text: whether it is a key, the keys that lead to it, and what it says. */
export interface JsonString {
  readonly isKey: boolean;
  readonly path: readonly string[];
  readonly value: string;
}

/** A number of a JSON text, as it is spelled. */
export interface JsonNumber {
  readonly path: readonly string[];
  readonly text: string;
}

export interface JsonEdits {
  readonly string: (found: JsonString) => string;
  readonly number: (found: JsonNumber) => string;
}

/**
 * Replaces strings and numbers of a JSON text in place: white space, order and the spelling of the rest are untouched.
 * The text must be JSON.
 */
export function editJson(text: string, edits: JsonEdits): string {
  const levels: Level[] = [];
  const path: string[] = [];
  let out = "";
  // One per call: a string may hold JSON, which is edited meanwhile.
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
      const edited = edits.string({ isKey, path, value });
      if (isKey) {
        level.awaitsKey = false;
        path.push(value);
      } else endValue();
      out += edited === value ? piece : spell(edited, piece);
    } else if (/^[-\d]/.test(piece)) {
      out += edits.number({ path, text: piece });
      endValue();
    } else {
      if (/^[tfn]/.test(piece)) endValue();
      out += piece;
    }
  }
  return out;

  function endValue(): void {
    const level = levels.at(-1);
    if (!level?.isObject) return;
    path.pop();
    level.awaitsKey = true;
  }
}

interface Level {
  readonly isObject: boolean;
  awaitsKey: boolean;
}

/** With escapes for non-ASCII characters, where the original has them. */
function spell(value: string, original: string): string {
  const plain = JSON.stringify(value);
  if (!/\\u[0-9a-fA-F]{4}/.test(original)) return plain;
  return plain.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
