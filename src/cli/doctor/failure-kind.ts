import { explainError } from "../exit.ts";
import type { FailureKind } from "../failure.ts";

const kinds: Readonly<Record<number, FailureKind>> = { 2: "usage", 4: "forbidden", 75: "temporary" };

/** What a failure means for the exit code of doctor. */
export const failureKindOf = (error: unknown): FailureKind => kinds[explainError(error).exitCode] ?? "failed";
