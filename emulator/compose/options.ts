import type { OtelEnvironment } from "../../src/base/tracing/otel-settings.ts";
import type { ClockMode } from "../clock/virtual-clock.ts";
import { defaultSettings, type Settings } from "../world/settings.ts";

import { namedSeeds, parseSeed, type Seed } from "./state/seed.ts";

/** How an emulator is started. Everything may be left out: then it is the demo seed on free ports, kept nowhere. */
export interface EmulatorOptions extends Partial<Omit<Settings, "strict">> {
  /** Port of the router; the clusters take the ones after it. 0 (default): all free ports. */
  readonly port?: number;
  /** Address to listen on; the default is loopback. */
  readonly host?: string;
  /** Names that the Host header may have beside those of this machine. */
  readonly allowedHosts?: readonly string[];
  /**
   * Addresses and ranges (`10.0.0.0/8`) of proxies that are believed whom they ask for, by `X-Forwarded-For`, `-Proto` and
   * `-Host`. From others these headers are taken off. Default: nobody, but programs of this machine may say who calls.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Origins at which clients find the listeners of clusters, by cluster id, as `publicUrl` says it of the router. Default:
   * beside `publicUrl`, where that has the router's own port; else where it listens.
   */
  readonly clusterUrls?: Readonly<Record<string, string>>;
  /** Where the state is kept. It is made where it is not there, with its folders. Omitted: in memory, and gone at the end. */
  readonly file?: string | undefined;
  /**
   * Where the state is kept in PostgreSQL, in the place of a `file`: `postgres://user@host/database`. Processes with the
   * same store share one state: the start resolves once this one leads, after those that came before have ended. A
   * password may stand in it; else it is that of PGPASSWORD.
   */
  readonly store?: string | undefined;
  /** The schema that the `store` has for itself; default: `svc`. */
  readonly schema?: string | undefined;
  /**
   * Told each time another process leads: what comes to the router's address here, and to those of the clusters, is
   * forwarded to that one.
   */
  readonly onLeaderChange?: ((at: { readonly routerUrl: string; readonly leader: string }) => void) | undefined;
  /** Told whenever this process leads again after another one did. */
  readonly onLeadershipRegained?: (() => void) | undefined;
  /**
   * How long the process that leads a `store` may take itself for that after it was last told so, wall milliseconds; the
   * same in all processes of it. One that is killed is replaced after that time. Default: 3,000.
   */
  readonly leaseMs?: number;
  /** Ends a start that waits for another process. */
  readonly signal?: AbortSignal | undefined;
  /** Keeps everything in memory even when a file is named. */
  readonly ephemeral?: boolean;
  /** Where to write the run file too. That of a file stands beside it, always: it is the lock. */
  readonly runFile?: string | undefined;
  /** The starting state of a new file: a name, or the document itself. A file that has a state keeps it. */
  readonly seed?: keyof typeof namedSeeds | Seed | object;
  /**
   * Begins with a copy of the state in this file, which stays as it is: a snapshot, the state of another emulator, or an
   * exported one. A `file` must have no state yet. The seed is what a reset goes back to.
   */
  readonly from?: string | undefined;
  /**
   * How many bytes are kept at most beside a `file` of what led to the present state, to go back to; 0: nothing. The
   * default is 256 MiB. In memory nothing is kept.
   */
  readonly historyBytes?: number;
  readonly clock?: {
    readonly mode?: ClockMode;
    /** Virtual seconds per second, in mode `real`. */
    readonly speed?: number;
    /** ISO time at which a new state begins; default: now, or the seed's `time` with `deterministic`. */
    readonly start?: string;
  };
  /**
   * How long requests, and deliveries that are due, may take to end when it is closed, wall milliseconds each. Default: 900
   * for all together.
   */
  readonly graceMs?: number;
  /** Token of the control plane; default: a new one. */
  readonly token?: string | undefined;
  readonly strict?: Iterable<string>;
  /**
   * Variables of the OpenTelemetry standard, such as `process.env`: where they name a collector, all that happens is sent to
   * it as spans. Default: nothing is sent.
   */
  readonly otel?: OtelEnvironment | undefined;
  /**
   * A corpus of `svc verify`: what it observes of the service replaces what is assumed. Observations that contradict the
   * specification are reported to `log`, and not applied.
   */
  readonly observed?: string | undefined;
  /** Told about bugs and warnings, a line each; default: nobody. */
  readonly log?: (line: string) => void;
}

