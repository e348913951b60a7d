import { SourceNumber } from "./python-json.ts";

const loneSurrogates = /\p{Surrogate}/gu;

/**
 * Compact JSON as Starlette's JSONResponse prints it, with numbers that kept their source text printed as Python
 * prints them. NaN, the infinities and lone surrogates, on which the original answers 500, become null and U+FFFD
 * (DECISIONS.md, R1). By hand: JSON.stringify prints numbers as JavaScript does.
 */
export function printPython(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value.replace(loneSurrogates, "\ufffd"));
  if (value instanceof SourceNumber) return printNumber(value.text);
  if (Array.isArray(value)) return `[${value.map(printPython).join(",")}]`;
  if (value instanceof Map) return printMembers([...value]);
  if (typeof value === "object")
    return printMembers(Object.entries(value).filter(([, member]) => member !== undefined));
  return JSON.stringify(value);
}

const printMembers = (members: readonly (readonly [string, unknown])[]): string =>
  `{${members.map(([key, member]) => `${printPython(key)}:${printPython(member)}`).join(",")}}`;

function printNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return text === "-0" ? "0" : text;
  const value = Number(text);
  return Number.isFinite(value) ? printFloat(value) : "null";
}

/** `repr` of a Python float: exponents from 1e16 upwards and below 1e-4, always a fraction or an exponent. */
function printFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    const [digits, exponent] = value.toExponential().split("e") as [string, string];
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}
