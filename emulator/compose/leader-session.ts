import { createDeferred } from "../../src/base/concurrency.ts";
import { createRandomIds } from "../../src/base/ids.ts";
import { withTimeout } from "../../src/base/timing.ts";
import { defaultSchema } from "../../src/base/urls.ts";
import type { Runner } from "../clock/runner.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { RequestInbox } from "../cluster/inbox.ts";
import { PdfReader } from "../cluster/pdf/reader.ts";
import { isReportKind } from "../cluster/reports/report.ts";
import { hasAccount } from "../cluster/workspace/new-workspace.ts";
import { createTokenMask } from "../control/access/credentials.ts";
import { ConsoleSessions } from "../control/console/sessions.ts";
import { EventFeed } from "../control/events/feed.ts";
import type { Cluster, ClusterRow } from "../domain/clusters.ts";
import { ControlTokens, deleteControlTokens } from "../domain/control-tokens.ts";
import { createRenewableIds } from "../domain/renewable-ids.ts";
import { createIncomingFaultFinder, Faults } from "../faults/faults.ts";
import type { RunningCluster } from "../published.d.ts";
import { IssuerKeys } from "../router/apps/issuer-keys.ts";
import { createBrowserOriginCheck } from "../router/oidc.ts";
import type { Blobs } from "../store/blobs.ts";
import { causes, readLastRequestNumber } from "../store/causes.ts";
import { type Cause, type Store, StoreFailedError } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import { Snapshots } from "../travel/snapshots.ts";
import { attempts, observeWebhooks } from "../webhooks/deliveries.ts";
import { CleanupStack } from "./cleanup-stack.ts";
import { createTraceExport, startEngine } from "./engine.ts";
import { createConsoleReader, toReachableUrl } from "./listeners.ts";
import { checkClusterUrls, resolvePublicUrl, resolveStartTime } from "./options.ts";
import type { ProcessContext } from "./process-context.ts";
import { createClusterParts, createRouterParts, toRunningCluster } from "./service-parts.ts";
import { collections } from "./state/collections.ts";
import { createSeedWriter, formatStaleTimeWarning } from "./state/initial-state.ts";
import { type DatabaseOptions, openState, watchFiles } from "./state/open-state.ts";
import { getStandardSet } from "./state/seed.ts";
import type { StateSource } from "./state-source.ts";

interface LeaderSessionOptions {
  readonly origin: StateSource | undefined;
  /** True if the process continues what another one led, with the seed and the clock of the state. */
  readonly isTakeover: () => boolean;
  readonly onLeading: (leadership: Leadership) => void;
}

/** Everything that exists while this process serves the state. */
export interface LeaderSession {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly clock: VirtualClock;
  readonly runner: Runner;
  readonly snapshots: Snapshots;
  readonly clusters: readonly RunningCluster[];
  readonly token: string;
  /** Undefined if no other process can lead. */
  readonly leadership: Leadership | undefined;
  /** Lets pending work end, and hands over to the next leader. */
  end(): Promise<void>;
  /** Ends without waiting, because another process leads. */
  abandon(): Promise<void>;
}

/** Returns the virtual time of the newest cause or attempt, or -Infinity. */
function readLastChangeTime(store: Store): number {
  const newest = { reverse: true, limit: 1 } as const;
  const rows = [...store.list(causes, newest), ...store.list(attempts, newest)];
  return Math.max(...rows.map(({ at }) => at));
}

/** Maximum wall-clock time for which the router stays open at the end. A report takes some milliseconds. */
const maxDueWorkMs = 1_000;

/** Opens the state when this process leads, and serves it. If that fails, nothing is left running. */
export async function startLeaderSession(
  context: ProcessContext,
  options: LeaderSessionOptions,
): Promise<LeaderSession> {
  const closing = new CleanupStack();
  try {
    return await open(context, options, closing);
  } catch (error) {
    await closing.run().catch(() => {}); // The caller must get the first failure.
    throw error;
  }
}

