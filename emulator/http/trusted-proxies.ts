import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { ReceivedRequest } from "./handler.ts";
import { setRequestHeader } from "./hop-by-hop.ts";

/** Creates a list of addresses and ranges, such as 10.0.0.0/8. Throws TypeError if one is invalid. */
export function createAddressList(...ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(range) ?? [];
    const version = isIP(address);
    if (version === 0) throw new TypeError(`must be an address or a range (10.0.0.0/8), got "${range}"`);
    list.addSubnet(address, Number(bits ?? (version === 4 ? 32 : 128)), version === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

/** Returns whether the list includes an address. IPv4 addresses match in any notation. */
export function includesAddress(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
}

export const loopbackAddresses = createAddressList("127.0.0.0/8", "::1");

/** Description of a request by a trusted proxy. */
export interface ForwardedInfo {
  /** Requested host, as in a Host header. */
  readonly host: string | undefined;
  readonly protocol: "http" | "https" | undefined;
}

const forwardedHeaders = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] as const;

/** Returns whether proxies use the header of this name to forward client information. */
const isProxyHeader = (name: string): boolean =>
  name.startsWith("x-forwarded-") || name === "forwarded" || name === "x-real-ip";

/**
 * Creates a function that returns the description of a request by a trusted proxy and removes the untrusted parts.
 * These are all headers of untrusted senders, and the addresses before the first address that a trusted proxy confirms.
 * `trusted` are addresses and ranges of proxies. By default, only programs on this machine can set the client address,
 * as a load balancer in front of the service does. Other headers are then not trusted, because a page in a browser of
 * this machine can send them too.
 */
export function createForwardedReader(trusted: readonly string[]) {
  const ranges = trusted.length === 0 ? undefined : createAddressList(...trusted);
  return (request: IncomingMessage): ForwardedInfo | undefined => {
    const { headers, socket } = request;
    const proxyHeaders = Object.keys(headers).filter(isProxyHeader);
    if (proxyHeaders.length === 0) return undefined;
    if (!includesAddress(ranges ?? loopbackAddresses, socket.remoteAddress ?? "")) {
      for (const name of proxyHeaders) setRequestHeader(request, name);
      return undefined;
    }
    if (ranges === undefined || !forwardedHeaders.some((name) => proxyHeaders.includes(name))) return undefined;
    const addresses = splitHeader(headers["x-forwarded-for"]);
    const lastUntrusted = addresses.findLastIndex((address) => !includesAddress(ranges, address));
    // Earlier addresses can be forged.
    const trustedAddresses = addresses.slice(Math.max(0, lastUntrusted));
    setRequestHeader(request, "x-forwarded-for", trustedAddresses.join(", ") || undefined);
    const protocol = splitHeader(headers["x-forwarded-proto"])[0]?.toLowerCase();
    return {
      host: splitHeader(headers["x-forwarded-host"])[0],
      protocol: protocol === "http" || protocol === "https" ? protocol : undefined,
    };
  };
}

export function isAddressRange(text: string): boolean {
  try {
    createAddressList(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a program of this machine sent the request over loopback and not as a proxy. */
export function isDirectLoopbackRequest({
  remoteAddress,
  origin,
  headers,
}: Pick<ReceivedRequest, "remoteAddress" | "origin" | "headers">): boolean {
  const isForwarded = [...forwardedHeaders, "forwarded", "via"].some((name) => headers[name] !== undefined);
  return !isForwarded && includesAddress(loopbackAddresses, remoteAddress) && localNames.has(new URL(origin).hostname);
}

const localNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

const splitHeader = (header: string | string[] | undefined): readonly string[] =>
  [header ?? []]
    .flat()
    .flatMap((value) => value.split(","))
    .map((value) => value.trim())
    .filter((value) => value !== "");
