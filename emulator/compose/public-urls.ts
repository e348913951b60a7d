import { InvalidOptions } from "./invalid-options.ts";

/** Where clients find the listeners, as far as somebody said so. */
export interface PublicUrls {
  readonly publicUrl?: string | undefined;
  readonly clusterUrls?: Readonly<Record<string, string>> | undefined;
}

/**
 * Where clients find the listener of a cluster: where that was said; else beside the router, where ports are handed on as
 * they are; else where it listens.
 */
export function publicUrlOf(id: string, heardAt: string, { publicUrl, clusterUrls = {}, routerUrl }: Beside): string {
  if (Object.hasOwn(clusterUrls, id)) return new URL(clusterUrls[id]!).origin;
  if (publicUrl === undefined || new URL(publicUrl).port !== new URL(routerUrl).port) return heardAt;
  const beside = new URL(publicUrl);
  beside.port = new URL(heardAt).port;
  return beside.origin;
}

interface Beside extends PublicUrls {
  /** Where the router listens. */
  readonly routerUrl: string;
}

/** Throws InvalidOptions where an address is given for a cluster that has no listener here. */
export function checkClusterUrls({ clusterUrls = {} }: PublicUrls, ids: readonly string[]): void {
  const unknown = Object.keys(clusterUrls).filter((id) => !ids.includes(id));
  if (unknown.length === 0) return;
  throw new InvalidOptions(`There is no cluster ${unknown.join(", ")} to give an address; there are ${ids.join(", ")}`);
}

/** The names by which clients call the listeners. */
export const publicNames = ({ publicUrl, clusterUrls = {} }: PublicUrls): readonly string[] =>
  [...(publicUrl === undefined ? [] : [publicUrl]), ...Object.values(clusterUrls)].map((url) => new URL(url).hostname);
