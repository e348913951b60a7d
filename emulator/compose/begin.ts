import { redactText } from "../../src/api/secrets.ts";
import { systemWall } from "../../src/base/clock.ts";
import { randomIds } from "../../src/base/ids.ts";
import { Runner } from "../clock/runner.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import type { ClusterWorld } from "../cluster/context.ts";
import { contractKinds } from "../cluster/contracts/lifecycle/job-handlers.ts";
import { Inbox } from "../cluster/forwarded/inbox.ts";
import { PdfReader } from "../cluster/pdf/reader.ts";
import { hasAccount } from "../cluster/workspace/accounts.ts";
import type { ControlWorld } from "../control/context.ts";
import { Faults } from "../faults/faults.ts";
import { incomingFaults } from "../faults/incoming.ts";
import { outgoingFaults } from "../faults/outgoing.ts";
import { createForwarder } from "../http/outgoing/forward.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import { RequestLog } from "../http/request-log/request-log.ts";
import type { Emulator, RunningCluster } from "../index.ts";
import { IssuerKeys } from "../router/apps/issuer-keys.ts";
import type { RouterWorld } from "../router/context.ts";
import { claimRunFile, type RunFile, runFilesOf } from "../store/file/run-file.ts";
import { realState } from "../store/file/state-link.ts";
import { explainUnusable } from "../store/file/unusable.ts";
import type { Store } from "../store/port.ts";
import { deliveryKinds } from "../webhooks/deliver.ts";
import type { Cluster, ClusterRow } from "../world/clusters.ts";
import { renewableIds } from "../world/renewable-ids.ts";
import { workspaces } from "../world/workspaces.ts";
import type { Closing } from "./closing.ts";
import { clusterListener } from "./cluster-listener.ts";
import type { ListenerDuties } from "./listener-duties.ts";
import { openState } from "./open-state.ts";
import { type EmulatorOptions, settingsFrom, startOf } from "./options.ts";
import { routerListener } from "./router-listener.ts";
import type { Seed } from "./seed.ts";
import { staleTime } from "./stale-time.ts";

/**
 * Opens everything in the order that lets a second emulator on the same file be noticed before it touches the state:
 * the router listens (and answers `ready` with 503), the run file is claimed, the state is opened (design.md,
 * section 6, Lock).
 */
