import * as z from "zod";
import { createRandomIds, createSeededIds, type Ids } from "../../src/base/ids.ts";
import { isObject } from "../../src/base/object.ts";
import { stringAt } from "../http/bodies/fields.ts";
import { rows, type Store, type Transaction } from "../store/port.ts";
import { evictOldest } from "../store/retention.ts";

/**
 * The stand-in for the providers that people sign in with or connect, and for chat_a: its page lets a person be anyone,
 * and a code stands for their identity until it is redeemed (DECISIONS.md, R25).
 */
export const ProviderCode = z.strictObject({
  code: z.string(),
  /** Its issuer: a provider, or chat_a. */
  provider: z.string(),
  /** E-mail address of the person, or ID of the team of chat_a. */
  account: z.string(),
  name: z.string(),
});

export const providerCodes = rows<z.infer<typeof ProviderCode>>({
  name: "provider_codes",
  schema: ProviderCode,
  key: (row) => row.code,
  indexes: {},
});

/** Lets a provider issue a code for an account. */
export async function issueProviderCode(
  tx: Transaction,
  ids: Ids,
  account: Omit<z.infer<typeof ProviderCode>, "code">,
): Promise<string> {
  const code = ids.token(24);
  tx.put(providerCodes, { code, ...account });
  await evictOldest(tx, providerCodes);
  return code;
}

/** The account of a code of this provider, once; undefined if the provider does not know the code. */
export async function redeemProviderCode(
  tx: Transaction,
  provider: string,
  code: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const known = await tx.get(providerCodes, code);
  if (known?.provider !== provider) return undefined;
  tx.delete(providerCodes, code);
  return { id: known.account, name: known.name };
}

/** The purpose of a visit at a provider, and the way back. */
export interface ProviderVisit {
  /** `install`: an app is added to a workspace. */
  readonly flow: "trial" | "login" | "signup" | "install";
  readonly provider: string;
  readonly state: string;
  /** Redirect target of chat_a; only of its own. */
  readonly destination?: string | undefined;
}

/** Page on which a person signs in with a provider, or approves. */
export const buildAuthorizationUrl = (
  publicUrl: string,
  { flow, provider, state, destination }: ProviderVisit,
): string =>
  `${publicUrl}/_emulator/provider?${new URLSearchParams({ flow, provider, state, ...(destination && { destination }) })}`;

/** URL to which the provider sends the person back, with a code or with an error. */
export function buildProviderRedirect(
  publicUrl: string,
  visit: ProviderVisit,
  answer: Readonly<Record<string, string>>,
): string {
  return `${publicUrl}${buildCallback(visit)}?${new URLSearchParams({ ...answer, state: visit.state })}`;
}

function buildCallback({ flow, provider, destination = "default" }: ProviderVisit): string {
  if (flow !== "install") return callbacks[flow];
  return provider === "chat_a"
    ? `/router/v1/integrations/destinations/${encodeURIComponent(destination)}/chat_a/oauth_redirect`
    : `/router/v1/oauth2.0/external/${encodeURIComponent(provider)}/redirect`;
}

const callbacks = {
  trial: "/router/v1/trial/signup/oauth/callback",
  login: "/api/v1/svc_auth/oauth/callback",
  signup: "/api/v1/svc_auth/oauth/signup/callback",
} as const;

/**
 * The ids of customers in an event of the billing provider, the outermost first: a member `customer_id`, or the `id` of a
 * member `customer` (DECISIONS.md, R32).
 */
export function* findCustomerIds(event: unknown): Generator<string> {
  const level: unknown[] = [event];
  // The list grows while it is read: level by level.
  for (const value of level) {
    if (Array.isArray(value)) {
      for (const element of value) level.push(element);
    } else if (isObject(value)) {
      const ids = [stringAt(value, "customer_id"), stringAt(value, "customer", "id")];
      yield* ids.filter((id) => id !== undefined);
      for (const member of Object.values(value)) level.push(member);
    }
  }
}

/** The ids of one emulator, which begin again with its state. */
export interface RenewableIds extends Ids {
  /** From the seed: at the first start and at every reset. */
  restart(): void;
  /**
   * Over a state that was there before, after a restart or an import: the beginning of a sequence of its own, so that
   * no id in the state is drawn a second time. Its number is stored in the state. Nothing is drawn of it before `goTo`.
   */
  startSequence(store: Store): Promise<IdPosition | undefined>;
  /** Position of the sequence; undefined if ids are random. */
  place(): IdPosition | undefined;
  /** Draws what comes after that place, also again: for a state that was stored there. */
  goTo(place: IdPosition | undefined): void;
}

/** The number of a sequence, 0 for that of the first start, and how far it was drawn. */
export const IdPosition = z.strictObject({ sequence: z.int().min(0), drawn: z.int().min(0) });
export type IdPosition = z.infer<typeof IdPosition>;

/** `seed`: start of the sequence, with --deterministic; undefined: ids are random. */
export function createRenewableIds(seed: string | undefined): RenewableIds {
  if (seed === undefined) {
    return {
      ...createRandomIds(),
      restart() {},
      startSequence: async () => undefined,
      place: () => undefined,
      goTo() {},
    };
  }
  const begin = (sequence: number, drawn = 0) => createSeededIds(sequence === 0 ? seed : `${seed}\0${sequence}`, drawn);
  let sequence = 0;
  let ids = begin(0);
  const goTo = (place: IdPosition | undefined) => {
    if (place === undefined) return;
    sequence = place.sequence;
    ids = begin(place.sequence, place.drawn);
  };
  return {
    uuid: () => ids.uuid(),
    bytes: (count) => ids.bytes(count),
    token: (count) => ids.token(count),
    pick: (alphabet, length) => ids.pick(alphabet, length),
    restart: () => goTo({ sequence: 0, drawn: 0 }),
    startSequence: async (store) => ({
      sequence: await store.transaction("go on with ids", (tx) => tx.next("id_sequence")),
      drawn: 0,
    }),
    place: () => ({ sequence, drawn: ids.position() }),
    goTo,
  };
}
