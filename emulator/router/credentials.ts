import { fail } from "../../src/api/failures.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { parseBasic, parseBearerToken } from "../../src/schemes/http-authorization.ts";
import { readConnectedApps } from "../domain/apps.ts";
import type { AuthenticationCall, Authenticator, Authenticators } from "../http/handler.ts";
import type { CallingCluster, RouterCall, RouterContext } from "./context.ts";

/** The handler checks whether the key belongs to the required cluster (DECISIONS.md, R6). */
const authenticateCluster: Authenticator<RouterContext, CallingCluster> = ({ headers }, call) =>
  findKeyHolder(headers["x-cluster-key"], call);

/** Team operations of chat_a also accept the key as a bearer token. Other schemes are ignored. */
const authenticateClusterOrBearer: Authenticator<RouterContext, CallingCluster> = ({ headers }, call) =>
  findKeyHolder(headers["x-cluster-key"] ?? parseBearerToken(headers.authorization), call);

function findKeyHolder(key: string | undefined, { context, finding }: AuthenticationCall<RouterContext>) {
  if (key !== undefined) return findClusterOfKey(key, context) ?? fail("invalid-cluster-key");
  if (context.settings.strict.has("keys")) fail("missing-cluster-key");
  finding("no-cluster-key", "x-cluster-key is absent");
  return undefined;
}

function findClusterOfKey(key: string, { clusters }: RouterContext): string | undefined {
  let owner: string | undefined;
  // The loop compares all keys, so that its duration does not reveal the closest key.
  for (const cluster of clusters) if (isEqualInConstantTime(key, cluster.key)) owner = cluster.id;
  return owner;
}

/** Authenticates the billing provider (DECISIONS.md, R32). All failures have the same response. */
const authenticateBilling: Authenticator<RouterContext, CallingCluster> = async ({ headers }, { context }) => {
  const { billing } = await context.store.read(readConnectedApps);
  const credentials = parseBasic(headers.authorization);
  const isUserValid = isEqualInConstantTime(credentials?.user ?? "", billing.username);
  const isPasswordValid = isEqualInConstantTime(credentials?.password ?? "", billing.password);
  if (!credentials || !isUserValid || !isPasswordValid) fail("not-authenticated");
  return undefined;
};

/** Authenticators of the routing service. The operation that needs a user's bearer token decodes it. */
export const routerAuthenticators = {
  "cluster-key": authenticateCluster,
  "cluster-key-or-bearer": authenticateClusterOrBearer,
  basic: authenticateBilling,
  bearer: () => undefined,
} satisfies Authenticators<RouterContext>;

/**
 * Verifies a signature that must be fresh by the virtual clock. Real senders use the wall clock, so a signature that is
 * only fresh by the wall clock is also accepted, with a finding. `--strict=signatures` rejects such signatures
 * (DECISIONS.md, P24).
 */
export function verifyFreshSignature<V extends { readonly ok: true } | { readonly ok: false; readonly reason: string }>(
  { clock, wall, settings, finding }: Pick<RouterCall, "clock" | "wall" | "settings" | "finding">,
  verify: (nowMs: number) => V,
): V {
  const verdict = verify(clock.now());
  if (verdict.ok || verdict.reason !== "stale" || settings.strict.has("signatures")) return verdict;
  const wallVerdict = verify(wall.now());
  if (wallVerdict.ok) finding("signature-fresh-by-wall", "the signature is too old by the virtual clock");
  return wallVerdict;
}
