import { explain } from "../exit.ts";
import type { FailureKind } from "../failure.ts";

const verdicts: Readonly<Record<number, FailureKind>> = { 2: "usage", 4: "forbidden", 75: "temporary" };

/** What a failure means for the exit code of doctor. */
export const verdictOf = (error: unknown): FailureKind => verdicts[explain(error).exitCode] ?? "failed";
