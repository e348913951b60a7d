import { redactText } from "../../src/api/secrets.ts";
import { systemWall } from "../../src/base/clock.ts";
import { randomIds } from "../../src/base/ids.ts";
import { defaultSchema, parsePostgresUrl, shownPostgresUrl } from "../../src/base/postgres-url.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { Inbox } from "../cluster/forwarded/inbox.ts";
import { PdfReader } from "../cluster/pdf/reader.ts";
import { isReport } from "../cluster/reports/report.ts";
import { hasAccount } from "../cluster/workspace/accounts.ts";
import { Sessions } from "../control/console/sessions.ts";
import { Feed } from "../control/events/feed.ts";
import { Counters } from "../control/metrics/counters.ts";
import { Faults } from "../faults/faults.ts";
import { incomingFaults } from "../faults/incoming.ts";
import type { ListenerOptions } from "../http/listener.ts";
import { RequestLinks } from "../http/outgoing/links.ts";
import { RequestLog } from "../http/request-log/request-log.ts";
import { IssuerKeys } from "../router/apps/issuer-keys.ts";
import type { Cause } from "../store/cause.ts";
import { causeRows, lastNumberIn } from "../store/causes.ts";
import { claimRunFile, type RunFile, runFilesOf } from "../store/file/run-file.ts";
import { realState } from "../store/file/state-link.ts";
import { explainUnusable } from "../store/file/unusable.ts";
import { StoreFailed } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import { Snapshots } from "../travel/snapshots.ts";
import { DeliveryNews } from "../webhooks/news.ts";
import type { Cluster, ClusterRow } from "../world/clusters.ts";
import { ControlTokens, dropTokens } from "../world/control-tokens.ts";
import { renewableIds } from "../world/renewable-ids.ts";
import { watchActivity } from "./activity.ts";
import { Closing } from "./closing.ts";
import { clusterParts } from "./cluster-parts.ts";
import { consoleReader } from "./console-files.ts";
import { startEngine } from "./engine.ts";
import { addressFor, Following } from "./following.ts";
import { instanceAt } from "./instance-at.ts";
import { Listeners } from "./listeners.ts";
import { targetOf } from "./move.ts";
import { type EmulatorOptions, optionsOfFork, settingsFrom, startOf } from "./options.ts";
import { type Origin, originIn } from "./origin.ts";
import { programTravel } from "./program-travel.ts";
import { checkClusterUrls, publicNames, publicUrlOf } from "./public-urls.ts";
import { reachable } from "./reachable.ts";
import { reportRest } from "./report-rest.ts";
import { routerParts } from "./router-parts.ts";
import type { Emulator } from "./running.ts";
import { withKey } from "./running-cluster.ts";
import { spansOf } from "./spans.ts";
import { standardSet } from "./standard-set.ts";
import { seededBeginning } from "./state/beginning.ts";
import { collections } from "./state/collections.ts";
import { type InDatabase, openState } from "./state/open-state.ts";
import type { Seed } from "./state/seed.ts";
import { staleTime } from "./state/stale-time.ts";

/** Starts an emulator with a seed, or a copy of another state. Nothing is left running where that fails. */
export async function start(options: EmulatorOptions, seed: Seed, origin?: Origin): Promise<Emulator> {
  const closing = new Closing();
  try {
    return await begin(options, seed, closing, origin);
  } catch (error) {
    await closing.run().catch(() => {}); // What went wrong first is what the caller must learn.
    throw error;
  }
}

/**
 * Starts everything in the order that lets a second emulator on the same file be noticed before it touches the state:
 * the router is bound (and answers `ready` with 503), the run file is claimed, the state is opened (DECISIONS.md,
 * E3). Listeners are opened last, when all that they serve is there.
 */
