import { describeResponseCode } from "../deliveries/explain.ts";
import { toWords } from "../format.ts";

interface Node {
  readonly kind: string;
  readonly id: string;
  readonly what: string;
  readonly because: string;
  readonly status: number | null;
  readonly error: string | null;
}

/** What happened, as all views of the page call it: `contract created`, `attempt 1: nobody listens`. */
export function describeNode({ kind, what, status, error }: Pick<Node, "kind" | "what" | "status" | "error">): string {
  if (kind === "request") return `${what.split(" ", 1)[0]} was called`;
  if (kind !== "attempt") return replaceCodes(what);
  const [name] = what.split(":", 1);
  return `${name}: ${describeResponseCode(status, error)}`;
}

/** A sentence of the emulator without its codes: `webhook 1 wants contract created`. */
export const replaceCodes = (sentence: string): string =>
  sentence.replace(/\b[a-z]+(?:_[a-z]+)+\b|\bE[A-Z]{4,}\b|\b[A-Z]+(?:_[A-Z]+)+\b/g, (code) =>
    code === code.toUpperCase() && !code.startsWith("E") ? toWords(code) : describeResponseCode(null, code),
  );

/** Why a delivery did not arrive in the end. */
export const describeOutcome = (outcome: string | null): string | undefined => ends.get(outcome ?? "");

const ends = new Map([
  ["failed", "the last attempt failed, with no more retries"],
  ["skipped_disabled", "skipped, because the webhook was disabled when the attempt was due"],
  ["skipped_deleted", "skipped, because the webhook was deleted before the attempt was due"],
  ["skipped_not_allowed", "not sent, because its address is not allowed"],
]);

/** Whether it is bad news: an attempt or a request that failed, a delivery that never arrived. */
export function isFailedNode({
  status,
  error,
  outcome,
}: Pick<Node, "status" | "error"> & { readonly outcome: string | null }) {
  return (
    error !== null ||
    (status !== null && (status < 200 || status > 299)) ||
    outcome === "failed" ||
    outcome?.startsWith("skipped") === true
  );
}

/** `delivery 3` of `delivery:3`; a contract and a trace are called as they are. */
export const formatReference = (ref: string): string => ref.replace(/^([a-z]+):(?=\d)/, "$1 ");
