import { listClaims } from "./replay/claims.ts";
import type { FoundDifference } from "./replay/compare.ts";
import type { ReplayedExchange } from "./replay/replay.ts";

export type ClaimVerdict = "confirmed" | "refuted" | "unseen" | "not comparable";

/** A difference with all its occurrences. */
export type ReportedDifference = ReturnType<typeof collectDifferences>[number];

export type ClaimReport = ReturnType<typeof reportClaims>[number];

export type VerifyReport = ReturnType<typeof buildVerifyReport>;

const createDifferenceId = ({ claim, status }: ReplayedExchange, { path, kind }: FoundDifference): string =>
  [
    claim.name.replaceAll(" ", ":"),
    ...(status === 0 ? [] : [String(status)]),
    ...(path === "" ? [] : [path.replaceAll(" ", ".")]),
    kind,
  ].join(":");

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
  if (undeclared > 0) counts.set("no operation of the service has this method and path", undeclared);
  for (const { incomparable: reason } of replayed)
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].map(([reason, exchanges]) => ({ reason, exchanges }));
}

function collectDifferences(replayed: readonly ReplayedExchange[], accepted: Readonly<Record<string, string>>) {
  const found = new Map<string, { exchange: ReplayedExchange; difference: FoundDifference }[]>();
  for (const exchange of replayed)
    for (const difference of exchange.differences) {
      const id = createDifferenceId(exchange, difference);
      const known = found.get(id) ?? [];
      known.push({ exchange, difference });
      found.set(id, known);
    }
  return [...found].map(([id, all]) => {
    const { exchange, difference } = all[0]!;
    const { name, operation, basis, decisions } = exchange.claim;
    return {
      ...difference,
      id,
      claim: name,
      operation,
      status: exchange.status,
      basis,
      decisions,
      count: all.length,
      file: exchange.file ?? null,
      /** Time of the last recorded occurrence. */
      at: new Date(all.at(-1)!.exchange.at).toISOString(),
      /** Reason why the difference is accepted. Null if it is not accepted. */
      accepted: Object.hasOwn(accepted, id) ? accepted[id]! : null,
      /** All recorded pairs, which are the source of a derived rule. */
      pairs: all.map(({ difference: { recorded, replayed } }) => ({ recorded, replayed })),
    };
  });
}

function reportClaims(replayed: readonly ReplayedExchange[], differences: readonly ReportedDifference[]) {
  const declared = listClaims();
  const known = new Set(declared.map(({ name }) => name));
  const others = new Map(replayed.map(({ claim }) => [claim.name, claim]));
  const all = [...declared, ...[...others.values()].filter(({ name }) => !known.has(name))];
  const byClaim = new Map<string, ReplayedExchange[]>();
  for (const item of replayed) byClaim.set(item.claim.name, [...(byClaim.get(item.claim.name) ?? []), item]);
  return all.map(({ name, basis, decisions }) => {
    const own = byClaim.get(name) ?? [];
    const refuting = differences.filter((item) => item.claim === name);
    const compared = own.filter(({ incomparable }) => incomparable === undefined);
    const verdict: ClaimVerdict =
      own.length === 0
        ? "unseen"
        : refuting.some((item) => item.accepted === null)
          ? "refuted"
          : compared.length === 0 && refuting.length === 0
            ? "not comparable"
            : "confirmed";
    return {
      claim: name,
      verdict,
      basis,
      decisions,
      exchanges: own.length,
      at: own.length === 0 ? null : new Date(Math.max(...own.map((item) => item.at))).toISOString(),
      differences: refuting.map(({ id }) => id),
      reasons: [...new Set(own.flatMap(({ incomparable }) => incomparable ?? []))],
    };
  });
}