async function begin(options: EmulatorOptions, seed: Seed, closing: Closing, origin?: Origin): Promise<Emulator> {
  const log = (line: string) => options.log?.(redactText(line));
  const wall = systemWall;
  const ids = renewableIds(options.deterministic ? JSON.stringify(seed) : undefined);
  const instanceId = randomIds().uuid();
  let token = options.token ?? randomIds().token(32);
  const file = options.ephemeral ? undefined : options.file;
  // The router's own address, which the other settings name, is known once it listens.
  const asGiven = settingsFrom(options, "");
  const requestLog = new RequestLog(asGiven.requestLogBytes);
  const causeRow = causeRows({ wall, seed: options.deterministic ? JSON.stringify(seed) : undefined });
  const links = new RequestLinks();
  const hurry = new AbortController();
  let leadership: Leadership | undefined;
  const duties: Omit<ListenerOptions, "name"> = {
    wall,
    hurry: hurry.signal,
    graceMs: options.graceMs,
    log: requestLog,
    causeRow,
    links,
    settings: asGiven,
    allowedHosts: [...(options.allowedHosts ?? []), ...publicNames(options)],
    trustedProxies: options.trustedProxies,
    isAssured: () => leadership?.isAssured ?? true,
    report: (bug) => log(`bug in ${bug.operation ?? "the emulator"}: ${bug.message}`),
  };
  const listeners = new Listeners({ options, duties, links, instanceId, closing });
  const { front, isShared } = listeners;
  const routerUrl = await listeners.listen();
  const settings = settingsFrom(options, routerUrl);
  const ourRouter = reachable(routerUrl, options.host);
  const controlUrl = `${routerUrl}/_emulator`;

  // A link to the state stays one: all that is written lies beside what it leads to.
  const realFile = file && (await realState(file).catch((error) => explainUnusable(file, error)));
  const lock = await claimRunFile({
    paths: await runFilesOf(realFile, options.runFile),
    run: aboutUs(),
    wall,
    probe: instanceAt,
  }).catch((error) => explainUnusable(file ?? options.runFile ?? "the run file", error));
  closing.push(() => lock.release());

  closing.push(() => listeners.closeHandedOver());
  const unwanted = new AbortController();
  const bind = listeners.bindCluster;
  const following = isShared
    ? new Following({ wall, instanceId, front, bind, log, began: follows, stop: () => unwanted.abort() })
    : undefined;
  let now: (() => number) | undefined;
  const state = await openState({
    file: realFile,
    database: options.store === undefined ? undefined : inDatabase(options.store),
    seed,
    ids,
    wall,
    report: log,
    origin,
    historyBytes: options.historyBytes,
    moment: () => ({ at: now?.(), ids: ids.place() }),
  });
  const { store, blobs, snapshotStore, kept } = state;
  leadership = state.leadership;
  closing.push(() => store.close());
  token = leadership?.token ?? token;
  if (origin) await store.transaction("tokens.drop", dropTokens);
  const tokens = new ControlTokens(store, wall);
  requestLog.goOnAfter(kept?.beside.requests ?? (await lastNumberIn(store)));

  const spans = spansOf(options, { store, wall, log });
  closing.push(() => spans?.close(hurry.signal));

  const beginsAt = startOf(options, seed);
  const clock = await VirtualClock.open(store, wall, { ...options.clock, now: beginsAt, keptAt: kept?.snapshot.at });
  now = () => clock.now();
  const stale = staleTime(clock, wall);
  if (stale !== undefined) log(stale);

  const faults = new Faults();
  if (kept) faults.takeOver(kept.beside.faults);
  const deliveries = new DeliveryNews();
  const counters = new Counters(requestLog, deliveries);
  let opened = (_url: string) => {};
  const whenOpen = new Promise<string>((resolve) => {
    opened = resolve;
  });
  const { runner, forwarder } = startEngine({
    ...{ store, clock, wall, settings, faults, deliveries, links, causeRow, instanceId, log, closing },
    routerUrl: whenOpen,
    graceMs: options.graceMs,
    hurry: hurry.signal,
  });
  const pdfs = new PdfReader(wall);
  closing.push(() => pdfs.close());

  const world = { store, clock, wall, ids, settings };
  // With --deterministic what clusters report stands at one place in the request log: before the request that it is due to.
  const beforeAnswer = settings.deterministic ? (cause: string) => runner.hasten(cause, isReport) : undefined;
  const served = { clock, faultFor: incomingFaults(faults, forwarder.isOwn), beforeAnswer };
  const inboxes = new Map<string, Inbox>();
  const emulated = state.clusters.filter(({ external_url }) => external_url === null);
  checkClusterUrls(
    options,
    emulated.map(({ id }) => id),
  );
  const clusters: Cluster[] = [];
  for (const row of state.clusters) clusters.push(await listenAs(row));

  const router = {
    ...world,
    clusters,
    forwarder,
    inSeedOrder: () => settings.deterministic || clock.mode === "manual",
    hasAccount,
    issuerKeys: new IssuerKeys({ wall, forwarder, settings }),
  };
  const instance = {
    id: instanceId,
    readiness: () => ({ instance_id: instanceId, ...(isShared && { role: "leader" as const, leader: ourRouter }) }),
    formKey: randomIds().bytes(32),
    beginning: () => seededBeginning({ store, seed, ids, settings, clock, at: beginsAt ?? wall.now() }),
    stop: () => void closing.run(),
  };
  const snapshots = new Snapshots({
    ...world,
    collections,
    snapshotStore,
    requestLog,
    runner,
    faults,
    clusters,
    tokens,
    report: log,
  });
  const feed = new Feed({ ...world, requestLog, faults, snapshots, runner, clusters }, instanceId);
  closing.push(() => feed.close());
  const control = {
    ...world,
    feed,
    blobs,
    snapshots,
    spans,
    standardSet,
    clusters,
    runner,
    requestLog,
    counters,
    faults,
    inboxes,
    instance,
    sessions: new Sessions(randomIds(), wall),
    tokens,
    readConsole: consoleReader(),
  };
  const told = clusters.map(({ id, url }) => ({ id, url }));
  await lock.tell({ clusters: told, token });
  closing.push(() => (isShared ? front.handOver() : front.close()));
  front.open({ ...served, parts: routerParts({ router, control }, token) });
  if (following) {
    const address = addressFor(ourRouter, options.host, state.clusters, clusters);
    following.lead(address);
    await leadership?.tell(address);
  }
  opened(routerUrl);
  closing.push(() => reportRest({ store, clock, wall }, hurry.signal));

  void leadership?.lost.then(() => {
    const message = "Another process leads this store now: this one has ended";
    closing.push(() => Promise.reject(new StoreFailed(message)));
    return closing.run().catch(() => {});
  });
  return {
    instanceId,
    routerUrl,
    controlUrl,
    clusters: await Promise.all(clusters.map((cluster) => withKey(store, cluster))),
    token,
    file,
    store: options.store === undefined ? undefined : shownPostgresUrl(parsePostgresUrl(options.store)),
    clock: {
      now: () => clock.now(),
      get mode() {
        return clock.mode;
      },
      get speed() {
        return clock.speed;
      },
      advance: async (move) => runner.advance(targetOf(move), moveCause()),
    },
    ...programTravel(snapshots, (document) => start(optionsOfFork(options), seed, originIn(document, blobs))),
    watch: (tell) => watchActivity({ store, requestLog, deliveries, clock, wall }, tell),
    closed: closing.done,
    close({ hurry: wish } = {}) {
      const now = () => hurry.abort();
      if (wish?.aborted) now();
      else wish?.addEventListener("abort", now, { once: true });
      return closing.run();
    },
    [Symbol.asyncDispose]: () => closing.run(),
  };

  /** An external cluster is only remembered; an emulated one gets a listener on the next port. */
  async function listenAs(row: ClusterRow): Promise<Cluster> {
    const { external_url, position, ...rest } = row;
    if (external_url !== null) {
      const url = external_url.replace(/\/$/, "");
      return { ...rest, url, reachedAt: url, external: true };
    }
    const { listener, url: reachedAt } = (await following?.ownOf(row.id)) ?? (await bind(row.id, position));
    if (isShared) closing.push(() => listener.handOver());
    const url = publicUrlOf(row.id, reachedAt, { ...options, routerUrl });
    const cluster = { ...rest, url, reachedAt, external: false };
    const inbox = new Inbox(settings.inboxBytes);
    inboxes.set(cluster.id, inbox);
    listener.open({ ...served, ...clusterParts({ ...world, blobs, cluster, pdfs, standardSet }, inbox) });
    return cluster;
  }

  /** Until this process leads it passes on what comes. */
  function follows(leader: string, shared: string): void {
    void lock.tell({ clusters: [], token: shared });
    options.following?.({ routerUrl, leader });
  }

  /** A program moves time. */
  function moveCause(): Cause {
    const id = `advance:${requestLog.nextNumber()}`;
    return { id, row: () => causeRow({ id, what: "a program moves time", at: clock.now() }) };
  }

  /** Others may share the state; they are told where we are once we lead and are there for them. */
  function inDatabase(url: string): InDatabase {
    const candidate = { instance: instanceId, address: null, token: options.token, newToken: () => token };
    return {
      url,
      schema: options.schema ?? defaultSchema,
      candidate,
      ...(following && { seen: following.seen }),
      signal: AbortSignal.any([unwanted.signal, ...(options.signal ? [options.signal] : [])]),
    };
  }

  function aboutUs(): RunFile {
    return {
      pid: process.pid,
      instance_id: instanceId,
      router_url: routerUrl,
      control_url: controlUrl,
      clusters: [],
      token,
    };
  }
}
