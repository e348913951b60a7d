import * as z from "zod";
import type { showProviderPage } from "../../src/api/emulator/installations.ts";
import type { InputOf } from "../../src/api/operation.ts";
import type { Ids } from "../../src/base/ids.ts";
import { defineRows, type Transaction } from "../store/port.ts";
import { evictOldest } from "../store/rows.ts";

/** A code for the identity that a user chose on the page. It is valid until it is redeemed (DECISIONS.md, R25). */
const ProviderCode = z.strictObject({
  code: z.string(),
  /** Issuer of the code: a provider, or chat_a. */
  provider: z.string(),
  /** E-mail address of the user, or team ID of chat_a. */
  account: z.string(),
  name: z.string(),
});

export const providerCodes = defineRows({ name: "provider_codes", schema: ProviderCode, key: (row) => row.code });

export function issueProviderCode(tx: Transaction, ids: Ids, account: Omit<z.infer<typeof ProviderCode>, "code">) {
  const code = ids.token(24);
  tx.put(providerCodes, { code, ...account });
  evictOldest(tx, providerCodes);
  return code;
}

/** Redeems a code once and returns its account. Returns undefined if the provider did not issue the code. */
export function redeemProviderCode(
  tx: Transaction,
  provider: string,
  code: string,
): { readonly id: string; readonly name: string } | undefined {
  const row = tx.get(providerCodes, code);
  if (row?.provider !== provider) return undefined;
  tx.delete(providerCodes, code);
  return { id: row.account, name: row.name };
}

/** Purpose of a visit at a provider, and the data for the redirect back. The flow `install` adds an app. */
export type ProviderVisit = InputOf<typeof showProviderPage>["query"];

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
