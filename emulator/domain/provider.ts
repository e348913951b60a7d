import * as z from "zod";
import { createRandomIds, createSeededIds, type Ids } from "../../src/base/ids.ts";
import { isObject } from "../../src/base/object.ts";
import { findString } from "../http/bodies/fields.ts";
import { defineRows, type Store, type Transaction } from "../store/port.ts";
import { evictOldest } from "../store/rows.ts";

/** A code for the identity that a user chose on the page. It is valid until it is redeemed (DECISIONS.md, R25). */
export const ProviderCode = z.strictObject({
  code: z.string(),
  /** Issuer of the code: a provider, or chat_a. */
  provider: z.string(),
  /** E-mail address of the user, or team ID of chat_a. */
  account: z.string(),
  name: z.string(),
});

export const providerCodes = defineRows({ name: "provider_codes", schema: ProviderCode, key: (row) => row.code });

export async function issueProviderCode(
  tx: Transaction,
  ids: Ids,
  account: Omit<z.infer<typeof ProviderCode>, "code">,
) {
  const code = ids.token(24);
  tx.put(providerCodes, { code, ...account });
  await evictOldest(tx, providerCodes);
  return code;
}

/** Redeems a code once and returns its account. Returns undefined if the provider did not issue the code. */
export async function redeemProviderCode(
  tx: Transaction,
  provider: string,
  code: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const row = await tx.get(providerCodes, code);
  if (row?.provider !== provider) return undefined;
  tx.delete(providerCodes, code);
  return { id: row.account, name: row.name };
}

/** Purpose of a visit at a provider, and the data for the redirect back. */
export interface ProviderVisit {
  /** `install` adds an app to a workspace. */
  readonly flow: "trial" | "login" | "signup" | "install";
  readonly provider: string;
  readonly state: string;
  /** Redirect target of chat_a. Undefined for the other providers. */
  readonly destination?: string | undefined;
}

export const buildAuthorizationUrl = (
  publicUrl: string,
  { flow, provider, state, destination }: ProviderVisit,
): string =>
  `${publicUrl}/_emulator/provider?${new URLSearchParams({ flow, provider, state, ...(destination && { destination }) })}`;

/** Builds the URL to which the provider redirects the user, with a code or an error. */
export function buildProviderRedirect(
  publicUrl: string,
  visit: ProviderVisit,
  parameters: Readonly<Record<string, string>>,
) {
  return `${publicUrl}${buildCallback(visit)}?${new URLSearchParams({ ...parameters, state: visit.state })}`;
}

function buildCallback({ flow, provider, destination = "default" }: ProviderVisit): string {
  if (flow !== "install") return callbackPaths[flow];
  return provider === "chat_a"
    ? `/router/v1/integrations/destinations/${encodeURIComponent(destination)}/chat_a/oauth_redirect`
    : `/router/v1/oauth2.0/external/${encodeURIComponent(provider)}/redirect`;
}

const callbackPaths = {
  trial: "/router/v1/trial/signup/oauth/callback",
  login: "/api/v1/svc_auth/oauth/callback",
  signup: "/api/v1/svc_auth/oauth/signup/callback",
} as const;

/** Yields fields `customer_id` and the `id` of fields `customer`, outer fields first (DECISIONS.md, R32). */
export function* findCustomerIds(event: unknown): Generator<string> {
  const level: unknown[] = [event];
  // The loop appends to the list, level by level.
  for (const value of level) {
    if (Array.isArray(value)) {
      for (const element of value) level.push(element);
    } else if (isObject(value)) {
      const ids = [findString(value, "customer_id"), findString(value, "customer", "id")];
      yield* ids.filter((id) => id !== undefined);
      for (const member of Object.values(value)) level.push(member);
    }
  }
}

/** The IDs of one emulator. Their sequence restarts with the state. */
export interface RenewableIds extends Ids {
  /** Restarts the IDs from the seed, at the first start and at every reset. */
  restart(): void;
  /** Starts a new stored sequence, so that no ID is repeated. `moveTo` must be called before an ID is drawn. */
  startSequence(store: Store): Promise<IdPosition | undefined>;
  /** Returns the position of the sequence, or undefined if IDs are random. */
  getPosition(): IdPosition | undefined;
  /** Continues after the position that was stored with a state. */
  moveTo(position: IdPosition | undefined): void;
}

/** Number of a sequence, from 0, and the number of bytes drawn from it. */
export const IdPosition = z.strictObject({ sequence: z.int().min(0), drawn: z.int().min(0) });
export type IdPosition = z.infer<typeof IdPosition>;

/** Creates IDs from a seed. Without a `seed`, they are random. */
export function createRenewableIds(seed: string | undefined): RenewableIds {
  if (seed === undefined) {
    return {
      ...createRandomIds(),
      restart() {},
      startSequence: async () => undefined,
      getPosition: () => undefined,
      moveTo() {},
    };
  }
  const createIds = (sequence: number, drawnBytes = 0) =>
    createSeededIds(sequence === 0 ? seed : `${seed}\0${sequence}`, drawnBytes);
  let sequence = 0;
  let ids = createIds(0);
  const moveTo = (position: IdPosition | undefined) => {
    if (position === undefined) return;
    sequence = position.sequence;
    ids = createIds(position.sequence, position.drawn);
  };
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart: () => moveTo({ sequence: 0, drawn: 0 }),
    startSequence: async (store) => ({
      sequence: await store.transaction("go on with ids", (tx) => tx.next("id_sequence")),
      drawn: 0,
    }),
    getPosition: () => ({ sequence, drawn: ids.position() }),
    moveTo,
  };
}
