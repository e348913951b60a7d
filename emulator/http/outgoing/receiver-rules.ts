import { type BlockList, isIP } from "node:net";
import { createAddressList, includesAddress, loopbackAddresses } from "../trusted-proxies.ts";

export interface ReceiverRules {
  /** Allowed hosts other than loopback: `host`, `host:port`, or `*.domain`. */
  readonly allow: readonly string[];
  /** True if https is required. Loopback and private addresses are then rejected unless their host is in `allow`. */
  readonly strict: boolean;
}

export interface ForbiddenReason {
  readonly code: "bad_url" | "address_not_allowed";
  readonly message: string;
}

/** Addresses that are never allowed: metadata services and invalid addresses (DECISIONS.md, P21). */
const blockedAddresses = createAddressList(
  ...["169.254.0.0/16", "0.0.0.0/8", "224.0.0.0/3"],
  ...["fd00:ec2::254", "::", "fe80::/10", "ff00::/8"],
);

const privateAddresses = createAddressList(
  ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15"],
  // NAT64 with a network-specific prefix (RFC 8215) can embed an IPv4 address at any position.
  ...["fc00::/7", "fec0::/10", "100::/64", "64:ff9b:1::/48"],
);

/** An IPv6 address can embed an IPv4 address. BlockList supports only `::ffff:`. */
const includesOrEmbeds = (list: BlockList, address: string): boolean =>
  includesAddress(list, address) ||
  (isIP(address) === 6 && findEmbeddedIpv4(address).some((embedded) => includesAddress(list, embedded)));

/** NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP (RFC 5214), or the last 32 bits. */
function findEmbeddedIpv4(address: string): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = parseGroups(address);
  const formatIpv4 = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const areZero = (...groups: readonly number[]) => groups.every((group) => group === 0);
  if (a === 0x64 && b === 0xff9b && areZero(c, d, e, f)) return [formatIpv4(g, h)];
  if (a === 0x2002) return [formatIpv4(b, c)];
  if (a === 0x2001 && b === 0) return [formatIpv4(c, d), formatIpv4(g ^ 0xffff, h ^ 0xffff)];
  if ((e & 0xfdff) === 0 && f === 0x5efe) return [formatIpv4(g, h)];
  // The forms `::1.2.3.4` and `::ffff:0:1.2.3.4` are deprecated.
  if (areZero(a, b, c, d) && ((e === 0xffff && f === 0) || (areZero(e, f) && (g !== 0 || h > 1))))
    return [formatIpv4(g, h)];
  return [];
}

/** Parses an address to eight numbers. Returns an empty list for an address that is not valid in a URL. */
function parseGroups(address: string): readonly number[] {
  if (!URL.canParse(`http://[${address}]`)) return [];
  const [headText = "", tailText] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const parseNumbers = (text: string) =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [head, tail] = [parseNumbers(headText), parseNumbers(tailText ?? "")];
  return [...head, ...Array(8 - head.length - tail.length).fill(0), ...tail];
}

/** Returns undefined if a URL is allowed. Host names are checked again when they are resolved. */
export function findForbiddenUrlReason(text: string, rules: ReceiverRules): ForbiddenReason | undefined {
  if (!URL.canParse(text)) return { code: "bad_url", message: "The receiver's URL is not valid." };
  const url = new URL(text);
  if (url.protocol !== "https:" && (rules.strict || url.protocol !== "http:")) {
    const schemes = rules.strict ? "https" : "http or https";
    return { code: "bad_url", message: `The receiver's URL must be ${schemes}, got ${url.protocol.slice(0, -1)}.` };
  }
  if (url.username || url.password)
    return { code: "bad_url", message: "The receiver's URL must not contain credentials." };
  const host = getHost(url);
  if (isIP(host)) return findForbiddenAddressReason(host, url, rules);
  const isPermitted = isLocalName(host) ? !rules.strict : rules.strict;
  return isPermitted || isAllowedHost(url, rules) ? undefined : createReason(host, host);
}

/** Returns undefined if the address of a URL's host is allowed. */
export function findForbiddenAddressReason(
  address: string,
  url: URL,
  rules: ReceiverRules,
): ForbiddenReason | undefined {
  if (includesOrEmbeds(blockedAddresses, address)) {
    return { code: "address_not_allowed", message: `Address ${address} is never allowed for webhooks.` };
  }
  if (isAllowedHost(url, rules)) return undefined;
  const isPermitted = rules.strict
    ? !includesOrEmbeds(loopbackAddresses, address) && !includesOrEmbeds(privateAddresses, address)
    : includesAddress(loopbackAddresses, address);
  return isPermitted ? undefined : createReason(address, getHost(url));
}

/** Creates the reason. `host` is the host of the receiver's URL that was resolved to the address. */
function createReason(address: string, host: string): ForbiddenReason {
  return {
    code: "address_not_allowed",
    message: `Host ${address} is not allowed for webhooks. Restart the emulator with --webhook-allow ${host}.`,
  };
}

/** Returns the host without the brackets of IPv6 and without the trailing dot, which `new URL` keeps. */
const getHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

const isLocalName = (host: string): boolean => host === "localhost" || host.endsWith(".localhost");

function isAllowedHost(url: URL, { allow }: ReceiverRules): boolean {
  const host = getHost(url);
  // `new URL` omits the default port of a scheme.
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return allow.some((entry) => {
    const pattern = entry.toLowerCase();
    if (pattern.startsWith("*.")) return host.endsWith(pattern.slice(1));
    return pattern === host || pattern === url.hostname || pattern === `${url.hostname}:${port}`;
  });
}
