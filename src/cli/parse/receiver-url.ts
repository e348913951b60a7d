/** What keeps a text from being the address of a receiver anywhere; undefined: nothing. */
export function findAddressProblem(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return "Its scheme is missing: an address begins with https://, or with http:// on this machine.";
  }
  const port = Number(/^[^/]*\/\/[^/?#]*:(\d+)(?:[/?#]|$)/.exec(text)?.[1] ?? 0);
  if (port > 65_535) return `The port ${port} is too large: the last one is 65535.`;
  if (!URL.canParse(text)) return "It cannot be read as an address, such as https://hooks.example/contracts.";
  const { protocol } = new URL(text);
  return protocol === "http:" || protocol === "https:"
    ? undefined
    : `No webhook goes by ${protocol}//, only by https://.`;
}

/** Why a service that says no more than that it wants https may have refused it. */
export function explainRejectedAddress(text: string): string | undefined {
  const problem = findAddressProblem(text);
  if (problem !== undefined || !text.toLowerCase().startsWith("http:")) return problem;
  const { hostname } = new URL(text);
  return `http:// is for receivers on the machine of an emulator: use https://, or start the emulator with --webhook-allow ${hostname}.`;
}
