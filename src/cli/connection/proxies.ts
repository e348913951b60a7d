import { BlockList, isIP } from "node:net";
import { lookupTable } from "../../base/object.ts";
import type { ForwardProxy } from "../../client/network-failure.ts";
import { isOnThisMachine } from "../../files/machine.ts";
import { UsageError } from "../process/failure.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Proxy variables by the scheme of the address. The lower-case name takes precedence, as in curl. */
const proxyVariables = lookupTable<readonly string[]>({
  "http:": ["http_proxy", "HTTP_PROXY"],
  "https:": ["https_proxy", "HTTPS_PROXY"],
});

export const listProxyVariables = (env: Env): string[] =>
  Object.values(proxyVariables).flatMap((names) => names.filter((name) => Boolean(env[name])).slice(0, 1));

/**
 * Returns a function that finds the proxy of an address in the environment. There is no proxy for this machine and for
 * entries of NO_PROXY. Throws UsageError if the effective variable is invalid.
 */
export function readProxies(env: Env): (url: URL) => (ForwardProxy & { readonly variable: string }) | undefined {
  const isExempt = parseExemptions(env.no_proxy || env.NO_PROXY || "");
  return (url) => {
    const variable = proxyVariables[url.protocol]?.find((name) => Boolean(env[name]));
    if (variable === undefined || isOnThisMachine(url.href) || isExempt(url)) return undefined;
    const proxy = parseProxy(env[variable]!);
    if (proxy) return { ...proxy, variable };
    // The value can contain a password.
    throw new UsageError(`${variable} is not the address of an HTTP proxy`, {
      hint: `Set it to an address such as http://proxy.example:3128, or exclude this host with NO_PROXY=${url.hostname}.`,
    });
  };
}

/** Parses a proxy whose scheme is optional. Returns undefined for an invalid one. */
export function parseProxy(value: string): ForwardProxy | undefined {
  const text = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, hostname, username, password } = new URL(text);
  if ((protocol !== "http:" && protocol !== "https:") || hostname === "") return undefined;
  if (!username && !password) return { origin, authorization: undefined };
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { origin, authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
  } catch {
    // The value has a percent sign that is not an escape.
    return undefined;
  }
}

const stripHost = (hostname: string): string => {
  const host = hostname.toLowerCase();
  return host.startsWith("[") ? host.slice(1, -1) : host.endsWith(".") ? host.slice(0, -1) : host;
};

function isHostInList(list: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && list.check(host, version === 6 ? "ipv6" : "ipv4");
}

/**
 * Parses entries of NO_PROXY. `*` matches everything. `example.com`, `.example.com` and `*.example.com` match a domain
 * and its subdomains. Addresses and networks (`10.0.0.0/8`, `[fd00::1]`) match literally. Each entry can end in `:port`
 * to match only that port.
 */
function parseExemptions(list: string): (url: URL) => boolean {
  const rules = list.split(/[\s,]/).filter(Boolean).map(parseExemption);
  return (url) => {
    const host = stripHost(url.hostname);
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    return rules.some((rule) => (rule.port === undefined || rule.port === port) && rule.matches(host));
  };
}

function parseExemption(entry: string): { port: string | undefined; matches: (host: string) => boolean } {
  const colon = entry.lastIndexOf(":");
  // More than one colon without brackets is an IPv6 address.
  const hasPort = colon > 0 && (entry[colon - 1] === "]" || entry.indexOf(":") === colon);
  const port = hasPort ? entry.slice(colon + 1) : undefined;
  const host = stripHost(hasPort ? entry.slice(0, colon) : entry);
  if (host === "*") return { port, matches: () => true };
  const network = parseNetwork(host);
  if (network) return { port, matches: (hostname) => isHostInList(network, hostname) };
  const domain = host.startsWith("*.") ? host.slice(2) : host.startsWith(".") ? host.slice(1) : host;
  return { port, matches: (hostname) => hostname === domain || hostname.endsWith(`.${domain}`) };
}

function parseNetwork(text: string): BlockList | undefined {
  const [address = "", bits] = text.split("/");
  const version = isIP(address);
  const longest = version === 6 ? 128 : 32;
  const prefix = bits === undefined ? longest : Number(bits);
  if (version === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > longest) return undefined;
  const network = new BlockList();
  network.addSubnet(address, prefix, version === 6 ? "ipv6" : "ipv4");
  return network;
}
