/** What keeps a text from being the address of a receiver anywhere; undefined: nothing. */
export function findAddressProblem(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return "The address has no scheme. Begin it with https://, or with http:// on this machine.";
  }
  const port = Number(/^[^/]*\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(text)?.[1] ?? 0);
  if (port > 65_535) return `Port ${port} is too large. The maximum is 65535.`;
  if (!URL.canParse(text)) return "The address is not a valid URL (https://hooks.example/contracts).";
  const { protocol } = new URL(text);
  return protocol === "http:" || protocol === "https:" ? undefined : `Webhooks require https://, not ${protocol}//.`;
}

/** Why a service that says no more than that it wants https may have refused it. */
export function explainRejectedAddress(text: string): string | undefined {
  const problem = findAddressProblem(text);
  if (problem !== undefined || !text.toLowerCase().startsWith("http:")) return problem;
  const { hostname } = new URL(text);
  return `http:// requires a receiver on the machine of an emulator. Use https://, or start the emulator with --webhook-allow ${hostname}.`;
}
