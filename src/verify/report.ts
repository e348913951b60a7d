import { groupBy } from "../base/object.ts";
import { listClaims } from "./replay/claims.ts";
import type { FoundDifference } from "./replay/compare.ts";
import type { ReplayedExchange } from "./replay/replay.ts";

type ClaimVerdict = "confirmed" | "refuted" | "unseen" | "not comparable";

/** A difference with all its occurrences. */
export type ReportedDifference = ReturnType<typeof collectDifferences>[number];

export type VerifyReport = ReturnType<typeof buildVerifyReport>;

/**
 * Summarizes a replay claim by claim. `accepted` contains reasons by the ID of a difference. `undeclared` is the number
 * of exchanges without a claim.
 */
export function buildVerifyReport(
  replayed: readonly ReplayedExchange[],
  accepted: Readonly<Record<string, string>>,
  undeclared = 0,
) {
  const differences = collectDifferences(replayed, accepted);
  const claims = reportClaims(replayed, differences);
  const countClaims = (verdict: ClaimVerdict) => claims.filter((item) => item.verdict === verdict).length;
  return {
    exchanges: replayed.length + undeclared,
    compared: replayed.filter(({ incomparable }) => incomparable === undefined).length,
    /** Reasons why exchanges were not compared. */
    incomparable: countReasons(replayed, undeclared),
    summary: {
      confirmed: countClaims("confirmed"),
      refuted: countClaims("refuted"),
      unseen: countClaims("unseen"),
      "not comparable": countClaims("not comparable"),
    },
    /** Number of differences that are not accepted. */
    drift: differences.filter((item) => item.accepted === null).length,
    differences,
    claims,
  };
}

function countReasons(replayed: readonly ReplayedExchange[], undeclared: number) {
  const counts = new Map<string, number>();
  if (undeclared > 0) counts.set("no declared operation has this method and path", undeclared);
  for (const { incomparable: reason } of replayed)
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, exchanges]) => ({ reason, exchanges }));
}

/** Creates an ID such as `contracts.list:200:results[].id:absent`, which stays the same in later replays. */
const createDifferenceId = ({ claim, status }: ReplayedExchange, { path, kind }: FoundDifference): string =>
  [claim.name.replaceAll(" ", ":"), status === 0 ? "" : String(status), path.replaceAll(" ", "."), kind]
    .filter((part) => part !== "")
    .join(":");

function collectDifferences(replayed: readonly ReplayedExchange[], accepted: Readonly<Record<string, string>>) {
  const all = replayed.flatMap((exchange) =>
    exchange.differences.map((difference) => ({ id: createDifferenceId(exchange, difference), exchange, difference })),
  );
  return [...groupBy(all, ({ id }) => id)].map(([id, occurrences]) => {
    const { exchange, difference } = occurrences[0]!;
    const { name, operation, basis, decisions } = exchange.claim;
    return {
      ...difference,
      id,
      claim: name,
      operation,
      status: exchange.status,
      basis,
      decisions,
      count: occurrences.length,
      file: exchange.file ?? null,
      /** Time of the last recorded occurrence. */
      at: new Date(occurrences.at(-1)!.exchange.at).toISOString(),
      /** Reason why the difference is accepted. Null if it is not accepted. */
      accepted: Object.hasOwn(accepted, id) ? accepted[id]! : null,
      /** All recorded pairs, which are the source of a derived rule. */
      pairs: occurrences.map(({ difference: { recorded, replayed } }) => ({ recorded, replayed })),
    };
  });
}

function reportClaims(replayed: readonly ReplayedExchange[], differences: readonly ReportedDifference[]) {
  const exchangesByClaim = groupBy(replayed, ({ claim }) => claim.name);
  const claims = new Map([...listClaims(), ...replayed.map(({ claim }) => claim)].map((claim) => [claim.name, claim]));
  return [...claims.values()].map(({ name, basis, decisions }) => {
    const own = exchangesByClaim.get(name) ?? [];
    const found = differences.filter((item) => item.claim === name);
    return {
      claim: name,
      verdict: getVerdict(own, found),
      basis,
      decisions,
      exchanges: own.length,
      at: own.length === 0 ? null : new Date(Math.max(...own.map((item) => item.at))).toISOString(),
      differences: found.map(({ id }) => id),
      reasons: [...new Set(own.flatMap(({ incomparable }) => incomparable ?? []))],
    };
  });
}

function getVerdict(own: readonly ReplayedExchange[], found: readonly ReportedDifference[]): ClaimVerdict {
  if (own.length === 0) return "unseen";
  if (found.some(({ accepted }) => accepted === null)) return "refuted";
  const isCompared = found.length > 0 || own.some(({ incomparable }) => incomparable === undefined);
  return isCompared ? "confirmed" : "not comparable";
}
