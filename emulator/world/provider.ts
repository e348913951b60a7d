import * as z from "zod";
import { rows, type Transaction } from "../store/port.ts";

/**
 * The stand-in for the providers that people sign in with: its page lets a person be anybody, and a code stands for
 * who they said they are until it is redeemed (DECISIONS.md, R25).
 */
export const ProviderCode = z.strictObject({
  code: z.string(),
  provider: z.string(),
  email: z.string(),
  name: z.string(),
});

export const providerCodes = rows<z.infer<typeof ProviderCode>>({
  name: "provider_codes",
  schema: ProviderCode,
  key: (row) => row.code,
  indexes: {},
});

/** What somebody signs in for, with the path that the provider sends them back to. */
export const providerFlows = {
  trial: "/router/v1/trial/signup/oauth/callback",
  login: "/api/v1/svc_auth/oauth/callback",
  signup: "/api/v1/svc_auth/oauth/signup/callback",
} as const;
export type ProviderFlow = keyof typeof providerFlows;

/** Where a person signs in with a provider. */
export const authorizationUrl = (publicUrl: string, flow: ProviderFlow, provider: string, state: string): string =>
  `${publicUrl}/_emulator/provider?${new URLSearchParams({ flow, provider, state })}`;

/** Whom a code stands for, once; undefined when the provider does not know it. */
export async function redeemProviderCode(
  tx: Transaction,
  code: string,
): Promise<{ readonly email: string; readonly name: string } | undefined> {
  const known = await tx.get(providerCodes, code);
  if (!known) return undefined;
  tx.delete(providerCodes, code);
  return { email: known.email, name: known.name };
}