async function open(
  context: ProcessContext,
  sessionOptions: LeaderSessionOptions,
  closing: CleanupStack,
): Promise<LeaderSession> {
  const { options, seed, wall, readiness, file, routerUrl, settings, requestLog, counters } = context;
  const { listeners, standby, runFile, log } = context;
  const { instance_id: instanceId } = readiness;
  const { router: routerListener, isShared } = listeners;
  const { origin, isTakeover } = sessionOptions;
  const abandonment = new AbortController();
  const closeSignal = AbortSignal.any([context.closeSignal, abandonment.signal]);
  const ids = createRenewableIds(options.deterministic ? JSON.stringify(seed) : undefined);
  let readTime: (() => number) | undefined;
  const state = await openState({
    file,
    database: options.store === undefined ? undefined : toDatabaseOptions(options.store, context, sessionOptions),
    seed,
    isSeedChosen: options.seed !== undefined,
    isStartChosen: options.clock?.start !== undefined,
    isTakeover,
    ids,
    wall,
    report: log,
    origin,
    isHeld: () => runFile.ensureHeld(),
    historyBytes: options.historyBytes,
    getMoment: () => ({ at: readTime?.(), ids: ids.getPosition() }),
  });
  const { store, blobs, snapshotStore, snapshotHead, leadership } = state;
  closing.push(() => store.close());
  closing.push(watchFiles(store, wall));
  const token = leadership?.token ?? context.token;
  if (origin) await store.transaction("tokens.drop", deleteControlTokens);
  const tokens = new ControlTokens(store, wall);
  const lastRequest = snapshotHead?.beside.requests ?? readLastRequestNumber(store);
  if (isShared) {
    requestLog.clear();
    requestLog.rewindTo(lastRequest);
  } else requestLog.resumeAfter(lastRequest);

  const spans = createTraceExport(options, { store, wall, requestLog, log });
  closing.push(() => spans?.close(closeSignal));

  const startTime = resolveStartTime(options, seed);
  const clock = await VirtualClock.open(store, wall, {
    ...(isTakeover() ? {} : options.clock),
    now: startTime,
    storedAt: snapshotHead?.snapshot.at,
    changedAt: readLastChangeTime(store),
  });
  readTime = () => clock.now();
  if (context.observer) observeWebhooks(clock, context.observer);
  const warning = formatStaleTimeWarning(clock, wall);
  if (warning !== undefined) log(warning);

  const faults = new Faults();
  const sessions = new ConsoleSessions(createRandomIds(), wall);
  const hideControlTokens = createTokenMask({ token, sessions });
  if (snapshotHead) faults.replaceState(snapshotHead.beside.faults);
  const openedUrl = createDeferred<string>();
  const { runner, forwarder } = startEngine(context, {
    ...{ store, clock, faults, closing, closeSignal },
    routerUrl: openedUrl.promise,
  });
  const pdfs = new PdfReader(wall);
  closing.push(() => pdfs.close());

  const sharedContext = { store, clock, wall, ids, settings };
  // With --deterministic, reports of clusters have a fixed position in the request log: before the next request.
  const prioritizeReports = async (cause: Cause) => {
    await runner.prioritize(cause.id, isReportKind);
  };
  const faultFor = createIncomingFaultFinder(faults, forwarder.isOwn);
  const listenerOptions = { clock, faultFor, ...(settings.deterministic && { beforeAnswer: prioritizeReports }) };
  const inboxes = new Map<string, RequestInbox>();
  const emulatedClusters = state.clusters.filter(({ external_url }) => external_url === null);
  checkClusterUrls(
    options,
    emulatedClusters.map(({ id }) => id),
  );
  const clusters: Cluster[] = [];
  for (const row of state.clusters) clusters.push(await createCluster(row));

  const router = {
    ...sharedContext,
    clusters,
    forwarder,
    isInSeedOrder: () => settings.deterministic || clock.mode === "manual",
    hasAccount,
    hideControlTokens,
    issuerKeys: new IssuerKeys({ wall, forwarder, settings }),
  };
  const reachableRouterUrl = toReachableUrl(routerUrl, options.host);
  const instance = {
    id: instanceId,
    getReadiness: () => ({ ...readiness, ...(isShared && { role: "leader" as const, leader: reachableRouterUrl }) }),
    isAssured: () => leadership?.isAssured ?? true,
    process: context.process,
    formKey: createRandomIds().bytes(32),
    createSeedWriter: () => createSeedWriter({ store, seed, ids, settings, clock, at: startTime ?? wall.now() }),
    stop: context.stop,
  };
  const controlContext = { ...sharedContext, requestLog, runner, faults, clusters, tokens };
  const snapshots = new Snapshots({ ...controlContext, collections, snapshotStore, report: log });
  const feed = new EventFeed({ ...controlContext, snapshots }, instanceId);
  closing.push(() => feed.close());
  const control = {
    ...controlContext,
    feed,
    blobs,
    snapshots,
    spans,
    getStandardSet,
    counters,
    inboxes,
    instance,
    sessions,
    readConsole: createConsoleReader(),
    observedClaims: context.observer?.observations.seen,
  };
  const clusterAddresses = clusters.map(({ id, url }) => ({ id, url }));
  await runFile.update({ clusters: clusterAddresses, token });
  closing.push(() => listeners.stop(routerListener));
  routerListener.open({
    ...listenerOptions,
    allowsOrigin: createBrowserOriginCheck(router),
    parts: createRouterParts({ router, control }, token),
  });
  if (standby && leadership) {
    const key = createRandomIds().token(32);
    const address = { router_url: reachableRouterUrl, key, clusters: emulatedClusters.map(toClusterAddress) };
    await standby.lead(address, token);
    await leadership.publishAddress(address).catch((cause) => {
      throw new StoreFailedError("The leader cannot be announced to the standbys", { cause });
    });
  }
  openedUrl.resolve(routerUrl);
  // Due work ends while the router accepts the reports of clusters. The rest is done after the next start. If another
  // process can do it, no more is started, and requests are served until everything in progress has ended.
  closing.push(() =>
    isShared
      ? Promise.all([runner.drain(), listeners.drain(closeSignal)])
      : withTimeout(wall, maxDueWorkMs, runner.waitUntilIdle(), closeSignal),
  );

  return {
    ...{ store, blobs, clock, runner, snapshots, token, leadership },
    clusters: clusters.map((cluster) => toRunningCluster(store, cluster)),
    end: () => closing.run(),
    abandon() {
      abandonment.abort();
      return closing.run();
    },
  };

  function toClusterAddress({ id, position }: ClusterRow) {
    const { internalUrl } = clusters.find((cluster) => cluster.id === id)!;
    return { id, url: toReachableUrl(internalUrl, options.host), position };
  }

  /** Registers an external cluster. An emulated cluster also gets a listener on the next port. */
  async function createCluster(row: ClusterRow): Promise<Cluster> {
    const { external_url, position, ...rest } = row;
    if (external_url !== null) {
      const url = external_url.replace(/\/$/, "");
      return { ...rest, url, internalUrl: url, external: true };
    }
    const binding = standby ? standby.getListener(row.id, position) : listeners.bindCluster(row.id, position);
    const { listener, url: internalUrl } = await binding;
    closing.push(() => listeners.stop(listener));
    const url = resolvePublicUrl(row.id, internalUrl, routerUrl, options);
    if (options.publicUrl !== undefined && url === internalUrl && !Object.hasOwn(options.clusterUrls ?? {}, row.id))
      log(`clients get ${url} for ${row.id}. To set its public address: --public-url ${row.id}=URL`);
    const cluster = { ...rest, url, internalUrl, external: false };
    const inbox = new RequestInbox(settings.inboxBytes, hideControlTokens);
    inboxes.set(cluster.id, inbox);
    listener.open({
      ...listenerOptions,
      ...createClusterParts({ ...sharedContext, blobs, cluster, pdfs, getStandardSet }, inbox),
    });
    return cluster;
  }
}

/** Other processes may share the state. They get the addresses of this process when it leads. */
function toDatabaseOptions(
  url: string,
  { options, standby, token, abortSignal }: ProcessContext,
  { onLeading }: LeaderSessionOptions,
): DatabaseOptions {
  // Each term has its own name, so that a late statement of the previous term is not mistaken for one of this term.
  const instance = createRandomIds().uuid();
  return {
    url,
    schema: options.schema ?? defaultSchema,
    candidate: { instance, address: null, token: options.token, createToken: () => token },
    ...(standby && { onLeaderChange: standby.updateLeader }),
    ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }),
    signal: abortSignal,
    onLeading,
  };
}
