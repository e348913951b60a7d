import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import type { Fail } from "../../src/api/failures.ts";
import type { IdsOf } from "../../src/api/registry.ts";
import { computeHmac, isEqualInConstantTime } from "../../src/base/hmac.ts";
import type { ObservedClaims } from "../../src/derive/openapi.ts";
import type { Runner } from "../clock/runner.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import type { StandardSet } from "../cluster/context.ts";
import type { RequestInbox } from "../cluster/inbox.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { ControlTokens } from "../domain/control-tokens.ts";
import type { RenewableIds } from "../domain/renewable-ids.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type { Faults } from "../faults/faults.ts";
import type { BufferUsage } from "../http/byte-bounded-log.ts";
import type { HandlerCall, HandlerContext, OperationHandlers } from "../http/handler.ts";
import type { HtmlPage } from "../http/page.ts";
import { type EventFrames, reply } from "../http/reply.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import type { Blobs } from "../store/blobs.ts";
import type { Rows, Transaction, View } from "../store/port.ts";
import { listPage } from "../store/rows.ts";
import type { TraceExporter } from "../trace/export.ts";
import type { Snapshots } from "../travel/snapshots.ts";
import type { ConsoleSessions, ControlCaller } from "./console/sessions.ts";
import type { MetricCounters } from "./metrics/counters.ts";

export interface ControlContext extends HandlerContext {
  readonly settings: EmulatorSettings;
  readonly blobs: Blobs;
  readonly clusters: readonly Cluster[];
  readonly clock: VirtualClock;
  readonly runner: Runner;
  readonly ids: RenewableIds;
  readonly requestLog: RequestLog;
  readonly counters: MetricCounters;
  readonly faults: Faults;
  /** Requests that were forwarded to each emulated cluster, by the cluster's ID. */
  readonly inboxes: ReadonlyMap<string, RequestInbox>;
  readonly snapshots: Snapshots;
  readonly spans: TraceExporter | undefined;
  readonly instance: EmulatorInstance;
  getStandardSet(): StandardSet;
  readonly sessions: ConsoleSessions;
  readonly tokens: ControlTokens;
  readonly feed: FollowableEvents;
  readonly readConsole: ConsoleReader;
  /** Undefined if there are no observations of a recorded service. */
  readonly observedClaims: ObservedClaims | undefined;
}

interface EmulatorInstance {
  readonly id: string;
  /** Returns the identity of this process, and its role among the processes that share its store. */
  getReadiness(): Readiness;
  /** False if another process may lead, so that requests get no response. */
  isAssured(): boolean;
  /** Details of the process for programs on the same machine. */
  readonly process: NonNullable<Liveness["process"]>;
  /** Key that signs the forms of the pages. Each start creates a new one. */
  readonly formKey: Uint8Array;
  /** Returns a function that writes the seed into an empty state, with the same keys and secrets as at the start. */
  createSeedWriter(): (tx: Transaction) => void;
  stop(): void;
}

/** Handlers for the operations of the control plane. The type of the combined table ensures that none is missing. */
export type ControlHandlers<W extends HandlerContext = ControlContext> = Partial<
  OperationHandlers<IdsOf<"emulator">, W, ControlCaller>
>;

interface PageInput {
  readonly query: { readonly offset: number; readonly limit: number };
}

/** Creates a handler that lists a page of a collection, newest first. */
export const createListHandler =
  <Row extends object, Item>(collection: Rows<Row>, toItem: (row: Row, view: View, context: ControlContext) => Item) =>
  ({ query }: PageInput, context: ControlContext & HandlerCall<never, ControlCaller>) => {
    const { store } = context;
    const { rows, total } = listPage(store, collection, query);
    return { items: rows.map((row) => toItem(row, store, context)), total };
  };

export interface ConsoleAsset {
  /** Contains a hash of the file's bytes. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly brotliBytes: Uint8Array;
}

/** Files of the console from the build. The page contains their names. */
export interface ConsoleBundle {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly assets: ReadonlyMap<string, ConsoleAsset>;
}

/** Reads the bundle on the first request. */
export type ConsoleReader = () => Promise<ConsoleBundle>;
export interface FollowableEvents {
  follow(after: string | undefined, signal: AbortSignal): AsyncIterable<EventFrames>;
  readonly amount: BufferUsage & { readonly streams: number };
}

/** Returns a hidden form value that binds a form to this emulator and to one object (DECISIONS.md, E7). */
export const createCsrfToken = ({ instance }: Pick<ControlContext, "instance">, subject: string): string =>
  computeHmac("sha256", instance.formKey, subject).toString("base64url");

export function requireCsrfToken(
  context: Pick<ControlContext, "instance">,
  subject: string,
  token: string,
  fail: Fail<"stale-form">,
): void {
  if (!isEqualInConstantTime(token, createCsrfToken(context, subject))) fail("stale-form");
}

export const sendPage = ({ text, headers }: HtmlPage) => reply(200, text, headers);
