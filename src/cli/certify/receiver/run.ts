import type { WallClock } from "../../../base/clock.ts";
import { responseTimeCheck } from "./behavior-checks.ts";
import { type Check, type CheckFinding, type CheckRun, describeReply, type Exchange } from "./check.ts";
import { allChecks } from "./checks.ts";
import type { Deliveries } from "./deliveries.ts";
import { genuineCheck } from "./genuine-checks.ts";
import type { Probe } from "./probe.ts";
import { probeCheck } from "./probe-checks.ts";
import type { ReceiverProcess } from "./receiver-process.ts";
import { createSender, isAccepted } from "./sender.ts";

/** Result of one check. */
export interface CheckedItem extends CheckFinding {
  readonly check: Check;
  readonly exchanges: readonly Exchange[];
  readonly durationMs: number;
}

export interface RunOptions {
  readonly url: string;
  readonly checks: readonly Check[];
  readonly deliveries: Deliveries;
  readonly retryLate: CheckRun["retryLate"];
  readonly probe: Probe | undefined;
  readonly receiver: ReceiverProcess | undefined;
  readonly wall: WallClock;
  readonly signal: AbortSignal;
  /** Time limit of all checks together; later ones are skipped. */
  readonly maxMs: number;
  /** Called after each check, in their order. */
  readonly onChecked: (item: CheckedItem) => Promise<void>;
}

/** One response may take so long, and a slow receiver is sent this many deliveries at once. */
const responseTimeoutMs = 5_000;
const slowerMs = 150;
const concurrencyOfSlow = 16;
/** Duration of a check with a probe, if the receiver is slow. */
const probeMs = 2_000;
const maxRestarts = 5;
/** Events of one check have neighboring numbers. */
const numbersPerCheck = 100;

/** Runs the checks, and returns their results in order; those that build on a genuine delivery come after it. */
export async function runChecks(options: RunOptions): Promise<readonly CheckedItem[]> {
  const { checks, wall, signal, receiver, onChecked, maxMs } = options;
  const begunAt = wall.monotonicNow();
  const pace = { bestMs: 0, isSlow: false };
  const items = new Map<string, CheckedItem>();
  let restarts = 0;

  const record = async (item: CheckedItem) => {
    items.set(item.check.id, item);
    if (checks.includes(item.check)) await onChecked(item);
  };
  const skip = (check: Check, detail: string) =>
    record({ check, result: "not_checked", detail, exchanges: [], durationMs: 0 });

  async function make(check: Check): Promise<void> {
    const reason = reasonToSkip(check, items);
    if (reason !== undefined) return skip(check, reason);
    const leftMs = maxMs - (wall.monotonicNow() - begunAt);
    if (leftMs <= (check.requires === "probe" ? probeMs : 0))
      return skip(check, `the time limit of ${maxMs / 1_000} s was reached (--time-limit)`);
    if (receiver?.hasEnded) {
      if (restarts === maxRestarts) return skip(check, "the receiver ended again and again");
      restarts += 1;
      await receiver.start();
    }
    const making = { pace, timeoutMs: Math.min(responseTimeoutMs, leftMs) };
    const item = await makeCheck(check, options, making);
    if (!isRefused(item)) return record(item);
    if (!receiver || restarts === maxRestarts) return skip(check, "the receiver no longer accepts connections");
    restarts += 1;
    await receiver.stop();
    await receiver.start();
    await record(await makeCheck(check, options, making));
  }

  const first = await makeGenuine(options, pace);
  await record(first);
  if (checks.includes(responseTimeCheck)) await make(responseTimeCheck);
  if (checks.includes(probeCheck) || checks.some(({ requires }) => requires === "probe")) await make(probeCheck);
  const others = checks.filter((check) => !items.has(check.id));
  // Sequential checks need the results of earlier ones.
  const single = others.filter(({ expects, requires }) => expects !== "other" && requires === undefined);
  const concurrency = pace.bestMs >= slowerMs ? concurrencyOfSlow : 1;
  await inTurn(single, concurrency, signal, make);
  await inTurn(
    others.filter((check) => !single.includes(check)),
    1,
    signal,
    make,
  );
  signal.throwIfAborted();
  return allChecks.flatMap((check) => items.get(check.id) ?? []);
}