export async function begin(options: EmulatorOptions, seed: Seed, closing: Closing): Promise<Emulator> {
  const { port = 0, host } = options;
  const log = (line: string) => options.log?.(redactText(line));
  const wall = systemWall;
  const ids = renewableIds(options.deterministic ? JSON.stringify(seed) : undefined);
  const instance = {
    id: randomIds().uuid(),
    formKey: randomIds().bytes(32),
    seed,
    start: startOf(options, seed),
    isReady: () => ready,
    stop: () => void closing.run(),
  };
  const token = options.token ?? randomIds().token(32);
  const file = options.ephemeral ? undefined : options.file;
  let ready = false;

  // The listeners are bound first, because what they serve needs to know their URLs; until then they answer 503.
  const router = {} as RouterWorld;
  const control = {} as ControlWorld;
  const requestLog = new RequestLog();
  const faults = new Faults();
  const inboxes = new Map<string, Inbox>();
  const forwarder = createForwarder({ mark: `svc-${instance.id}` });
  const duties: ListenerDuties = {
    clock: { now: () => (control.clock ?? wall).now() },
    wall,
    log: requestLog,
    settings: settingsFrom(options, ""),
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    faultFor: incomingFaults(faults, forwarder.isOwn),
    report: (bug) => log(`bug in ${bug.operation ?? "the emulator"}: ${bug.message}`),
  };
  Object.assign(control, { instance });
  const front = await routerListener({ router, control }, token, instance.isReady, duties);
  closing.push(() => front.close());
  const routerUrl = await front.listen(port, host);
  const settings = settingsFrom(options, routerUrl);
  const controlUrl = `${routerUrl}/_emulator`;

  // A link to the state stays one: all that is written lies beside what it leads to.
  const realFile = file && (await realState(file));
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

  const clock = await VirtualClock.open(store, wall, { ...options.clock, ...nowOf(instance.start) });
  const stale = staleTime(clock, wall);
  if (stale !== undefined) log(stale);
  closing.push(() => forwarder.close());
  const outgoing = createOutgoing({
    wall,
    allow: settings.webhookAllow,
    strict: settings.strict.has("receivers"),
    connectTimeoutMs: settings.webhookConnectTimeoutMs,
    responseTimeoutMs: settings.webhookResponseTimeoutMs,
  });
  closing.push(() => outgoing.close());
  const runner = Runner.start({
    store,
    clock,
    wall,
    deterministic: settings.deterministic,
    kinds: {
      ...contractKinds({ clock, settings }),
      ...deliveryKinds({ clock, wall, settings, outgoing, intervene: outgoingFaults(faults) }),
    },
    onTrouble: (entry, error) => log(`the schedule's entry ${entry.id} (${entry.kind}) failed: ${String(error)}`),
  });
  closing.push(() => runner.close());
  const pdfs = new PdfReader(wall);
  closing.push(() => pdfs.close());

  const world = { store, clock, wall, ids, settings };
  const clusters: Cluster[] = [];
  for (const row of state.clusters) clusters.push(await listenAs(row));
  Object.assign(router, {
    ...world,
    clusters,
    forwarder,
    inSeedOrder,
    hasAccount,
    issuerKeys: new IssuerKeys({ wall, forwarder, settings }),
  });
  Object.assign(control, { ...world, blobs, ids, clusters, runner, requestLog, faults, inboxes });
  await lock?.tell({ clusters: clusters.map(({ id, url }) => ({ id, url })) });
  closing.push(() => front.close());
  ready = true;

  return {
    instanceId: instance.id,
    routerUrl,
    controlUrl,
    clusters: await Promise.all(clusters.map((cluster) => withKey(store, cluster))),
    token,
    file,
    clock: { now: () => clock.now(), advance: (target) => runner.advance(target) },
    closed: closing.done,
    close: () => closing.run(),
    [Symbol.asyncDispose]: () => closing.run(),
  };

  /** An external cluster is only remembered; an emulated one gets a listener on the next port. */
  async function listenAs(row: ClusterRow): Promise<Cluster> {
    const { external_url, position, ...rest } = row;
    if (external_url !== null) return { ...rest, url: external_url.replace(/\/$/, ""), external: true };
    const cluster = { ...rest, url: "", external: false };
    const home: ClusterWorld = { ...world, blobs, cluster, pdfs };
    const inbox = new Inbox();
    inboxes.set(cluster.id, inbox);
    const listener = await clusterListener(home, inbox, duties);
    closing.push(() => listener.close());
    cluster.url = await listener.listen(port === 0 ? 0 : port + 1 + position, host);
    return cluster;
  }

  function aboutUs(): RunFile {
    return {
      pid: process.pid,
      instance_id: instance.id,
      router_url: routerUrl,
      control_url: controlUrl,
      clusters: [],
      token,
    };
  }

  function inSeedOrder(): boolean {
    return settings.deterministic || clock.mode === "manual";
  }
}

/** The instance id of what answers `ready` at that URL; undefined when nothing of ours does. Rejects on silence. */
export async function instanceAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/_emulator/ready`, { signal: AbortSignal.timeout(2_000) });
    const body = JSON.parse(await shortText(response)) as { readonly instance_id?: unknown };
    return typeof body.instance_id === "string" ? body.instance_id : undefined;
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") throw error;
    return undefined;
  }
}

/** Whatever listens there now may answer without end; ours says a few words. */
async function shortText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > 65_536) throw new Error("no answer of ours is so long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const nowOf = (start: number | undefined): { readonly now?: number } => (start === undefined ? {} : { now: start });

async function withKey(store: Store, { id, url, key, external }: Cluster): Promise<RunningCluster> {
  const [first] = await store.read((view) => view.list(workspaces, { by: "cluster", equals: id, limit: 1 }));
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
