import { isOneOf } from "../../src/base/object.ts";
import { parseIsoTime } from "../../src/base/quantities.ts";
import { defaultSettings, type EmulatorSettings } from "../domain/settings.ts";
import type { EmulatorOptions } from "../published.d.ts";
import { namedSeeds, parseNamedSeed, parseSeed, type Seed } from "./state/seed.ts";

export function createSettings(options: EmulatorOptions, publicUrl: string): EmulatorSettings {
  const input = Object.fromEntries(
    Object.keys(defaultSettings)
      .map((name) => [name, options[name as keyof EmulatorOptions]])
      .filter(([, value]) => value !== undefined),
  );
  return { ...defaultSettings, publicUrl, ...input, strict: new Set(options.strict) as EmulatorSettings["strict"] };
}

/** Reads the seed in the options. Throws an error that lists every invalid field. */
export function resolveSeed({ seed = "demo" }: EmulatorOptions): Seed {
  if (typeof seed !== "string") {
    try {
      return parseSeed(seed);
    } catch (cause) {
      throw new InvalidOptionsError((cause as Error).message, { cause });
    }
  }
  if (!isOneOf(seedNames, seed))
    throw new InvalidOptionsError(`Seed "${seed}" not found. Known: ${seedNames.join(", ")}`);
  return parseNamedSeed(namedSeeds[seed]);
}

const seedNames = Object.keys(namedSeeds) as (keyof typeof namedSeeds)[];

/** A copy of an emulator is not stored, and its clock continues from the state. */
export function deriveForkOptions(options: EmulatorOptions): EmulatorOptions {
  const copiedOptions = Object.entries(options).filter(([name]) => !unsharedOptions.has(name));
  return { ...Object.fromEntries(copiedOptions), ephemeral: true };
}

const unsharedOptions: ReadonlySet<string> = new Set<keyof EmulatorOptions>([
  ...(["port", "publicUrl", "clusterUrls", "token", "clock", "from", "seed"] as const),
  ...(["file", "runFile", "store", "schema", "onLeaderChange", "onLeadershipRegained"] as const),
]);

/** Returns the virtual time of a new state in milliseconds, or undefined for the present time. */
export function resolveStartTime({ clock, deterministic }: EmulatorOptions, seed: Seed): number | undefined {
  const start = clock?.start ?? (deterministic ? seed.time : undefined);
  return start === undefined ? undefined : parseIsoTime(start);
}

/** A problem of an option. The message continues its name: `must be a URL`, or `: unknown name`. */
export interface OptionProblem {
  /** Name of the option and of the part of its value. */
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The options are invalid: they have an unknown name, a value out of range or an invalid seed. */
export class InvalidOptionsError extends Error {
  override readonly name = "InvalidOptionsError";
  /** The command line has other names for the options. */
  readonly problems: readonly OptionProblem[];

  constructor(
    message: string,
    { problems = [], ...rest }: ErrorOptions & { problems?: readonly OptionProblem[] } = {},
  ) {
    super(message, rest);
    this.problems = problems;
  }
}

/**
 * Returns the address at which clients reach the listener of a cluster: the configured address, the router's public
 * address with the cluster's port if ports are forwarded unchanged, or the address where it listens.
 */
export function resolvePublicUrl(
  id: string,
  listenerUrl: string,
  routerUrl: string,
  { publicUrl, clusterUrls = {} }: EmulatorOptions,
): string {
  if (Object.hasOwn(clusterUrls, id)) return new URL(clusterUrls[id]!).origin;
  if (publicUrl === undefined || new URL(publicUrl).port !== new URL(routerUrl).port) return listenerUrl;
  const neighbor = new URL(publicUrl);
  neighbor.port = new URL(listenerUrl).port;
  return neighbor.origin;
}

/** Throws InvalidOptionsError if an address is given for a cluster without a listener. */
export function checkClusterUrls({ clusterUrls = {} }: EmulatorOptions, ids: readonly string[]): void {
  const unknownIds = Object.keys(clusterUrls).filter((id) => !ids.includes(id));
  if (unknownIds.length === 0) return;
  throw new InvalidOptionsError(`Cluster ${unknownIds.join(", ")} not found. Known: ${ids.join(", ")}`);
}

export const listPublicNames = ({ publicUrl, clusterUrls = {} }: EmulatorOptions): readonly string[] =>
  [...(publicUrl === undefined ? [] : [publicUrl]), ...Object.values(clusterUrls)].map((url) => new URL(url).hostname);
