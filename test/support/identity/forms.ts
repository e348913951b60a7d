/** Returns the hidden fields of the forms in a page of the emulator. */
export function getHiddenFields(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries([...found].map(([, name, value]) => [name!, unescapeHtml(value!)]));
}

/** Returns the links of a page. */
export const getLinks = (html: string): string[] =>
  [...html.matchAll(/<a href="([^"]*)"/g)].map(([, target]) => unescapeHtml(target!));

const unescapeHtml = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
