import { type Fail, type FailureCode, fail } from "../../src/api/failures.ts";
import type { IdsOf, OperationById, OperationId } from "../../src/api/registry.ts";
import type { forwarding, forwardingToAll, singleClusterFailures } from "../../src/api/router/failures.ts";
import { isEqualInConstantTime } from "../../src/base/hmac.ts";
import { parseBasic, parseBearerToken } from "../../src/schemes/http-authorization.ts";
import { readConnectedApps } from "../domain/apps.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type {
  AuthenticationCall,
  Authenticator,
  Authenticators,
  HandlerCall,
  HandlerContext,
  OperationHandler,
  OperationHandlers,
} from "../http/handler.ts";
import type { Forwarder } from "../http/outgoing/forward.ts";
import type { View } from "../store/port.ts";
import type { IssuerKeys } from "./apps/issuer-keys.ts";

export interface RouterContext extends HandlerContext {
  readonly settings: EmulatorSettings;
  /** Clusters in the order of the seed. */
  readonly clusters: readonly Cluster[];
  readonly forwarder: Forwarder;
  /** Redacts credentials of the control plane in a string that is sent to clusters. */
  hideControlTokens(text: string): string;
  /** Keys of the chat_b issuer in the seed. */
  readonly issuerKeys: IssuerKeys;
  /** Returns whether several responses are ranked by seed order instead of by arrival (DECISIONS.md, R13). */
  isInSeedOrder(): boolean;
  /** Returns whether a user of any workspace has that address, except the user of the signup with this token. */
  hasAccount(view: View, signup: { readonly email: string; readonly token?: string | undefined }): boolean;
}

/** The ID of the cluster whose key the request has. Undefined without a key. */
type CallingCluster = string | undefined;

/** Context of a handler's own functions, which adds the request to the resources. */
export type RouterCall<Code extends FailureCode = never> = RouterContext &
  Omit<HandlerCall<never, CallingCluster>, "fail"> & { readonly fail: Fail<Code> };

/** A request that is forwarded to clusters, with the possible failures. */
export type ForwardCall = RouterCall<(typeof forwarding)[number]>;
/** A request that is forwarded to one cluster. */
export type SingleClusterCall = RouterCall<(typeof singleClusterFailures)[number]>;
/** A request that is forwarded to several clusters at once. */
export type BroadcastCall = RouterCall<(typeof forwardingToAll)[number]>;

export type RouterHandler<Id extends OperationId> = OperationHandler<OperationById<Id>, RouterContext, CallingCluster>;
/** Handlers for some operations of the routing service. The type of the combined table ensures that none is missing. */
export type RouterHandlers = Partial<OperationHandlers<IdsOf<"router">, RouterContext, CallingCluster>>;

/** The handler checks whether the key belongs to the required cluster (DECISIONS.md, R6). */
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
const authenticateBilling: Authenticator<RouterContext, CallingCluster> = ({ headers }, { context }) => {
  const { billing } = readConnectedApps(context.store);
  const credentials = parseBasic(headers.authorization);
  const isUserValid = isEqualInConstantTime(credentials?.user ?? "", billing.username);
  const isPasswordValid = isEqualInConstantTime(credentials?.password ?? "", billing.password);
  if (!credentials || !isUserValid || !isPasswordValid) fail("not-authenticated");
  return undefined;
};

/** Authenticators of the routing service. The operation that needs a user's bearer token decodes it. */
export const routerAuthenticators = {
  "cluster-key": ({ headers }, call) => findKeyHolder(headers["x-cluster-key"], call),
  // Team operations of chat_a also accept the key as a bearer token. Other schemes are ignored.
  "cluster-key-or-bearer": ({ headers }, call) =>
    findKeyHolder(headers["x-cluster-key"] ?? parseBearerToken(headers.authorization), call),
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
