import { formatJUnit } from "../../../output/junit.ts";
import { bold, cyan, dim, green, red, type StyledLine, type StyledText, yellow } from "../../../output/styled.ts";
import { type CheckCounts, type CheckResult, countResults, describeCounts } from "../check.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { Language } from "./language.ts";
import { mistakes } from "./mistakes.ts";
import type { CheckedItem } from "./run.ts";

/** The outcome of a run, as in JSON. */
export interface CertifyReport {
  readonly url: string;
  readonly result: "passed" | "failed";
  readonly language: Language | null;
  readonly counts: CheckCounts;
  readonly seconds: number;
  readonly findings: readonly ReportedFinding[];
  readonly checks: readonly ReportedCheck[];
}

interface ReportedFinding {
  readonly mistake: string;
  readonly result: "failed" | "warning";
  readonly title: string;
  readonly fix: string;
  readonly code: string | null;
  readonly checks: readonly string[];
}

interface ReportedCheck {
  readonly id: string;
  readonly result: CheckResult;
  readonly summary: string;
  readonly detail: string;
  readonly basis: string;
  readonly reason: string;
  readonly mistake: string | null;
  readonly deliveries: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly receiver_end: string | null;
  readonly duration_ms: number;
  readonly response_body: string | null;
  readonly files: readonly string[];
}

interface Outcome {
  readonly url: string;
  readonly language: Language | undefined;
  readonly items: readonly CheckedItem[];
  readonly diagnoses: readonly Diagnosis[];
  readonly seconds: number;
  readonly getFiles: (id: string) => readonly string[];
}

export const checkColumns = ["id", "result", { name: "detail", cut: 1, least: 16 }, "basis", "mistake"] as const;

export function createReport({ url, language, items, seconds, getFiles, ...given }: Outcome): CertifyReport {
  const counts = countResults(items);
  // Checks that only others depend on are not part of the report.
  const diagnoses = given.diagnoses.flatMap(({ mistake, checks }) => {
    const own = checks.filter((id) => items.some(({ check }) => check.id === id));
    return own.length === 0 ? [] : [{ mistake, checks: own }];
  });
  const mistakesByCheck = new Map(
    diagnoses.flatMap(({ mistake, checks }) => checks.map((id) => [id, mistake] as const)),
  );
  const hasFailed = ({ checks }: Diagnosis) =>
    items.some(({ check, result }) => result === "failed" && checks.includes(check.id));
  return {
    url,
    // A check that the time limit cut off may fail.
    result: counts.failed > 0 || items.some(({ isCutOff }) => isCutOff) ? "failed" : "passed",
    language: language ?? null,
    counts,
    seconds,
    findings: diagnoses.map((diagnosis) => {
      const { title, fix, code } = mistakes[diagnosis.mistake]!;
      return {
        mistake: diagnosis.mistake,
        result: hasFailed(diagnosis) ? "failed" : "warning",
        title,
        fix,
        code: (language && code?.[language]) ?? null,
        checks: diagnosis.checks,
      };
    }),
    checks: items.map((item) => toReportedCheck(item, mistakesByCheck.get(item.check.id), getFiles(item.check.id))),
  };
}

function toReportedCheck(item: CheckedItem, mistake: string | undefined, files: readonly string[]): ReportedCheck {
  const { check, result, detail, exchanges, durationMs } = item;
  const reply = exchanges.at(-1)?.reply;
  return {
    id: check.id,
    result,
    summary: check.summary,
    detail,
    basis: check.basis,
    reason: check.reason,
    mistake: mistake ?? null,
    deliveries: exchanges.length,
    status: reply?.status ?? null,
    error: reply?.error?.message ?? null,
    receiver_end: item.receiverEnd ?? null,
    duration_ms: durationMs,
    response_body: reply && reply.body !== "" ? reply.body : null,
    files,
  };
}

const marks: Readonly<Record<CheckResult, (text: string) => StyledText>> = Object.freeze({
  passed: green,
  failed: red,
  warning: yellow,
  not_checked: dim,
});

const columnWidth = "not checked".length;

export function checkLine({ check, result, detail }: CheckedItem): StyledLine {
  const mark = marks[result](result.replace("_", " ").padEnd(columnWidth));
  return [mark, `  ${check.summary}`, dim(` (${result === "passed" ? check.id : `${check.id}: ${detail}`})`)];
}

export function formatFindings({ findings, counts, seconds, url }: CertifyReport): StyledLine[] {
  const lines = findings.flatMap(({ title, fix, code, checks, result, mistake }): StyledLine[] => [
    "",
    [result === "failed" ? red(bold(title).text) : yellow(title), dim(` (${mistake})`)],
    `  ${fix}`,
    ...(code === null ? [] : [["  ", cyan(code)]]),
    [dim(`  Checks: ${formatShortList(checks)}`)],
  ]);
  return [...lines, "", [bold(`${url}: ${describeCounts(counts)}`), ` in ${seconds} s`]];
}

const maxListed = 5;

const formatShortList = (ids: readonly string[]): string =>
  ids.length <= maxListed
    ? ids.join(", ")
    : `${ids.slice(0, maxListed - 1).join(", ")} and ${ids.length - maxListed + 1} more`;

export const formatJunit = ({ checks, findings }: CertifyReport): string =>
  formatJUnit(
    "svc webhooks certify",
    checks.map(({ id, summary, result, detail, mistake, duration_ms }) => {
      const finding = findings.find((one) => one.mistake === mistake);
      const advice = finding ? [finding.title, finding.fix, ...(finding.code === null ? [] : [finding.code])] : [];
      return {
        name: `${id}: ${summary}`,
        className: `webhooks.${id.split(".")[0]}`,
        seconds: duration_ms / 1_000,
        ...(result === "failed" && { failure: { message: detail, text: [detail, ...advice].join("\n") } }),
        ...(result === "not_checked" && { skipped: detail }),
      };
    }),
  );
