import { endOfString } from "../base/exact-json.ts";

/** No answer that means something nests so deeply; what walks through values would run out of stack. */
const maxDepth = 1_000;

/** The value of a JSON text. Throws SyntaxError where it is none, or nests too deeply to be worked with. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`nested more than ${maxDepth} levels`);
  return JSON.parse(text);
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === quote) i = endOfString(text, i);
    else if (code === openList || code === openObject) depth += 1;
    else if (code === closeList || code === closeObject) depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}

const [quote, openList, closeList, openObject, closeObject] = [...'"[]{}'].map((one) => one.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
];
