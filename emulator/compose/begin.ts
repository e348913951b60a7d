import { redactText } from "../../src/api/secrets.ts";
import { systemWall } from "../../src/base/clock.ts";
import { randomIds } from "../../src/base/ids.ts";
import { Runner } from "../clock/runner.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { contractJobHandlers } from "../cluster/contracts/lifecycle/job-handlers.ts";
import { Inbox } from "../cluster/forwarded/inbox.ts";
import { PdfReader } from "../cluster/pdf/reader.ts";
import { reportJobHandlers } from "../cluster/reports/job-handlers.ts";
import { routerLine } from "../cluster/reports/router-line.ts";
import { hasAccount } from "../cluster/workspace/accounts.ts";
import { Faults } from "../faults/faults.ts";
import { incomingFaults } from "../faults/incoming.ts";
import { outgoingFaults } from "../faults/outgoing.ts";
import { createListener, type ListenerOptions } from "../http/listener.ts";
import { createForwarder } from "../http/outgoing/forward.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { RequestLog } from "../http/request-log/request-log.ts";
import { IssuerKeys } from "../router/apps/issuer-keys.ts";
import { claimRunFile, type RunFile, runFilesOf } from "../store/file/run-file.ts";
import { realState } from "../store/file/state-link.ts";
import { explainUnusable } from "../store/file/unusable.ts";
import type { Store } from "../store/port.ts";
import { deliveryJobHandlers } from "../webhooks/deliver.ts";
import { DeliveryNews } from "../webhooks/news.ts";
import type { Cluster, ClusterRow } from "../world/clusters.ts";
import { renewableIds } from "../world/renewable-ids.ts";
import { firstWorkspace } from "../world/workspaces.ts";
import { watchActivity } from "./activity.ts";
import { seededBeginning } from "./beginning.ts";
import type { Closing } from "./closing.ts";
import { clusterParts } from "./cluster-parts.ts";
import { instanceAt } from "./instance-at.ts";
import { InvalidOptions } from "./invalid-options.ts";
import { targetOf } from "./move.ts";
import { openState } from "./open-state.ts";
import { type EmulatorOptions, settingsFrom, startOf } from "./options.ts";
import { reportRest } from "./report-rest.ts";
import { readyPart, routerParts } from "./router-parts.ts";
import type { Emulator, RunningCluster } from "./running.ts";
import type { Seed } from "./seed.ts";
import { staleTime } from "./stale-time.ts";
import { standardSet } from "./standard-set.ts";

/**
 * Starts everything in the order that lets a second emulator on the same file be noticed before it touches the state:
 * the router is bound (and answers `ready` with 503), the run file is claimed, the state is opened (DECISIONS.md,
 * E3). Listeners are opened last, when all that they serve is there.
 */
