import { rewind, saveSnapshot } from "../../src/api/emulator/snapshots.ts";
import { runAfterDelay } from "../../src/base/clock.ts";
import { onAbort } from "../../src/base/concurrency.ts";
import { parseDuration, parseIsoTime } from "../../src/base/quantities.ts";
import { formatPostgresUrl, parsePostgresUrl } from "../../src/base/urls.ts";
import { splitAtLineEnds } from "../../src/files/read-log.ts";
import type { AdvanceTargetMs } from "../clock/advance.ts";
import type { AdvanceTarget, Emulator, Rewind } from "../published.d.ts";
import type { RewindRequest } from "../travel/rewind.ts";
import type { Snapshots } from "../travel/snapshots.ts";
import { watchActivity } from "./activity.ts";
import { type CleanupStack, EmulatorClosedError } from "./cleanup-stack.ts";
import type { LeadershipLifecycle } from "./leadership-lifecycle.ts";
import { InvalidOptionsError } from "./options.ts";
import type { ProcessContext } from "./process-context.ts";

export { AdvanceTargetInPastError, AdvanceTargetTooFarError, DeliveryUnderWayError } from "../clock/advance.ts";
export { AdvanceUnderWayError } from "../clock/runner.ts";
export { InvalidSnapshotError, SnapshotExistsError, SnapshotNotFoundError } from "../travel/replace-state.ts";
export { HistoryUnavailableError, RewindOutOfRangeError, RewindTargetInFutureError } from "../travel/rewind.ts";

type StartCopy = (document: AsyncIterable<Buffer>) => Promise<Emulator>;

interface EmulatorApiOptions {
  readonly context: ProcessContext;
  readonly terms: LeadershipLifecycle;
  /** The state as the options name it. */
  readonly file: string | undefined;
  readonly closing: CleanupStack;
  readonly closeSignal: AbortController;
  readonly startCopy: StartCopy;
}

/** Test runners and supervisors wait longer than a second. Requests and deliveries get this part of it to end. */
const closeMs = 900;

