/** A number of a JSON text that a double would change: `1.0`, `7e12345`, or an integer of 17 digits. */
export class ExactNumber {
  /** As it was written. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    hasExactNumbers = true;
  }

  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): number {
    return Number(this.text);
  }
}

/** Most documents hold none: they are neither copied nor written by a slower way. */
let hasExactNumbers = false;

/** The document of a JSON text that was parsed already, with numbers that parsing has changed as they were written. */
export function restoreExactNumbers(text: string, parsed: unknown): unknown {
  const found = changedNumbers(text);
  if (found.length === 0) return parsed;
  const mark = unusedMark(text);
  let marked = "";
  let end = 0;
  for (const [from, to] of found) {
    marked += `${text.slice(end, from)}"${mark}${text.slice(from, to)}"`;
    end = to;
  }
  return JSON.parse(marked + text.slice(end), (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
  );
}

/** The JSON text of a value, with exact numbers as they were written. */
export function stringifyExact(value: unknown, indent?: number): string {
  if (!hasExactNumbers) return JSON.stringify(value, null, indent);
  const texts: string[] = [];
  const write = (mark: string) => {
    texts.length = 0;
    return JSON.stringify(
      value,
      function (this: Record<string, unknown>, key: string, plain: unknown) {
        const own = this[key];
        return own instanceof ExactNumber ? `${mark}${texts.push(own.text) - 1}` : plain;
      },
      indent,
    );
  };
  const mark = unusedMark(write(""));
  const [first, ...others] = write(mark)?.split(`"${mark}`) ?? [];
  // Behind each mark: the number of its text, and the quote that ends the string.
  const rest = others.map((part, at) => texts[at]! + part.slice(part.indexOf('"') + 1));
  return [first, ...rest].join("");
}

/** The same value with nothing but plain numbers: what schemas check. */
export function plainNumbers(value: unknown): unknown {
  if (!hasExactNumbers || typeof value !== "object" || value === null) return value;
  if (value instanceof ExactNumber) return value.valueOf();
  if (Array.isArray(value)) return value.map(plainNumbers);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plainNumbers(inner)]));
}

function unusedMark(text: string): string {
  for (let count = 0; ; count += 1) if (!text.includes(`exact${count}:`)) return `exact${count}:`;
}

/** Where in a JSON text stand numbers that are written otherwise once they were read. */
function changedNumbers(text: string): [from: number, to: number][] {
  const found: [number, number][] = [];
  const number = /-?\d[\d.eE+-]*/y;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === minus || (code >= zero && code <= nine)) {
      number.lastIndex = at;
      const [digits = ""] = number.exec(text) ?? [];
      if (String(Number(digits)) !== digits) found.push([at, at + digits.length]);
      at += digits.length - 1;
    }
  }
  return found;
}

const [quote, backslash, minus, zero, nine] = [...'"\\-09'].map((one) => one.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
];

/** The place of the quote that ends the string; the end of the text where none does. */
export function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === quote) return i;
    if (code === backslash) i += 1;
  }
  return text.length;
}
