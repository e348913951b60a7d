import { open } from "node:fs/promises";
import { devNull } from "node:os";
import { dirname } from "node:path";
import { redactText } from "../../src/api/secrets.ts";
import { systemWallClock, type WallClock } from "../../src/base/clock.ts";
import { Emitter } from "../../src/base/concurrency.ts";
import { createRandomIds } from "../../src/base/ids.ts";
import { pollEvery } from "../../src/base/timing.ts";
import { formatPostgresUrl, parsePostgresUrl } from "../../src/base/urls.ts";
import { openFilesRemedies } from "../../src/files/disk.ts";
import { markNewState, restoreOriginMarker } from "../../src/files/folders.ts";
import { fingerprintMachine } from "../../src/files/machine.ts";
import type { ObservationApplier } from "../../src/verify/observed/apply.ts";
import { MetricCounters } from "../control/metrics/counters.ts";
import type { ListenerOptions } from "../http/listener.ts";
import { CausePropagator } from "../http/outgoing/forward.ts";
import { RequestLog } from "../http/request-log/request-log.ts";
import type { Emulator, EmulatorOptions } from "../published.d.ts";
import { createCauseRowFactory } from "../store/causes.ts";
import { explainUnusable } from "../store/file/file-store.ts";
import { type ClaimedRunFile, claimRunFile, listRunFilePaths, type RunFile } from "../store/file/run-file.ts";
import { resolveStatePath } from "../store/file/stored-state.ts";
import { StoreFailedError } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import type { DeliveryNotifier } from "../webhooks/record.ts";
import { CleanupStack } from "./cleanup-stack.ts";
import { createEmulatorApi } from "./emulator-api.ts";
import { observeWith } from "./engine.ts";
import { LeadershipLifecycle } from "./leadership-lifecycle.ts";
import { Listeners } from "./listeners.ts";
import { createSettings, deriveForkOptions, listPublicNames } from "./options.ts";
import type { ProcessContext } from "./process-context.ts";
import { HotStandby } from "./standby.ts";
import { fileCheckIntervalMs } from "./state/open-state.ts";
import type { Seed } from "./state/seed.ts";
import { openDocumentSource, type StateSource } from "./state-source.ts";

/** Starts an emulator with a seed or with a copy of another state. If that fails, nothing is left running. */
export async function startWithSeed(
  options: EmulatorOptions,
  seed: Seed,
  origin?: StateSource,
  observer?: ObservationApplier,
): Promise<Emulator> {
  const closing = new CleanupStack();
  try {
    return await begin(options, seed, closing, { origin, observer });
  } catch (error) {
    await closing.run().catch(() => {}); // The caller must get the first failure.
    const usesFile = !options.ephemeral && options.store === undefined && options.file !== undefined;
    if (usesFile && error instanceof StoreFailedError) return explainUnusable(options.file, error);
    throw error;
  }
}

/** The number of leases for which a request waits until it is certain that this process leads. */
const maxAssuranceLeases = 5 / 3;

/** How long a process that has handed over still responds to clients that do not know the new leader yet. */
const lingerMs = 250;

/**
 * Starts everything in an order that detects a second emulator on the same file before it touches the state: the router
 * is bound (and `ready` returns 503), the run file is claimed, the state is opened (DECISIONS.md, E3). Listeners are
 * opened last, when everything that they serve exists.
 */
