import { pluralize } from "../../../base/text.ts";
import type { ReportedDifference, VerifyReport } from "../../../verify/report.ts";
import { formatJUnit, formatMarkdownCell } from "../../output/ci.ts";
import { bold, type StyledLine } from "../../output/styled.ts";

/** Formats a value. Strings are quoted only where that shows the difference. */
const shorten = (value: unknown, isQuoted: boolean): string => {
  const isPlain = typeof value === "string" && !isQuoted;
  const text = value === undefined ? "nothing" : isPlain ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
};

export type ComparedSides = readonly [recorded: string, replayed: string];

/** Formats a difference as `limit (value): the service has 25, the emulator has 10`. */
function describeDifference(
  { kind, path, recorded, replayed, decisions }: ReportedDifference,
  [firstSide, secondSide]: ComparedSides,
): string {
  const location = path === "" ? kind : `${path} (${kind})`;
  const rows = decisions.length > 0 ? `; DECISIONS.md ${decisions.join(", ")}` : "";
  const [first, second] = [recorded, replayed].map((value) => shorten(value, kind === "type"));
  return `${location}: the ${firstSide} has ${first}, ${secondSide === "emulator" ? "the emulator" : secondSide} has ${second}${rows}`;
}

/** Formats the counts as `3 claims confirmed, 1 refuted, 0 not comparable, 1,360 unseen`. */
const formatSummary = ({
  confirmed,
  refuted,
  unseen,
  "not comparable": incomparableCount,
}: VerifyReport["summary"]): string =>
  `${pluralize(confirmed, "claim")} confirmed, ${refuted} refuted, ${incomparableCount} not comparable, ${unseen} unseen`;

/** Each object from before the recording is a reason of its own. */
const maxReasons = 20;

/** Formats the most frequent reasons why exchanges were not compared. */
function formatReasons(
  { incomparable }: VerifyReport,
  prefix: string,
  formatReason = (reason: string) => reason,
): readonly string[] {
  const sorted = incomparable.toSorted((a, b) => b.exchanges - a.exchanges);
  const moreCount = sorted.length - maxReasons;
  return [
    ...sorted
      .slice(0, maxReasons)
      .map(({ reason, exchanges }) => `${prefix}${exchanges} not compared, or only in part: ${formatReason(reason)}`),
    ...(moreCount > 0 ? [`${prefix}… and ${pluralize(moreCount, "more reason")}. For all: --json`] : []),
  ];
}

/** Formats one case per observed claim. Refuted claims fail, and incomparable claims are skipped. */
export function formatReplayJUnit(report: VerifyReport, sides: ComparedSides): string {
  const listNotAccepted = ({ differences }: VerifyReport["claims"][number]) =>
    report.differences.filter(
      ({ id, accepted: acceptedReason }) => differences.includes(id) && acceptedReason === null,
    );
  const reasons = report.incomparable.map(({ reason, exchanges }) => `${exchanges}: ${reason}`).join("\n");
  const failedCase = { name: "corpus", seconds: 0, failure: { message: "nothing was compared", text: reasons } };
  const cases = report.claims
    .filter(({ verdict }) => verdict !== "unseen")
    .map((claim) => ({
      name: claim.claim,
      seconds: 0,
      ...(claim.verdict === "refuted" && {
        failure: {
          message: pluralize(listNotAccepted(claim).length, "difference"),
          text: listNotAccepted(claim)
            .map((difference) => `${difference.id}\n  ${describeDifference(difference, sides)}`)
            .join("\n"),
        },
      }),
      ...(claim.verdict === "not comparable" && { skipReason: claim.reasons.join("; ") || "it cannot be compared" }),
    }));
  return formatJUnit("svc verify replay", report.compared === 0 ? [failedCase, ...cases] : cases);
}

export function formatReplayMarkdown(report: VerifyReport, [firstSide, secondSide]: ComparedSides): string {
  const { summary, drift, compared, exchanges, incomparable, differences } = report;
  const acceptedDifferences = differences.filter(({ accepted: reason }) => reason !== null);
  const refutations = differences.filter(({ accepted: reason }) => reason === null);
  const formatTable = (
    title: string,
    last: string,
    rows: readonly ReportedDifference[],
    formatLast: (row: ReportedDifference) => string,
  ) => {
    if (rows.length === 0) return [];
    const formatRow = (row: ReportedDifference) => {
      const values = [row.recorded, row.replayed].map((value) => shorten(value, row.kind === "type"));
      return `| ${[row.id, row.basis, ...values].map(formatMarkdownCell).join(" | ")} | ${formatLast(row)} |`;
    };
    const heading = `| ${title} | basis | ${firstSide} | ${formatMarkdownCell(secondSide)} | ${last} |`;
    return ["", heading, "|---|---|---|---|---|", ...rows.map(formatRow)];
  };
  return [
    `### svc verify: ${drift > 0 ? pluralize(drift, "difference") : compared === 0 ? "nothing was compared" : "no drift"}`,
    "",
    `${compared} of ${pluralize(exchanges, "exchange")} compared: ${formatSummary(summary)}.`,
    ...(incomparable.length === 0 ? [] : [""]),
    ...formatReasons(report, "- ", formatMarkdownCell),
    ...formatTable("difference", "times", refutations, ({ count }) => String(count)),
    ...formatTable("accepted", "reason", acceptedDifferences, (difference) => formatMarkdownCell(difference.accepted!)),
    "",
  ].join("\n");
}

export function formatReplayLines(report: VerifyReport, sides: ComparedSides): StyledLine[] {
  const { differences, summary, compared, exchanges, drift } = report;
  const open = differences.filter(({ accepted }) => accepted === null);
  const acceptedCount = differences.length - open.length;
  return [
    ...open.flatMap((difference): StyledLine[] => [
      [bold(difference.id)],
      `  ${describeDifference(difference, sides)}`,
      `  ${difference.basis}, seen ${pluralize(difference.count, "time")}${difference.file === null ? "" : `, first in ${difference.file}`}`,
    ]),
    `${compared} of ${pluralize(exchanges, "exchange")} compared: ${formatSummary(summary)}`,
    ...formatReasons(report, "  "),
    drift > 0
      ? `Drift: ${pluralize(drift, "difference")}`
      : compared === 0
        ? "Nothing was compared"
        : `No drift${acceptedCount > 0 ? ` (${pluralize(acceptedCount, "difference")} accepted)` : ""}`,
  ];
}

/** Creates the JSON report, which omits claims that the corpus does not cover. */
export const toReplayDocument = ({ differences, claims, ...rest }: VerifyReport): object => ({
  ...rest,
  differences: differences.map(({ pairs: _, ...difference }) => ({
    ...difference,
    recorded: difference.recorded ?? null,
    replayed: difference.replayed ?? null,
  })),
  claims: claims.filter(({ verdict }) => verdict !== "unseen"),
});
