import type { Context } from "../../../command.ts";
import { annotate, formatJUnit, shouldAnnotate } from "../../../output/ci.ts";
import { bold, cyan, dim, green, red, type StyledLine, type StyledText, yellow } from "../../../output/styled.ts";
import { type CheckResult, countCheckResults, describeCounts, isUnchecked } from "../check.ts";
import type { ReceiverDiagnosis } from "./diagnosis.ts";
import { type ReceiverLanguage, receiverMistakes } from "./mistakes.ts";
import type { ReceiverCheckResult } from "./run.ts";

interface CertifyOutcome {
  readonly url: string;
  readonly language: ReceiverLanguage | undefined;
  readonly items: readonly ReceiverCheckResult[];
  readonly diagnoses: readonly ReceiverDiagnosis[];
  readonly seconds: number;
  /** Paths of the bodies that --keep has written, by the ID of their check. */
  readonly files: ReadonlyMap<string, readonly string[]>;
}

/** Outcome of a run, as in the JSON output. */
export type CertifyReport = ReturnType<typeof createCertifyReport>;

export function createCertifyReport({ url, language, items, diagnoses, seconds, files }: CertifyOutcome) {
  const counts = countCheckResults(items);
  const findings = diagnoses.flatMap(({ mistake, checks }) => {
    // The report omits checks that ran only because other checks depend on them.
    const ownItems = items.filter(({ check }) => checks.includes(check.id));
    if (ownItems.length === 0) return [];
    const { title, fix, code } = receiverMistakes[mistake];
    return {
      mistake,
      result: ownItems.find(({ result }) => result === "failed")?.result ?? ("warning" as const),
      title,
      fix,
      code: (language && code?.[language]) ?? null,
      checks: ownItems.map(({ check }) => check.id),
    };
  });
  const hasFailed = counts.failed > 0 || isUnchecked(items) || items.some(({ isCutOff }) => isCutOff);
  return {
    url,
    // A check that the time limit cut off can still fail, so the run does not pass.
    result: hasFailed ? ("failed" as const) : ("passed" as const),
    language: language ?? null,
    counts,
    seconds,
    findings,
    checks: items.map(
      ({ check: { id, summary, basis, reason }, result, detail, exchanges, durationMs, receiverEnd }) => {
        const response = exchanges.at(-1)?.response;
        return {
          id,
          result,
          summary,
          detail,
          basis,
          reason,
          mistake: findings.findLast(({ checks }) => checks.includes(id))?.mistake ?? null,
          deliveries: exchanges.length,
          status: response?.status ?? null,
          error: response?.error?.message ?? null,
          receiver_end: receiverEnd ?? null,
          duration_ms: durationMs,
          response_body: response?.body || null,
          files: files.get(id) ?? [],
        };
      },
    ),
  };
}

const columns = ["id", "result", { name: "detail", shrinkPriority: 1, minWidth: 16 }, "basis", "mistake"] as const;

/** Prints the report in the format of the run, and the failures as annotations in GitHub Actions. */
export async function printReport(report: CertifyReport, { output, host, globals, argv }: Context): Promise<void> {
  const { checks, findings, ...sum } = report;
  if (output.format === "ndjson") {
    for (const check of checks) await output.printDocument({ type: "check", ...check });
    for (const finding of findings) await output.printDocument({ type: "finding", ...finding });
    await output.printDocument({ type: "result", ...sum });
  } else if (output.isText && (host.stdout.isTTY === true || globals.format === "table")) {
    await output.print(...checks.map(formatCheckLine), ...formatFindings(report));
  } else {
    await output.show(report, { rows: "checks", columns });
    if (output.format === "table") for (const line of formatFindings(report)) await output.note(line);
  }
  if (!shouldAnnotate(host.env, argv)) return;
  for (const { title, fix, mistake, checks: ids, result } of findings)
    if (result === "failed")
      await annotate(host, { code: mistake, message: `${title} (${ids.join(", ")})`, hint: fix });
}

const resultStyles: Readonly<Record<CheckResult, (text: string) => StyledText>> = Object.freeze({
  passed: green,
  failed: red,
  warning: yellow,
  not_checked: dim,
});

function formatCheckLine({ id, summary, result, detail }: CertifyReport["checks"][number]): StyledLine {
  const mark = resultStyles[result](result.replace("_", " ").padEnd("not checked".length));
  return [mark, `  ${summary}`, dim(` (${result === "passed" ? id : `${id}: ${detail}`})`)];
}

function formatFindings({ findings, counts, seconds, url }: CertifyReport): StyledLine[] {
  const lines = findings.flatMap(({ title, fix, code, checks, result, mistake }): StyledLine[] => [
    "",
    [result === "failed" ? red(bold(title).text) : yellow(title), dim(` (${mistake})`)],
    `  ${fix}`,
    ...(code === null ? [] : [["  ", cyan(code)]]),
    [dim(`  Checks: ${formatShortList(checks)}`)],
  ]);
  return [...lines, "", [bold(`${url}: ${describeCounts(counts)}`), ` in ${seconds} s`]];
}

const formatShortList = (ids: readonly string[]): string =>
  ids.length <= 5 ? ids.join(", ") : `${ids.slice(0, 4).join(", ")} and ${ids.length - 4} more`;

export const formatReceiverJUnitReport = ({ checks, findings }: CertifyReport): string =>
  formatJUnit(
    "svc webhooks certify",
    checks.map(({ id, summary, result, detail, mistake, duration_ms }) => {
      const finding = findings.find((finding) => finding.mistake === mistake);
      const lines = [detail, finding?.title, finding?.fix, finding?.code].filter((line) => typeof line === "string");
      return {
        name: `${id}: ${summary}`,
        className: `webhooks.${id.split(".")[0]}`,
        seconds: duration_ms / 1_000,
        ...(result === "failed" && { failure: { message: detail, text: lines.join("\n") } }),
        ...(result === "not_checked" && { skipReason: detail }),
      };
    }),
  );
