import { BlockList, isIP } from "node:net";
import { lookupTable } from "../../base/object.ts";
import type { ForwardProxy, ProxyResolver } from "../../client/proxy.ts";
import { UsageError } from "../process/failure.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A proxy, and the variable that names it. */
export interface NamedProxy extends ForwardProxy {
  readonly variable: string;
}

/** By the scheme of the called address; the lower-case name outranks the other, as for curl. */
const variables = lookupTable<readonly string[]>({
  "http:": ["http_proxy", "HTTP_PROXY"],
  "https:": ["https_proxy", "HTTPS_PROXY"],
});

/** The variables of proxies that are set and count. */
export const listProxyVariables = (env: Env): string[] =>
  Object.values(variables).flatMap((names) => names.filter((name) => Boolean(env[name])).slice(0, 1));

/**
 * Which proxy the environment names for an address: none for this machine itself, whatever it says, and none for what
 * NO_PROXY lists. The function throws UsageError where the variable that counts names no proxy.
 */
export function readProxies(env: Env): ((url: URL) => NamedProxy | undefined) & ProxyResolver {
  const exempt = parseExemptions(env.no_proxy || env.NO_PROXY || "");
  return (url) => {
    const variable = variables[url.protocol]?.find((name) => Boolean(env[name]));
    if (variable === undefined || isThisMachine(url.hostname) || exempt(url)) return undefined;
    const proxy = parseProxy(env[variable]!);
    if (proxy) return { ...proxy, variable };
    // Its value may hold a password.
    throw new UsageError(`${variable} is not the address of an HTTP proxy`, {
      hint: `Set it to an address such as http://proxy.example:3128, or exclude this host with NO_PROXY=${url.hostname}.`,
    });
  };
}

/** The proxy of a variable's value, which need not say its scheme; undefined if it names none. */
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
    // A percent sign that is not an escape.
    return undefined;
  }
}

const thisMachine = new BlockList();
thisMachine.addSubnet("127.0.0.0", 8, "ipv4");
thisMachine.addAddress("0.0.0.0", "ipv4");
thisMachine.addAddress("::1", "ipv6");
thisMachine.addAddress("::", "ipv6");

function isThisMachine(hostname: string): boolean {
  const host = stripHost(hostname);
  return host === "localhost" || host.endsWith(".localhost") || isIn(thisMachine, host);
}

/** A host name without decoration: the brackets of IPv6, the dot of the root. */
const stripHost = (hostname: string): string => {
  const host = hostname.toLowerCase();
  return host.startsWith("[") ? host.slice(1, -1) : host.endsWith(".") ? host.slice(0, -1) : host;
};

function isIn(list: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && list.check(host, version === 6 ? "ipv6" : "ipv4");
}

/**
 * Entries of NO_PROXY: `*` everything; `example.com`, `.example.com` and `*.example.com` a domain with all below it;
 * addresses and networks (`10.0.0.0/8`, `[fd00::1]`); each of them with `:port`, then for that port alone.
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
  // More than one colon without brackets is an address.
  const hasPort = colon > 0 && (entry[colon - 1] === "]" || entry.indexOf(":") === colon);
  const port = hasPort ? entry.slice(colon + 1) : undefined;
  const host = stripHost(hasPort ? entry.slice(0, colon) : entry);
  if (host === "*") return { port, matches: () => true };
  const network = parseNetwork(host);
  if (network) return { port, matches: (other) => isIn(network, other) };
  const domain = host.startsWith("*.") ? host.slice(2) : host.startsWith(".") ? host.slice(1) : host;
  return { port, matches: (other) => other === domain || other.endsWith(`.${domain}`) };
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
