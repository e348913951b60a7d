import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { canShowStatusLine } from "../../../output/print.ts";
import { isSwitchedOn } from "../../../process/environment.ts";

const progressIntervalMs = { terminal: 200, plain: 10_000 };

export interface RetryNotice {
  readonly waitMs: number;
  readonly reason: string;
}

/**
 * Shows the progress of a job on standard error (DECISIONS.md, L18). A terminal shows one rewritten line. Other outputs
 * get a new line every ten seconds, or a JSON document under `--format ndjson`. `total` is null for standard input.
 */
export function createJobProgress(
  { host, globals, output }: Context,
  { verb, total, resumedRows }: { readonly verb: string; readonly total: number | null; readonly resumedRows: number },
) {
  const { stderr, wall, env } = host;
  const isAnimated = canShowStatusLine(stderr) && !isSwitchedOn(env.CI) && output.format !== "ndjson";
  const startedAt = wall.monotonicNow();
  let rows = 0;
  let retries = 0;
  let shownAt = startedAt;
  let isShown = false;

  const getRate = () => rows / Math.max(0.001, (wall.monotonicNow() - startedAt) / 1_000);
  const toDocument = () => {
    const rate = Math.round(getRate());
    return { type: "progress", rows: resumedRows + rows, total, rows_per_second: rate, retries };
  };
  const formatLine = (): string => {
    const doneRows = resumedRows + rows;
    const rate = getRate();
    const parts = [
      `${verb} ${formatCount(doneRows)}${total === null ? "" : `/${formatCount(total)}`}`,
      ...(total ? [`${Math.floor((100 * doneRows) / total)}%`] : []),
      `${formatCount(rate)} rows/s`,
      ...(retries > 0 ? [pluralize(retries, "retry", "retries")] : []),
      ...(total && rate > 0 ? [`ETA ${formatSeconds((total - doneRows) / rate)}`] : []),
    ];
    return parts.join(" · ");
  };
  const show = (text: string, value: unknown) => {
    isShown = true;
    if (output.format === "ndjson") void output.printDiagnosticDocument(value);
    else void (isAnimated ? output.showStatus(text) : output.warn(text));
  };
  return {
    get retries() {
      return retries;
    },
    add(newRows: number): void {
      rows += newRows;
      const intervalMs = isAnimated ? progressIntervalMs.terminal : progressIntervalMs.plain;
      if (globals.quiet || wall.monotonicNow() - shownAt < intervalMs) return;
      shownAt = wall.monotonicNow();
      show(formatLine(), toDocument());
    },
    reportRetry({ waitMs, reason }: RetryNotice): void {
      retries += 1;
      if (globals.quiet || waitMs < 2_000) return;
      const reasonText = reason === "status 429" ? "rate limited" : reason;
      const seconds = Math.ceil(waitMs / 1_000);
      show(`${reasonText}, resuming in ${seconds} s`, { type: "waiting", reason: reasonText, seconds });
    },
    /** Clears the line. No further output follows. */
    async end(): Promise<void> {
      if (isShown && isAnimated) await output.showStatus(undefined);
    },
  };
}

function formatCount(count: number): string {
  if (count >= 999_950) return `${(count / 1e6).toFixed(1)}M`;
  return count >= 10_000 ? `${Math.round(count / 1e3)}k` : String(Math.round(count));
}

export function formatSeconds(seconds: number): string {
  const wholeSeconds = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(wholeSeconds / 3_600), Math.floor(wholeSeconds / 60) % 60, wholeSeconds % 60];
  if (h > 0) return `${h}h${m}m`;
  return m > 0 ? `${m}m${s}s` : `${s}s`;
}

const youngGenerationBytes = 8 * 1_024 * 1_024;

/**
 * Sizes V8's young generation for millions of short-lived rows. Must be called before any row is read. The default
 * begins so small that every collection copies data in flight, which takes a third of a job's time. It then grows until
 * a job takes more than 150 MB.
 */
export function limitYoungGeneration(): void {
  setFlagsFromString("--semi-space-growth-factor=4");
  // The young generation grows when many objects survive.
  const heldArrays: number[][] = [];
  for (let i = 0; i < 256 && getYoungGenerationSize() < youngGenerationBytes; i += 1)
    heldArrays.push(new Array(2_048).fill(i));
  setFlagsFromString("--semi-space-growth-factor=1");
}

const getYoungGenerationSize = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? youngGenerationBytes;
