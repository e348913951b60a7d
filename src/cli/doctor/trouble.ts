import { explain } from "../exit.ts";
import type { Verdict } from "../failure.ts";

const verdicts: Readonly<Record<number, Verdict>> = { 2: "usage", 4: "forbidden", 75: "temporary" };

/** What a failure means for the exit code of doctor. */
export const verdictOf = (error: unknown): Verdict => verdicts[explain(error).exitCode] ?? "failed";
