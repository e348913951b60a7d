import { decodeUrlText } from "../../../src/api/secrets.ts";

const escapedOrForeignPattern = /[%\x80-\xff]/;
const percentEscape = /%([0-9a-f]{2})/gi;

/**
 * Splits a whole URL as target (RFC 9112, 3.2.2) into its authority, `localhost:4010`, and its path and query. Returns
 * undefined for other targets.
 */
export function splitAbsoluteTarget(target: string): { readonly authority: string; readonly path: string } | undefined {
  if (target[0] === "/") return undefined;
  const [, authority, path = ""] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target) ?? [];
  if (authority === undefined) return undefined;
  return { authority, path: path[0] === "/" ? path : `/${path}` };
}

const mayHaveDots = /\/(?:\.|%2e)/i;
const dotSegmentPattern = /^(?:\.|%2e)$/i;
const dotDotSegmentPattern = /^(?:\.|%2e){2}$/i;

/** Removes dot segments from a target as clients do (RFC 3986, 5.2.4). Escaped dots are also removed (WHATWG URL). */
export function removeDotSegments(target: string): string {
  if (!mayHaveDots.test(target)) return target;
  const [, path = "", query = ""] = /^([^?]*)(.*)$/s.exec(target) ?? [];
  if (path[0] !== "/") return target;
  const segments: string[] = [];
  const allSegments = path.slice(1).split("/");
  for (const [i, segment] of allSegments.entries()) {
    const isParent = dotDotSegmentPattern.test(segment);
    if (isParent) segments.pop();
    if (!isParent && !dotSegmentPattern.test(segment)) segments.push(segment);
    else if (i === allSegments.length - 1) segments.push("");
  }
  return `/${segments.join("/")}${query}`;
}

/** Returns whether a decoded path has dot segments for a server that reads `..%2f` as `../` or `..\\`. */
export const hasDotSegments = (path: string): boolean => /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(path);

const controlPathPattern = /emulator|[^\x21-\x24\x26-\x7e]/i;

/**
 * Returns whether a path leads to the control plane, or could lead there for a less strict server. Such a server may
 * accept escapes, other cases, empty or dot segments, parameters or backslashes. Only the exact spelling is served.
 */
export function isControlPath(path: string): boolean {
  if (path.startsWith("/_emulator/")) return true;
  if (!controlPathPattern.test(path)) return false;
  const segments: string[] = [];
  for (const segment of decodeUrlText(path).toLowerCase().split(/[/\\]/)) {
    const name = segment.replace(/;.*/s, "").replace(/[^\x21-\x7e]/g, "");
    if (name === "..") segments.pop();
    else if (name !== "" && name !== ".") segments.push(name);
  }
  return segments[0] === "_emulator";
}

export interface RequestTarget {
  /** True if the target contains a path. `*` does not. */
  readonly isPath: boolean;
  /** Decoded path, which is matched with routes. */
  readonly path: string;
  /** True if the path as sent ends with a slash. An escaped one is part of a value. */
  readonly endsWithSlash: boolean;
  /** Query as sent, without the question mark. */
  readonly search: string;
}

/**
 * Parses a target as the routing service does, which matches the decoded path. `%2F` is a slash, an invalid escape
 * stays literal, and invalid UTF-8 is U+FFFD (DECISIONS.md, P14). No other function decodes the path.
 */
export function parseRequestTarget(target: string): RequestTarget {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  return {
    isPath: target[0] === "/",
    path: escapedOrForeignPattern.test(path) ? unescapeBytes(path) : path,
    endsWithSlash: path.endsWith("/"),
    search: query < 0 ? "" : target.slice(query + 1),
  };
}

/** Node reads targets as Latin-1, one character per byte. */
const unescapeBytes = (path: string): string =>
  Buffer.from(
    path.replace(percentEscape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");
