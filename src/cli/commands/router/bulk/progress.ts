import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { hasWidth } from "../../../output/print.ts";
import { isSwitchedOn } from "../../../process/environment.ts";

const progressIntervalMs = { terminal: 200, plain: 10_000 };

export interface JobProgress {
  add(rows: number): void;
  reportRetry(retry: { readonly waitMs: number; readonly reason: string }): void;
  readonly retries: number;
  /** Clears the line. No further output follows. */
  end(): Promise<void>;
}

export interface JobProgressOptions {
  readonly verb: string;
  /** Total number of rows. Undefined if unknown, as for standard input. */
  readonly total: number | undefined;
  readonly resumedRows: number;
}

/**
 * Shows the progress of a job on standard error (DECISIONS.md, L18). A terminal shows one rewritten line. Other outputs
 * get a new line every ten seconds, or a JSON document under `--format ndjson`.
 */
export function createJobProgress(
  { host, globals, output }: Context,
  { verb, total, resumedRows }: JobProgressOptions,
): JobProgress {
  const { stderr, wall, env } = host;
  const isAnimated = hasWidth(stderr) && !isSwitchedOn(env.CI) && output.format !== "ndjson";
  const startedAt = wall.monotonicNow();
  let rows = 0;
  let retries = 0;
  let shownAt = startedAt;
  let isShown = false;

  const getRate = () => rows / Math.max(0.001, (wall.monotonicNow() - startedAt) / 1_000);
  const toDocument = () => {
    const rate = Math.round(getRate());
    return { type: "progress", rows: resumedRows + rows, total: total ?? null, rows_per_second: rate, retries };
  };
  const formatLine = (): string => {
    const doneRows = resumedRows + rows;
    const rate = getRate();
    const parts = [
      total === undefined
        ? `${verb} ${formatCount(doneRows)}`
        : `${verb} ${formatCount(doneRows)}/${formatCount(total)}`,
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
    add(newRows) {
      rows += newRows;
      if (
        globals.quiet ||
        wall.monotonicNow() - shownAt < (isAnimated ? progressIntervalMs.terminal : progressIntervalMs.plain)
      )
        return;
      shownAt = wall.monotonicNow();
      show(formatLine(), toDocument());
    },
    reportRetry({ waitMs, reason }) {
      retries += 1;
      if (globals.quiet || waitMs < 2_000) return;
      const reasonText = reason === "status 429" ? "rate limited" : reason;
      const seconds = Math.ceil(waitMs / 1_000);
      show(`${reasonText}, resuming in ${seconds} s`, { type: "waiting", reason: reasonText, seconds });
    },
    async end() {
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
