import { networkInterfaces } from "node:os";

/**
 * An address under which others find a listener: one of this machine, where it listens on all of them; else the one that it
 * listens on.
 */
export function reachable(url: string, host: string | undefined): string {
  if (host !== "0.0.0.0" && host !== "::") return url;
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const found = addresses.find(({ internal, family }) => !internal && family === "IPv4");
  return found ? `http://${found.address}:${new URL(url).port}` : url;
}
