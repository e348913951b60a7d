import type { WallClock } from "../../../src/base/clock.ts";
import type { IssuerKey } from "../../domain/apps.ts";
import type { EmulatorSettings } from "../../domain/settings.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import { type Forwarder, sendRequest } from "../../http/outgoing/forward.ts";

interface KeySet {
  /** Wall-clock time of the request. */
  readonly requestedAt: number;
  /** Resolves with undefined if the issuer could not be reached. */
  readonly keys: Promise<readonly IssuerKey[] | undefined>;
}

/** Lifetime of cached keys of an issuer, as in the libraries of the bot framework (DECISIONS.md, P11). */
const maxKeyAgeMs = 24 * 60 * 60 * 1_000;
/** An unknown key can be new, but unknown keys must not cause a request each time. */
const minRequestIntervalMs = 10_000;
const maxDocumentBytes = 1024 * 1024;

interface RequestContext {
  readonly forwarder: Forwarder;
  readonly wall: WallClock;
  readonly settings: Pick<EmulatorSettings, "upstreamTimeoutMs" | "publicUrl">;
}

/** Published keys of external issuers by the URL of their metadata. */
export class IssuerKeys {
  readonly #context: RequestContext;
  readonly #sets = new Map<string, KeySet>();

  constructor(context: RequestContext) {
    this.#context = context;
  }

  /** Returns the key with that ID, or undefined if the issuer does not have it or does not respond. */
  async find(metadataUrl: string, kid: string): Promise<IssuerKey | undefined> {
    const cached = this.#sets.get(metadataUrl);
    const age = cached ? this.#context.wall.monotonicNow() - cached.requestedAt : maxKeyAgeMs;
    const key = age < maxKeyAgeMs ? findKey(await cached?.keys, kid) : undefined;
    if (key || age < minRequestIntervalMs) return key;
    return findKey(await this.#renewKeys(metadataUrl), kid);
  }

  async #renewKeys(metadataUrl: string): Promise<readonly IssuerKey[] | undefined> {
    const set = { requestedAt: this.#context.wall.monotonicNow(), keys: this.#fetchKeys(metadataUrl) };
    this.#sets.set(metadataUrl, set);
    const keys = await set.keys;
    // A failed request is not cached, so the next caller retries it.
    if (!keys && this.#sets.get(metadataUrl) === set) this.#sets.delete(metadataUrl);
    return keys;
  }

  async #fetchKeys(metadataUrl: string): Promise<readonly IssuerKey[] | undefined> {
    const { jwks_uri: keysUrl } = (await this.#parseDocument(metadataUrl)) ?? {};
    const keySet = typeof keysUrl === "string" ? await this.#parseDocument(keysUrl) : undefined;
    return Array.isArray(keySet?.keys) ? keySet.keys.filter(isKey) : undefined;
  }

  async #parseDocument(text: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    if (!URL.canParse(text) || !/^https?:/i.test(text)) return undefined;
    const url = new URL(text);
    const { forwarder, settings } = this.#context;
    const options = { forwarder, timeoutMs: settings.upstreamTimeoutMs, maxBytes: maxDocumentBytes };
    const result = await sendRequest(options, url.origin, {
      method: "GET",
      target: url.pathname + url.search,
      rawHeaders: ["accept", "application/json"],
      body: Buffer.alloc(0),
      remoteAddress: "127.0.0.1",
      origin: settings.publicUrl,
    });
    return result.kind === "answered" && result.status === 200 ? parseJsonObject(result.body) : undefined;
  }
}

const findKey = (keys: readonly IssuerKey[] | undefined, kid: string): IssuerKey | undefined =>
  keys?.find((key) => key.kid === kid);

const isKey = (value: unknown): value is IssuerKey =>
  typeof value === "object" && value !== null && "kid" in value && typeof value.kid === "string";
