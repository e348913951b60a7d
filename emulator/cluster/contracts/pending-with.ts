import type { Contract } from "./rows.ts";

/** Whose move it is (DECISIONS.md, F9); undefined when nobody has to do anything. */
export function pendingWith(row: Contract): "CREATOR_PARTY" | "COUNTER_PARTY" | "BOTH" | undefined {
  switch (row.status) {
    case "DRAFT":
      return "CREATOR_PARTY";
    case "REDLINING": {
      const open = row.reviews.find((review) => review.completed_at === null);
      return open?.by === "counterparty" ? "COUNTER_PARTY" : "CREATOR_PARTY";
    }
    case "SIGN": {
      const waiting = row.signatories.filter((signatory) => signatory.action === null);
      const theirs = waiting.some((signatory) => signatory.is_counterparty);
      const ours = waiting.some((signatory) => !signatory.is_counterparty);
      return theirs && ours ? "BOTH" : theirs ? "COUNTER_PARTY" : "CREATOR_PARTY";
    }
    default:
      return undefined;
  }
}
