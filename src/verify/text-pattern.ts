/** A part of a pattern. */
export type PieceKind = "digits" | "id" | "time" | "uuid" | "token" | "origin" | "text";

const forms: Readonly<Record<Exclude<PieceKind, "text">, RegExp>> = {
  digits: /\d{1,40}/y,
  id: /[A-Z]{1,5}-\d{1,20}/y,
  time: /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/y,
  uuid: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y,
  token: /[A-Za-z0-9+/_=.-]+/y,
  origin: /https?:\/\/[^/\s"'?#]+/y,
};

/**
 * Matches a string that consists of literal parts and of pieces between them, `literals[0] piece[0] literals[1] …`.
 * Resolves with the pieces; undefined if the text is another. A piece of free text is as short as it can be.
 */
export function matchPieces(
  text: string,
  literals: readonly string[],
  kinds: readonly PieceKind[],
): readonly string[] | undefined {
  if (!text.startsWith(literals[0]!)) return undefined;
  let at = literals[0]!.length;
  const pieces: string[] = [];
  for (const [index, kind] of kinds.entries()) {
    const next = literals[index + 1]!;
    const isLast = index === kinds.length - 1;
    const end = kind === "text" ? endOfText(text, at, next, isLast) : endOfForm(text, at, kind);
    if (end === undefined || end <= at || !text.startsWith(next, end)) return undefined;
    pieces.push(text.slice(at, end));
    at = end + next.length;
  }
  return at === text.length ? pieces : undefined;
}

function endOfText(text: string, at: number, next: string, isLast: boolean): number | undefined {
  if (isLast) return text.length - next.length;
  const found = next === "" ? at + 1 : text.indexOf(next, at + 1);
  return found < 0 ? undefined : found;
}

function endOfForm(text: string, at: number, kind: Exclude<PieceKind, "text">): number | undefined {
  const form = forms[kind];
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : undefined;
}