async function begin(
  options: EmulatorOptions,
  seed: Seed,
  closing: CleanupStack,
  { origin, observer }: { readonly origin: StateSource | undefined; readonly observer: ObservationApplier | undefined },
): Promise<Emulator> {
  const log = (line: string) => options.log?.(redactText(line));
  const wall = systemWallClock;
  const instanceId = createRandomIds().uuid();
  const token = options.token ?? createRandomIds().token(32);
  const file = options.ephemeral ? undefined : options.file;
  // The router's own address, which the other settings name, is known only after it listens.
  const initialSettings = createSettings(options, "");
  const requestLog = new RequestLog(initialSettings.requestLogBytes);
  const createCauseRow = createCauseRowFactory({
    wall,
    seed: options.deterministic ? JSON.stringify(seed) : undefined,
  });
  const links = new CausePropagator();
  const closeSignal = new AbortController();
  let leadership: Leadership | undefined;
  const listenerOptions: Omit<ListenerOptions, "name"> = {
    wall,
    closeSignal: closeSignal.signal,
    graceMs: options.graceMs,
    log: requestLog,
    createCauseRow,
    links,
    settings: initialSettings,
    allowedHosts: [...(options.allowedHosts ?? []), ...listPublicNames(options)],
    trustedProxies: options.trustedProxies,
    isAssured: () => leadership?.isAssured ?? true,
    ...(options.leaseMs !== undefined && { assuranceMs: maxAssuranceLeases * options.leaseMs }),
    ...(observer && { observe: observeWith(observer) }),
    report: (bug) => log(`bug in ${bug.operation ?? "the emulator"}: ${bug.message}`),
  };
  const listeners = new Listeners({ options, listenerOptions, links, instanceId, closing });
  const routerUrl = await listeners.listen();
  const settings = createSettings(options, routerUrl);
  const readiness = {
    instance_id: instanceId,
    ...(options.publicUrl !== undefined && { public_url: settings.publicUrl }),
  };

  // A link to the state stays a link: all files are written next to its target.
  const realFile = file && (await resolveStatePath(file).catch((error) => explainUnusable(file, error)));
  const ownFolders: string[] = [];
  for (const state of [file, options.runFile?.replace(/\.run$/, "")])
    if (state !== undefined && (await markNewState(state))) ownFolders.push(dirname(state));
  const paths = await listRunFilePaths(realFile, options.runFile);
  const run: RunFile = {
    pid: process.pid,
    instance_id: instanceId,
    router_url: routerUrl,
    control_url: `${routerUrl}/_emulator`,
    clusters: [],
    token,
    ...(options.store !== undefined
      ? { store: formatPostgresUrl(parsePostgresUrl(options.store)) }
      : realFile === undefined && { in_memory: true as const }),
  };
  const claim = await claimRunFile({ paths, run, wall }).catch((error) =>
    explainUnusable(file ?? options.runFile ?? "the run file", error),
  );
  const runFile: ClaimedRunFile = {
    ...claim,
    async ensureHeld() {
      const isHeld = await claim.ensureHeld();
      if (isHeld) for (const folder of ownFolders) await restoreOriginMarker(folder).catch(() => {});
      return isHeld;
    },
  };
  closing.push(() => runFile.release());
  // The store of a state file checks both.
  if (realFile === undefined && paths.length > 0) closing.push(watchRunFile(runFile, wall, closeSignal.signal));
  closing.push(watchOpenFiles(wall, log));
  closing.push(() => listeners.closeShared());
  if (listeners.isShared) closing.push(() => wall.sleep(lingerMs, closeSignal.signal));

  const aborter = new AbortController();
  let stop = () => aborter.abort();
  const processInfo = { pid: process.pid, run_file: paths[0] ?? null, machine: await fingerprintMachine() };
  const standby = listeners.isShared
    ? new HotStandby({
        ...{ readiness, listeners, log },
        process: processInfo,
        onLeadership: reportStandby,
        stop: () => stop(),
      })
    : undefined;
  const deliveries: DeliveryNotifier = new Emitter();
  const counters = new MetricCounters(requestLog, deliveries);
  const context: ProcessContext = {
    ...{ options, seed, wall, readiness, file: realFile, routerUrl, settings, requestLog, deliveries, counters },
    ...{ createCauseRow, links, listeners, standby, runFile, log, observer, token },
    process: processInfo,
    abortSignal: AbortSignal.any([aborter.signal, ...(options.signal ? [options.signal] : [])]),
    closeSignal: closeSignal.signal,
    stop: () => stop(),
  };
  const terms = new LeadershipLifecycle(context, {
    onLeading(newLeadership) {
      leadership = newLeadership;
    },
    onError(error) {
      closing.push(() => Promise.reject(error));
      void closing.run().catch(() => {});
    },
  });
  await terms.begin(origin);
  closing.push(() => {
    aborter.abort();
    return terms.end();
  });
  stop = () => void closing.run();
  return createEmulatorApi({
    ...{ context, terms, file, closing, closeSignal },
    startCopy: (document) =>
      startWithSeed(deriveForkOptions(options), seed, openDocumentSource(document, terms.current.blobs), observer),
  });

  async function reportStandby(leader: string, sharedToken: string): Promise<void> {
    // Commands find the token in the run file, so it is there before this process reports that it is ready for them.
    await runFile.update({ clusters: [], token: sharedToken });
    options.onLeaderChange?.({ routerUrl, leader });
  }
}

/** Restores a removed run file, because only it leads commands to the emulator. Returns a function that stops it. */
function watchRunFile(runFile: ClaimedRunFile, wall: WallClock, closeSignal: AbortSignal): () => Promise<void> {
  return pollEvery(wall, fileCheckIntervalMs, async () => {
    // A file that cannot be checked may exist.
    if (!closeSignal.aborted) await runFile.ensureHeld().catch(() => {});
  });
}

const openFilesCheckIntervalMs = 2_000;

/** Without files to open, Node ends new connections silently. Returns a function that stops the check. */
function watchOpenFiles(wall: WallClock, log: (line: string) => void): () => Promise<void> {
  let isReported = false;
  return pollEvery(wall, openFilesCheckIntervalMs, async () => {
    try {
      await (await open(devNull)).close();
      isReported = false;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      const remedy = openFilesRemedies[code as keyof typeof openFilesRemedies];
      if (remedy === undefined || isReported) return;
      isReported = true;
      log(`too many files and connections are open (${code}). New requests get no response. ${remedy}`);
    }
  });
}
