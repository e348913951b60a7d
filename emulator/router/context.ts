import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { IdsOf, OperationById, OperationId } from "../../src/api/registry.ts";
import type { forwarding, forwardingToAll, forwardingToOne } from "../../src/api/router/failures.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { Settings } from "../domain/settings.ts";
import type { Call, Handler, HandlerContext, Handlers } from "../http/handler.ts";
import type { Forwarder } from "../http/outgoing/forward.ts";
import type { View } from "../store/port.ts";
import type { IssuerKeys } from "./apps/issuer-keys.ts";

export interface RouterContext extends HandlerContext {
  readonly settings: Settings;
  /** In the order of the seed. */
  readonly clusters: readonly Cluster[];
  readonly forwarder: Forwarder;
  /** Redacts the credentials of the control plane in a string, because clusters must not learn them. */
  hideControlTokens(text: string): string;
  /** The issuer of chat_b, if the seed names one. */
  readonly issuerKeys: IssuerKeys;
  /** Whether several responses are ranked by seed order instead of by arrival (DECISIONS.md, R13). */
  isInSeedOrder(): boolean;
  /** Whether a user of any workspace has that address, except for the signup with this token. */
  hasAccount(view: View, signup: { readonly email: string; readonly token?: string | undefined }): Promise<boolean>;
}

/** The cluster that the key of a request identifies. */
export interface KeyHolder {
  /** Undefined: no key was sent. */
  readonly cluster?: string;
}

/** Context of a handler's own functions: the resources and this request. */
export type RouterCall<Code extends FailureCode = never> = RouterContext &
  Omit<Call<never, KeyHolder | undefined>, "fail"> & { readonly fail: Fail<Code> };

/** A call whose request is forwarded to clusters, with the possible failures. */
export type ForwardCall = RouterCall<(typeof forwarding)[number]>;
/** An operation whose request goes to one cluster. */
export type SingleClusterCall = RouterCall<(typeof forwardingToOne)[number]>;
/** An operation whose request goes to several clusters at once. */
export type BroadcastCall = RouterCall<(typeof forwardingToAll)[number]>;

export type RouterHandler<Id extends OperationId> = Handler<OperationById<Id>, RouterContext, KeyHolder | undefined>;
/** Handlers for the operations of the routing service. The type of the combined table ensures that none is missing. */
export type RouterHandlers = Partial<Handlers<IdsOf<"router">, RouterContext, KeyHolder | undefined>>;
