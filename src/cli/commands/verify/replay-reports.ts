import type { ClaimReport, ReportedDifference, VerifyReport } from "../../../verify/report.ts";
import { formatJUnit } from "../../output/junit.ts";

const short = (value: unknown): string => {
  const text = value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
};

/** `contract_status: the service returned "draft", the emulator "DRAFT"`. */
export function describeDifference({ kind, path, recorded, emulated, decisions }: ReportedDifference): string {
  const place = path === "" ? kind : `${path} (${kind})`;
  const rows = decisions.length > 0 ? `; DECISIONS.md ${decisions.join(", ")}` : "";
  return `${place}: the service has ${short(recorded)}, the emulator ${short(emulated)}${rows}`;
}

/** A case for each claim that was seen: refuted ones fail, those that cannot be compared are skipped. */
export function formatReplayJUnit(report: VerifyReport): string {
  const ofClaim = ({ differences }: ClaimReport) =>
    report.differences.filter(({ id, accepted }) => differences.includes(id) && accepted === null);
  const reasons = report.incomparable.map(({ reason, exchanges }) => `${exchanges}: ${reason}`).join("\n");
  const nothing = { name: "corpus", seconds: 0, failure: { message: "nothing was compared", text: reasons } };
  const cases = report.claims
    .filter(({ verdict }) => verdict !== "unseen")
    .map((claim) => ({
      name: claim.claim,
      seconds: 0,
      ...(claim.verdict === "refuted" && {
        failure: {
          message: `${ofClaim(claim).length} differences`,
          text: ofClaim(claim)
            .map((one) => `${one.id}\n  ${describeDifference(one)}`)
            .join("\n"),
        },
      }),
      ...(claim.verdict === "not comparable" && { skipped: claim.reasons.join("; ") || "it cannot be compared" }),
    }));
  return formatJUnit("svc verify replay", report.compared === 0 ? [nothing, ...cases] : cases);
}

const cell = (text: string): string => text.replace(/[|\\`<>[\]]/g, (char) => `\\${char}`).replace(/\s+/g, " ");

/** The report as a comment of a pull request. */
export function formatReplayMarkdown(report: VerifyReport): string {
  const { summary, drift, compared, exchanges, incomparable, differences } = report;
  const accepted = differences.filter((one) => one.accepted !== null);
  const open = differences.filter((one) => one.accepted === null);
  const row = (one: ReportedDifference, last: string) =>
    `| ${cell(one.id)} | ${cell(one.basis)} | ${cell(short(one.recorded))} | ${cell(short(one.emulated))} | ${last} |`;
  return [
    `### svc verify: ${drift > 0 ? `${drift} differences` : compared === 0 ? "nothing was compared" : "no drift"}`,
    "",
    `${compared} of ${exchanges} exchanges were compared. Claims: ${summary.confirmed} confirmed, ${summary.refuted} refuted, ${summary["not comparable"]} not comparable, ${summary.unseen} unseen.`,
    ...(compared === 0 ? ["", ...incomparable.map((one) => `- ${one.exchanges}: ${cell(one.reason)}`)] : []),
    ...(open.length === 0
      ? []
      : [
          "",
          "| difference | basis | service | emulator | times |",
          "|---|---|---|---|---|",
          ...open.map((one) => row(one, String(one.count))),
        ]),
    ...(accepted.length === 0
      ? []
      : [
          "",
          "| accepted | basis | service | emulator | reason |",
          "|---|---|---|---|---|",
          ...accepted.map((one) => row(one, cell(one.accepted!))),
        ]),
    "",
  ].join("\n");
}