/** The first deliveries: their duration decides how the others are sent. */
async function makeGenuine(options: RunOptions, pace: { bestMs: number; isSlow: boolean }): Promise<CheckedItem> {
  const made = await makeCheck(genuineCheck, options, { pace, timeoutMs: responseTimeoutMs });
  const [first] = made.exchanges;
  pace.bestMs = first?.reply.durationMs ?? 0;
  // The first request of a program that has just started is not a measure.
  if (pace.bestMs >= slowerMs && first?.reply.error === undefined) {
    const again = await makeCheck(genuineCheck, options, { pace, timeoutMs: responseTimeoutMs, further: 1 });
    pace.bestMs = Math.min(pace.bestMs, again.exchanges[0]?.reply.durationMs ?? pace.bestMs);
  }
  pace.isSlow = pace.bestMs >= 2 * slowerMs;
  return made;
}

interface CheckOptions {
  readonly pace: CheckRun["pace"];
  readonly timeoutMs: number;
  readonly further?: number;
}

async function makeCheck(
  check: Check,
  options: RunOptions,
  { pace, timeoutMs, further: skipped = 0 }: CheckOptions,
): Promise<CheckedItem> {
  const { url, deliveries, retryLate, probe, wall, signal } = options;
  const sender = createSender({ url, wall, signal, timeoutMs });
  const exchanges: Exchange[] = [];
  const begunAt = wall.monotonicNow();
  const position = allChecks.indexOf(check) + 1;
  const finding = await check.run({
    deliveries,
    probe,
    pace,
    numberOf: (further = 0) => position * numbersPerCheck + further + skipped,
    async send(delivery) {
      const place = exchanges.push({ delivery, reply: noReply }) - 1;
      const reply = await sender(delivery);
      exchanges[place] = { delivery, reply };
      return reply;
    },
    async retryLate(number) {
      const sent = await retryLate(number);
      exchanges.push(sent);
      return sent;
    },
  });
  signal.throwIfAborted();
  const hasTimedOut = exchanges.some(({ reply }) => reply.error?.code === "timeout");
  const isInconclusive = finding.result !== "passed" && hasTimedOut && pace.isSlow;
  return {
    check,
    ...(isInconclusive ? ({ result: "not_checked", detail: "the receiver is too slow for it" } as const) : finding),
    exchanges,
    durationMs: wall.monotonicNow() - begunAt,
  };
}

/** An earlier delivery has ended the receiver. */
const isRefused = ({ exchanges }: CheckedItem): boolean => exchanges[0]?.reply.error?.code === "refused";

const noReply = {
  status: undefined,
  error: { code: "unreachable", message: "nothing was received" },
  durationMs: 0,
  body: "",
} as const;

/** The reason why a check would prove nothing, by earlier results. */
function reasonToSkip({ requires }: Check, items: ReadonlyMap<string, CheckedItem>): string | undefined {
  const first = items.get(genuineCheck.id)?.exchanges[0]?.reply;
  if (first?.error && first.error.code !== "closed") return `the first delivery failed: ${describeReply(first)}`;
  const probe = items.get(probeCheck.id);
  if (requires !== "probe" || !probe || probe.result === "passed") return undefined;
  return probe.result === "not_checked" ? probe.detail : "the probe does not work";
}

/** Works through a list, this many at once, in its order. */
async function inTurn<T>(
  list: readonly T[],
  concurrency: number,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...list];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Whether the receiver took any genuine delivery: otherwise a rejection proves nothing. */
export const acceptsAny = (items: readonly CheckedItem[]): boolean =>
  items.some(({ check, exchanges }) => check.expects === "accept" && exchanges.some(({ reply }) => isAccepted(reply)));
