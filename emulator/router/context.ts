import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { IdsOf, OperationById, OperationId } from "../../src/api/registry.ts";
import type { forwarding, forwardingToAll, singleClusterFailures } from "../../src/api/router/failures.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type { HandlerCall, HandlerContext, OperationHandler, OperationHandlers } from "../http/handler.ts";
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
  hasAccount(view: View, signup: { readonly email: string; readonly token?: string | undefined }): Promise<boolean>;
}

/** The ID of the cluster whose key the request has. Undefined without a key. */
export type CallingCluster = string | undefined;

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
