import * as z from "zod";
import { responseHeaders } from "../../src/api/operation.ts";
import { dictionary } from "../../src/api/shapes.ts";
import { isObject } from "../../src/base/object.ts";
import { findString } from "../http/bodies/fields.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import { defineRows, type View } from "../store/port.ts";

/** The seed's connected apps in one row: secrets, allow-lists and stand-ins. */
export const ConnectedApps = z.strictObject({
  chat_a: z.strictObject({
    /** If this is missing, signatures are not checked (DECISIONS.md, R21). */
    signing_secret: z.string().nullable().default(null),
  }),
  chat_b: z.strictObject({
    app_id: z.string(),
    /** If this is null, the emulator's own issuer under /_emulator/chat-b/ is used (DECISIONS.md, R22). */
    openid_metadata_url: z.url().nullable().default(null),
    issuer: z.string().default("https://api.botframework.com"),
  }),
  crm_a: z.strictObject({ client_secret: z.string() }),
  crm_b: z.strictObject({
    consumer_secret: z.string(),
    /** Allowed origins of `index_url_override` (DECISIONS.md, R28). */
    index_url_allow: z.array(z.string()).default([]),
  }),
  billing: z.strictObject({ username: z.string(), password: z.string() }),
  captcha: z.strictObject({
    /** IP addresses of clients for which the test captcha always passes (specification, use_test_captcha). */
    test_addresses: z.array(z.string()).default(["127.0.0.1", "::1"]),
    /** Captcha that all other clients must send. */
    captcha_token: z.string(),
  }),
  /** Responses of emulated clusters to forwarded requests, by path (DECISIONS.md, R38). */
  answers: z
    .array(
      z.strictObject({
        cluster_id: z.string().optional(),
        method: z.string().default("GET"),
        path: z.string(),
        status: z.int().default(200),
        headers: responseHeaders.default({}),
        body: z.unknown(),
      }),
    )
    .default([]),
});
export type ConnectedApps = z.infer<typeof ConnectedApps>;

const AppsRow = z.strictObject({ name: z.literal("apps"), apps: ConnectedApps });

export const appRows = defineRows({ name: "apps", schema: AppsRow, key: (row) => row.name });

export function readConnectedApps(view: View): ConnectedApps {
  const row = view.get(appRows, "apps");
  if (!row) throw new Error("The state has no apps");
  return row.apps;
}

/** Returns whether the test captcha always passes for the client of a request, which proxies can have forwarded. */
export function isCaptchaTester(
  { captcha }: Pick<ConnectedApps, "captcha">,
  { headers, remoteAddress }: Pick<ReceivedRequest, "headers" | "remoteAddress">,
): boolean {
  return captcha.test_addresses.includes(headers["x-forwarded-for"]?.split(",")[0]?.trim() || remoteAddress);
}

/** Returns `refused` if the origin is not in the seed's list (DECISIONS.md, R28). */
export function resolveFrontEnd(
  { index_url_allow }: ConnectedApps["crm_b"],
  requestedUrl: string | null | undefined,
): URL | "refused" | undefined {
  if (requestedUrl === undefined || requestedUrl === null || requestedUrl === "") return undefined;
  if (!URL.canParse(requestedUrl)) return "refused";
  const url = new URL(requestedUrl);
  const origins = index_url_allow.flatMap((text) => (URL.canParse(text) ? [new URL(text).origin] : []));
  // Every URL of a scheme without hosts has the origin "null".
  return /^https?:$/.test(url.protocol) && origins.includes(url.origin) ? url : "refused";
}

/** A public key in the format of chat_b's issuer: RFC 7517, and the channels for which it is valid. */
export interface IssuerKey {
  readonly kid: string;
  readonly kty: string;
  readonly endorsements?: readonly string[];
  readonly [member: string]: unknown;
}

/** The private key of the emulator's own issuer, created by the control plane on first use. */
const ChatBKey = z.strictObject({ kid: z.string(), jwk: dictionary(z.string()) });

export const chatBKeys = defineRows({ name: "chat_b_keys", schema: ChatBKey, key: (row) => row.kid });

/** Channels for which the emulator's key is valid. The list is complete, so that endorsement checks always pass. */
const endorsedChannels = ["msteams", "emulator", "directline", "webchat"];

/** Returns the public keys of the emulator's own issuer. The list is empty before the first token is issued. */
export const listPublicChatBKeys = (view: View): IssuerKey[] =>
  view
    .list(chatBKeys)
    .map(({ kid, jwk }) => ({ kty: "RSA", use: "sig", kid, n: jwk.n, e: jwk.e, endorsements: endorsedChannels }));

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
