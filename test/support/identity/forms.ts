/** The hidden fields of the forms in a page of the emulator. */
export function hiddenIn(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries([...found].map(([, name, value]) => [name!, unescaped(value!)]));
}

/** The links of a page. */
export const linksIn = (html: string): string[] =>
  [...html.matchAll(/<a href="([^"]*)"/g)].map(([, target]) => unescaped(target!));

const unescaped = (text: string): string => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
