import { fail } from "../../src/api/failures.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { parseBasic, parseBearerToken } from "../../src/schemes/http-authorization.ts";
import { readApps } from "../domain/apps.ts";
import type { Authenticate, AuthenticationCall, Authenticators } from "../http/handler.ts";
import type { KeyHolder, RouterCall, RouterContext } from "./context.ts";

/**
 * The key of a cluster in x-cluster-key (DECISIONS.md, R6). The handler checks whether it belongs to the right cluster.
 */
const authenticateCluster: Authenticate<RouterContext, KeyHolder> = ({ headers }, call) =>
  findKeyHolder(headers["x-cluster-key"], call);

/**
 * As above, but chat_a team operations also accept it as a bearer token. Other schemes of `authorization` are ignored.
 */
const authenticateClusterOrBearer: Authenticate<RouterContext, KeyHolder> = ({ headers }, call) =>
  findKeyHolder(headers["x-cluster-key"] ?? parseBearerToken(headers.authorization), call);

function findKeyHolder(key: string | undefined, { context, finding }: AuthenticationCall<RouterContext>): KeyHolder {
  if (key === undefined) {
    if (context.settings.strict.has("keys")) fail("missing-cluster-key");
    finding("no-cluster-key", "x-cluster-key is absent");
    return {};
  }
  return { cluster: findClusterOfKey(key, context) ?? fail("invalid-cluster-key") };
}

function findClusterOfKey(key: string, { clusters }: RouterContext): string | undefined {
  let found: string | undefined;
  // Every key is compared, so that the time does not reveal the closest one.
  for (const cluster of clusters) if (isEqualInConstantTime(key, cluster.key)) found = cluster.id;
  return found;
}

/** The credentials of the billing provider (DECISIONS.md, R32). Every failure gets the same response. */
const authenticateBilling: Authenticate<RouterContext, KeyHolder> = async ({ headers }, { context }) => {
  const { billing } = await context.store.read(readApps);
  const given = parseBasic(headers.authorization);
  const user = isEqualInConstantTime(given?.user ?? "", billing.username);
  const password = isEqualInConstantTime(given?.password ?? "", billing.password);
  return given && user && password ? {} : fail("not-authenticated");
};

/** Authentication of the routing service's clients. A user's bearer token is decoded by the operation that needs it. */
export const routerAuthenticators = {
  "cluster-key": authenticateCluster,
  "cluster-key-or-bearer": authenticateClusterOrBearer,
  basic: authenticateBilling,
  bearer: () => undefined,
} satisfies Authenticators<RouterContext>;

/**
 * Verifies a signature that must be fresh by the virtual clock. Real senders use the wall clock, so one that is only
 * fresh by the wall clock is also accepted, with a finding, unless `--strict=signatures` is set (DECISIONS.md, P24).
 */
export function verifyFresh<V extends { readonly ok: true } | { readonly ok: false; readonly reason: string }>(
  { clock, wall, settings, finding }: Pick<RouterCall, "clock" | "wall" | "settings" | "finding">,
  verify: (nowMs: number) => V,
): V {
  const verdict = verify(clock.now());
  if (verdict.ok || verdict.reason !== "stale" || settings.strict.has("signatures")) return verdict;
  const byWall = verify(wall.now());
  if (byWall.ok) finding("signature-fresh-by-wall", "the signature is too old by the virtual clock");
  return byWall;
}
