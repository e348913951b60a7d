import type { Fail, FailureCode } from "../../src/api/failures.ts";
import type { IdsOf, OperationById, OperationId } from "../../src/api/registry.ts";
import type { forwarding, forwardingToAll, forwardingToOne } from "../../src/api/router/failures.ts";
import type { Call, Handler, HandlerContext, Handlers } from "../http/handler.ts";
import type { Forwarder } from "../http/outgoing/forward.ts";
import type { View } from "../store/port.ts";
import type { Cluster } from "../world/clusters.ts";
import type { Settings } from "../world/settings.ts";
import type { IssuerKeys } from "./apps/issuer-keys.ts";

/** What the handlers of the routing service may use. */
export interface RouterContext extends HandlerContext {
  readonly settings: Settings;
  /** In the order of the seed. */
  readonly clusters: readonly Cluster[];
  readonly forwarder: Forwarder;
  /** Takes out of a string whatever opens the control plane: no cluster is told that. */
  hideControlTokens(text: string): string;
  /** Of chat_b, where the seed names an issuer of its own. */
  readonly issuerKeys: IssuerKeys;
  /** Whether several answers are ranked by seed order instead of by who is first (DECISIONS.md, R13). */
  inSeedOrder(): boolean;
  /** Whether a user of any workspace has that address, that of the signup with this token aside. */
  hasAccount(view: View, signup: { readonly email: string; readonly token?: string | undefined }): Promise<boolean>;
}

/** Whom a request's credentials name: the cluster whose key was sent. */
export interface KeyHolder {
  /** Absent: no key was sent. */
  readonly cluster?: string;
}

/** What a handler's own functions are given: the world and this call. */
export type RouterCall<Code extends FailureCode = never> = RouterContext &
  Omit<Call<never, KeyHolder | undefined>, "fail"> & { readonly fail: Fail<Code> };

/** A call whose request is handed on to clusters, with what may go wrong on the way. */
export type ForwardCall = RouterCall<(typeof forwarding)[number]>;
/** One whose request goes to one cluster. */
export type CallToOne = RouterCall<(typeof forwardingToOne)[number]>;
/** One whose request goes to several at once. */
export type CallToAll = RouterCall<(typeof forwardingToAll)[number]>;

export type RouterHandler<Id extends OperationId> = Handler<OperationById<Id>, RouterContext, KeyHolder | undefined>;
/** Handlers of operations of the routing service; the table made of all parts says whether every one is there. */
export type RouterHandlers = Partial<Handlers<IdsOf<"router">, RouterContext, KeyHolder | undefined>>;
