import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { IdsOf, OperationById, OperationId } from "../../src/api/registry.ts";
import type { forwarding, forwardingToAll, forwardingToOne } from "../../src/api/router/failures.ts";
import type { Call, Handler, HandlerContext, Handlers } from "../http/handler.ts";
import type { Forwarder } from "../http/outgoing/forward.ts";
import type { View } from "../store/port.ts";
import type { Cluster } from "../world/clusters.ts";
import type { Settings } from "../world/settings.ts";
import type { IssuerKeys } from "./apps/issuer-keys.ts";

/** Resources of the handlers of the routing service. */
export interface RouterContext extends HandlerContext {
  readonly settings: Settings;
  /** In the order of the seed. */
  readonly clusters: readonly Cluster[];
  readonly forwarder: Forwarder;
  /** Redacts the credentials of the control plane in a string: clusters must not learn them. */
  hideControlTokens(text: string): string;
  /** The issuer of chat_b, if the seed names one. */
  readonly issuerKeys: IssuerKeys;
  /** Whether several answers are ranked by seed order instead of by who is first (DECISIONS.md, R13). */
  isInSeedOrder(): boolean;
  /** Whether a user of any workspace has that address, that of the signup with this token aside. */
  hasAccount(view: View, signup: { readonly email: string; readonly token?: string | undefined }): Promise<boolean>;
}

/** The cluster that a request's credentials identify by its key. */
export interface KeyHolder {
  /** Absent: no key was sent. */
  readonly cluster?: string;
}

/** Context of a handler's own functions: the world and this request. */
export type RouterCall<Code extends FailureCode = never> = RouterContext &
  Omit<Call<never, KeyHolder | undefined>, "fail"> & { readonly fail: Fail<Code> };

/** A call whose request is handed on to clusters, with what may go wrong on the way. */
export type ForwardCall = RouterCall<(typeof forwarding)[number]>;
/** An operation whose request goes to one cluster. */
export type SingleClusterCall = RouterCall<(typeof forwardingToOne)[number]>;
/** An operation whose request goes to several at once. */
export type BroadcastCall = RouterCall<(typeof forwardingToAll)[number]>;

export type RouterHandler<Id extends OperationId> = Handler<OperationById<Id>, RouterContext, KeyHolder | undefined>;
/** Handlers of operations of the routing service; the type of the combined table proves that every one exists. */
export type RouterHandlers = Partial<Handlers<IdsOf<"router">, RouterContext, KeyHolder | undefined>>;