export async function begin(options: EmulatorOptions, seed: Seed, closing: Closing): Promise<Emulator> {
  const { port = 0, host } = options;
  const log = (line: string) => options.log?.(redactText(line));
  const wall = systemWall;
  const ids = renewableIds(options.deterministic ? JSON.stringify(seed) : undefined);
  const instanceId = randomIds().uuid();
  const token = options.token ?? randomIds().token(32);
  const file = options.ephemeral ? undefined : options.file;
  // The router's own address, which the other settings name, is known once it listens.
  const asGiven = settingsFrom(options, "");
  const requestLog = new RequestLog(asGiven.requestLogBytes);
  const hurry = new AbortController();
  const duties: Omit<ListenerOptions, "name"> = {
    wall,
    hurry: hurry.signal,
    log: requestLog,
    settings: asGiven,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    report: (bug) => log(`bug in ${bug.operation ?? "the emulator"}: ${bug.message}`),
  };

  const front = createListener({ ...duties, name: "router", whileStarting: [readyPart(instanceId)] });
  closing.push(() => front.close());
  const routerUrl = await front.listen(port, host);
  const settings = settingsFrom(options, routerUrl);
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

  const state = await openState({ file: realFile, seed, ids, wall, report: log });
  const { store, blobs } = state;
  closing.push(() => store.close());

  const start = startOf(options, seed);
  const clock = await VirtualClock.open(store, wall, {
    ...options.clock,
    ...(start !== undefined && { now: start }),
  });
  const stale = staleTime(clock, wall);
  if (stale !== undefined) log(stale);
  const forwarder = createForwarder({ mark: `svc-${instanceId}` });
  closing.push(() => forwarder.close());
  const outgoing = createOutgoing({
    wall,
    allow: settings.webhookAllow,
    strict: settings.strict.has("receivers"),
    connectTimeoutMs: settings.webhookConnectTimeoutMs,
    responseTimeoutMs: settings.webhookResponseTimeoutMs,
  });
  closing.push(() => outgoing.close());
  const faults = new Faults();
  let opened = (_url: string) => {};
  const whenOpen = new Promise<string>((resolve) => {
    opened = resolve;
  });
  const deliveries = new DeliveryNews();
  const runner = Runner.start({
    store,
    clock,
    wall,
    hurry: hurry.signal,
    deterministic: settings.deterministic,
    handlers: {
      ...contractJobHandlers({ clock, settings }),
      ...reportJobHandlers({
        clock,
        line: routerLine({ forwarder, wall, timeoutMs: settings.upstreamTimeoutMs, routerUrl: whenOpen }),
        giveUp: log,
      }),
      ...deliveryJobHandlers({ clock, wall, settings, outgoing, intervene: outgoingFaults(faults), news: deliveries }),
    },
    onTrouble: (entry, error) => log(`the schedule's entry ${entry.id} (${entry.kind}) failed: ${String(error)}`),
  });
  closing.push(() => runner.close());
  const pdfs = new PdfReader(wall);
  closing.push(() => pdfs.close());

  const world = { store, clock, wall, ids, settings };
  const served = { clock, faultFor: incomingFaults(faults, forwarder.isOwn) };
  const inboxes = new Map<string, Inbox>();
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
    formKey: randomIds().bytes(32),
    beginning: () => seededBeginning({ store, seed, ids, settings, clock, at: start ?? wall.now() }),
    stop: () => void closing.run(),
  };
  const control = { ...world, blobs, clusters, runner, requestLog, faults, inboxes, instance };
  await lock?.tell({ clusters: clusters.map(({ id, url }) => ({ id, url })) });
  closing.push(() => front.close());
  front.open({ ...served, parts: routerParts({ router, control }, token) });
  opened(routerUrl);
  closing.push(() => reportRest({ store, clock, wall }, hurry.signal));

  return {
    instanceId,
    routerUrl,
    controlUrl,
    clusters: await Promise.all(clusters.map((cluster) => withKey(store, cluster))),
    token,
    file,
    clock: {
      now: () => clock.now(),
      get mode() {
        return clock.mode;
      },
      get speed() {
        return clock.speed;
      },
      advance: async (move) => runner.advance(targetOf(move)),
    },
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
    if (external_url !== null) return { ...rest, url: external_url.replace(/\/$/, ""), external: true };
    const listener = createListener({ ...duties, name: row.id });
    closing.push(() => listener.close());
    const own = port === 0 ? 0 : port + 1 + position;
    if (own > 65_535) throw new InvalidOptions(`There is no port ${own}, which the cluster ${row.id} would listen on`);
    const url = await listener.listen(own, host);
    const cluster = { ...rest, url, external: false };
    const inbox = new Inbox(settings.inboxBytes);
    inboxes.set(cluster.id, inbox);
    listener.open({ ...served, ...clusterParts({ ...world, blobs, cluster, pdfs, standardSet }, inbox) });
    return cluster;
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

async function withKey(store: Store, { id, url, key, external }: Cluster): Promise<RunningCluster> {
  const first = await store.read((view) => firstWorkspace(view, id));
  return {
    id,
    url,
    clusterKey: key,
    external,
    clientId: first?.client_id,
    clientSecret: first?.client_secret,
    hmacKey: first?.hmac_key,
  };
}