/** The settings of these options, over the defaults. */
export function createSettings(options: EmulatorOptions, publicUrl: string): Settings {
  const given = Object.fromEntries(
    Object.keys(defaultSettings)
      .map((name) => [name, options[name as keyof EmulatorOptions]])
      .filter(([, value]) => value !== undefined),
  );
  return { ...defaultSettings, publicUrl, ...given, strict: new Set(options.strict) as Settings["strict"] };
}

/** The seed that the options name; throws with every wrong field named. */
export function resolveSeed({ seed = "demo" }: EmulatorOptions): Seed {
  if (typeof seed !== "string") return givenSeed(seed);
  if (!isNamedSeed(seed)) {
    throw new InvalidOptionsError(`Seed "${seed}" not found. Known: ${Object.keys(namedSeeds).join(", ")}`);
  }
  parsedSeeds[seed] ??= parseSeed(namedSeeds[seed]);
  return parsedSeeds[seed];
}

/** Read once in a process: emulators that begin with one only read it. */
const parsedSeeds: Partial<Record<keyof typeof namedSeeds, Seed>> = {};

const isNamedSeed = (name: string): name is keyof typeof namedSeeds => Object.hasOwn(namedSeeds, name);

function givenSeed(seed: object): Seed {
  try {
    return parseSeed(seed);
  } catch (cause) {
    throw new InvalidOptionsError((cause as Error).message, { cause });
  }
}

/** How a copy is started of what was started so: beside it, and kept nowhere. Its clock goes on as the state says. */
export function deriveForkOptions(options: EmulatorOptions): EmulatorOptions {
  const {
    port,
    file,
    store,
    schema,
    onLeaderChange,
    onLeadershipRegained,
    from,
    runFile,
    token,
    publicUrl,
    clusterUrls,
    clock,
    ...rest
  } = options;
  return { ...rest, ephemeral: true };
}

/** Virtual milliseconds at which a new state begins; undefined: now. */
export function resolveStartTime({ clock, deterministic }: EmulatorOptions, seed: Seed): number | undefined {
  const start = clock?.start ?? (deterministic ? seed.time : undefined);
  return start === undefined ? undefined : Date.parse(start);
}

/** The options say what no emulator can be: an unknown name, a value out of range, a seed that is none. */
export class InvalidOptionsError extends Error {
  override readonly name = "InvalidOptionsError";
}

/** Where clients find the listeners, as far as somebody said so. */
interface PublicUrls {
  readonly publicUrl?: string | undefined;
  readonly clusterUrls?: Readonly<Record<string, string>> | undefined;
}

/**
 * Where clients find the listener of a cluster: where that was said; else beside the router, where ports are handed on as
 * they are; else where it listens.
 */
export function resolvePublicUrl(
  id: string,
  heardAt: string,
  { publicUrl, clusterUrls = {}, routerUrl }: Beside,
): string {
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

/** Throws InvalidOptionsError where an address is given for a cluster that has no listener here. */
export function checkClusterUrls({ clusterUrls = {} }: PublicUrls, ids: readonly string[]): void {
  const unknown = Object.keys(clusterUrls).filter((id) => !ids.includes(id));
  if (unknown.length === 0) return;
  throw new InvalidOptionsError(`Cluster ${unknown.join(", ")} not found. Known: ${ids.join(", ")}`);
}

/** The names by which clients call the listeners. */
export const publicNames = ({ publicUrl, clusterUrls = {} }: PublicUrls): readonly string[] =>
  [...(publicUrl === undefined ? [] : [publicUrl]), ...Object.values(clusterUrls)].map((url) => new URL(url).hostname);