export function createEmulatorApi({
  context,
  terms,
  file,
  closing,
  closeSignal,
  startCopy,
}: EmulatorApiOptions): Emulator {
  const { options, routerUrl } = context;
  const requireOpen = () => {
    if (closing.hasBegun) throw new EmulatorClosedError();
    return terms.current;
  };
  const { clusters, token } = terms.current;
  return {
    instanceId: context.readiness.instance_id,
    routerUrl,
    controlUrl: `${routerUrl}/_emulator`,
    clusters,
    token,
    file,
    store: options.store === undefined ? undefined : formatPostgresUrl(parsePostgresUrl(options.store)),
    clock: {
      now: () => terms.latest.clock.now(),
      get mode() {
        return terms.latest.clock.mode;
      },
      get speed() {
        return terms.latest.clock.speed;
      },
      advance: async (target) => {
        const { clock, runner } = requireOpen();
        const id = `advance:${context.requestLog.nextNumber()}`;
        const createRow = () => context.createCauseRow({ id, what: "a program advances the clock", at: clock.now() });
        return runner.advance(parseAdvanceTarget(target), { id, createRow });
      },
    },
    ...createSnapshotApi(() => requireOpen().snapshots, startCopy),
    watch: (listener) => {
      if (typeof listener !== "function")
        throw new InvalidOptionsError("emulator.watch: the listener must be a function");
      return watchTerms(terms, context, listener);
    },
    closed: closing.done,
    close: end,
    [Symbol.asyncDispose]: () => end(),
  };

  function end({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const abort = () => closeSignal.abort();
    let unlisten: (() => void) | undefined;
    if (signal?.aborted) abort();
    else if (signal) unlisten = onAbort(signal, abort);
    if (options.graceMs === undefined) runAfterDelay(closeMs, abort);
    return closing.run().finally(unlisten);
  }
}

/** Publishes events while this process leads. */
function watchTerms(terms: LeadershipLifecycle, context: ProcessContext, listener: Parameters<Emulator["watch"]>[0]) {
  let previousEnds: Promise<void> = Promise.resolve();
  let end: () => Promise<void> = async () => {};
  const unwatch = terms.watch((term) => {
    const endPrevious = end;
    previousEnds = previousEnds.then(endPrevious);
    end = async () => {};
    if (term) end = watchActivity(context, term, listener);
  });
  return async () => {
    unwatch();
    await previousEnds;
    await end();
  };
}

const targetRule = "exactly one of by, to, next: true and untilIdle: true is required";

function parseAdvanceTarget(target: AdvanceTarget): AdvanceTargetMs {
  const [name, ...rest] = Object.keys(target ?? {}).filter((key) => target[key as keyof AdvanceTarget] !== undefined);
  if (name === undefined || rest.length > 0) throw new InvalidOptionsError(`clock.advance: ${targetRule}`);
  if ("by" in target) {
    const ms = typeof target.by === "string" ? parseDuration(target.by) : target.by;
    return { by: requireNumber(ms, "by", target.by, "milliseconds or a duration (PT2H35M, 2h35m)") };
  }
  if ("to" in target) {
    const ms = typeof target.to === "string" ? parseIsoTime(target.to) : target.to;
    return { to: requireNumber(ms, "to", target.to, "milliseconds since the epoch or an ISO time") };
  }
  if ("next" in target && target.next === true) return { next: true };
  if ("untilIdle" in target && target.untilIdle === true) return { untilIdle: true };
  throw new InvalidOptionsError(
    `clock.advance: ${targetRule}, got ${name}: ${JSON.stringify(Object.values(target)[0])}`,
  );
}

function requireNumber(value: unknown, name: string, input: unknown, expectation: string): number {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  throw new InvalidOptionsError(`clock.advance: ${name} must be ${expectation}, got ${JSON.stringify(input)}`);
}

const generatedName = /^snapshot-(\d+)$/i;

/** Functions with which a program saves and restores states, and starts another emulator with the present one. */
function createSnapshotApi(
  snapshots: () => Snapshots,
  startCopy: StartCopy,
): Pick<Emulator, "snapshot" | "restore" | "rewind" | "fork"> {
  let lastNumber = 0;

  async function nextName(): Promise<string> {
    const numbers = (await snapshots().list()).map(({ name }) => Number(generatedName.exec(name)?.[1] ?? 0));
    lastNumber = 1 + Math.max(lastNumber, ...numbers);
    return `snapshot-${lastNumber}`;
  }

  return {
    async snapshot(name, options) {
      const saved = await snapshots().save(name === undefined ? await nextName() : checkSnapshotName(name), options);
      return { name: saved.name, at: Date.parse(saved.at!) };
    },
    async restore(snapshot) {
      const { backupSnapshot } = await snapshots().restore(typeof snapshot === "string" ? snapshot : snapshot?.name);
      return { backupSnapshot };
    },
    async rewind(target) {
      const { backupSnapshot } = await snapshots().rewind(parseRewind(target));
      return { backupSnapshot };
    },
    fork: async () => startCopy(splitAtLineEnds(await snapshots().exportPresent("fork"))),
  };
}

/** Throws InvalidOptionsError for a target that the control plane would reject. */
function parseRewind(target: Rewind): RewindRequest {
  const to = (target as { readonly to?: unknown } | undefined)?.to;
  // The schema rejects the "null" of an invalid date.
  const isoTime = typeof to === "number" ? String(new Date(to).toJSON()) : undefined;
  const { data, error } = rewind.request.body.schema.safeParse(
    isoTime === undefined ? target : { ...target, to: isoTime },
  );
  if (!data) throw new InvalidOptionsError(`emulator.rewind: ${error.issues.map(({ message }) => message).join("; ")}`);
  return data;
}

/** Throws InvalidOptionsError for a name that the control plane would reject. */
function checkSnapshotName(name: string): string {
  const { error } = saveSnapshot.request.params.safeParse({ name });
  if (error)
    throw new InvalidOptionsError(`emulator.snapshot: ${error.issues.map(({ message }) => message).join("; ")}`);
  return name;
}
