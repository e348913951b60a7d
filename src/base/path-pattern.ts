/** Whether a path fits a pattern, in which `*` stands for any characters; the query does not count. */
export function matchesPathPattern(target: string, pattern: string): boolean {
  const path = target.split("?", 1)[0]!;
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return path === first;
  if (!path.startsWith(first) || !path.endsWith(last)) return false;
  const end = path.length - last.length;
  let at = first.length;
  for (const piece of rest) {
    const found = path.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= end;
}
