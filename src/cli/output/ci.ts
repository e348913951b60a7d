import { appendFile, realpath, stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { lookupTable } from "../../base/object.ts";
import type { ErrorExplanation } from "../process/exit.ts";
import { type Host, write } from "../process/host.ts";
import { findReturnedSecrets, redactSentSecrets } from "../process/redact.ts";
import { escapeControlCharacters, escapeMultilineText, neutralizeCommands } from "./control-characters.ts";

/**
 * Reports whether to print workflow commands of GitHub Actions (DECISIONS.md, L19). They go to standard error, because
 * the runner reads both streams and standard output contains only data.
 */
export const shouldAnnotate = (env: Host["env"], argv: readonly string[] = []): boolean =>
  env.GITHUB_ACTIONS === "true" && !argv.includes("--no-annotations");

export const annotate = (
  host: Host,
  { code, message, hint }: Pick<ErrorExplanation, "code" | "message" | "hint">,
): Promise<void> =>
  printAnnotation(host, "error", { title: `svc: ${code}` }, [message, ...(hint === undefined ? [] : [hint])]);

/** Annotates a line of a file, which the runner finds by its path in the repository. */
export async function annotateAt(
  host: Host,
  { file, line, column: col }: { readonly file: string; readonly line: number; readonly column: number },
  message: string,
): Promise<void> {
  const workspace = await realpath(host.env.GITHUB_WORKSPACE ?? host.cwd).catch(() => host.cwd);
  await printAnnotation(host, "error", { file: relative(workspace, resolve(host.cwd, file)), line, col }, [message]);
}

async function printAnnotation(
  host: Host,
  level: "error" | "warning",
  properties: object,
  lines: readonly string[],
): Promise<void> {
  const pairs = Object.entries(properties).map(([name, value]) => {
    return `${name}=${escapeProperty(escapeControlCharacters(String(value)))}`;
  });
  const message = lines.map((line) => escapeControlCharacters(redactSentSecrets(host, line))).join("\n");
  await write(host.stderr, `::${level} ${pairs.join(",")}::${escapeData(message)}\n`);
}

/** Masks the secrets in all later output of the runner. Prints nothing without such a runner. */
export async function maskSecrets(host: Host, secrets: readonly (string | undefined)[]): Promise<void> {
  if (!shouldAnnotate(host.env)) return;
  for (const secret of new Set(secrets)) {
    if (secret) await write(host.stderr, `::add-mask::${escapeData(secret)}\n`);
  }
}

/** Masks the secrets of a response. It can be long, so it is only searched for such a runner. */
export async function maskReturnedSecrets(host: Host, value: unknown): Promise<void> {
  if (shouldAnnotate(host.env)) await maskSecrets(host, findReturnedSecrets(value));
}

/** Commands in the output of the group remain effective, because test runners annotate failures with them. */
export async function printInGroup<T>(host: Host, title: string, work: () => Promise<T>): Promise<T> {
  if (!shouldAnnotate(host.env)) return work();
  await write(host.stderr, `::group::${escapeData(escapeMultilineText(title))}\n`);
  try {
    return await work();
  } finally {
    await write(host.stderr, "::endgroup::\n");
  }
}

export async function setOutput(host: Host, name: string, value: string): Promise<void> {
  const path = host.env.GITHUB_OUTPUT;
  if (!shouldAnnotate(host.env) || !path) return;
  await appendFile(path, `${name}=${value}\n`).catch(warnAboutFile(host, `${name} to GITHUB_OUTPUT`));
}

/** The work of the command is done, so a file of the runner that cannot be written does not fail it. */
const warnAboutFile = (host: Host, what: string) => (error: NodeJS.ErrnoException) =>
  printAnnotation(host, "warning", { title: "svc" }, [`Cannot write ${what} (${error.code})`]);

/** Prints lines in a collapsible group. Each line is indented behind a bar, so that none is a workflow command. */
export async function printGroup(host: Host, title: string, lines: readonly string[]): Promise<void> {
  const rows = lines.map((line) => `| ${neutralizeCommands(escapeControlCharacters(line))}\n`).join("");
  await write(host.stderr, `::group::${escapeData(escapeMultilineText(title))}\n${rows}::endgroup::\n`);
}

const maxSummaryBytes = 1024 * 1024;

export async function addSummary(host: Host, markdown: string): Promise<void> {
  const path = host.env.GITHUB_STEP_SUMMARY;
  if (!path) return;
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size + Buffer.byteLength(markdown) > maxSummaryBytes) return;
  await appendFile(path, markdown).catch(warnAboutFile(host, "the summary to GITHUB_STEP_SUMMARY"));
}

export const formatMarkdownCell = (text: string): string =>
  escapeControlCharacters(text.replace(/[\r\n]+/g, " ")).replace(/[\\|<>`*_[\]]/g, (mark) => `\\${mark}`);

const escapeData = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
const escapeProperty = (text: string): string => escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

/** Test case of a report. A case has passed unless it has a failure or was skipped. */
interface JUnitCase {
  readonly name: string;
  readonly className?: string;
  readonly seconds: number;
  readonly failure?: { readonly message: string; readonly text: string };
  readonly skipReason?: string;
}

/** Formats a JUnit XML report with one suite, as CI servers read it. Names and messages can contain untrusted text. */
export function formatJUnit(suiteName: string, cases: readonly JUnitCase[]): string {
  // Jenkins's schema has the number of skipped cases only per suite.
  const skippedCount = String(cases.filter((testCase) => testCase.skipReason !== undefined).length);
  const shared = {
    tests: String(cases.length),
    failures: String(cases.filter(({ failure }) => failure !== undefined).length),
    errors: "0",
    time: formatSeconds(cases.reduce((sum, { seconds }) => sum + seconds, 0)),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${formatAttributes(shared)}>`,
    `  <testsuite${formatAttributes({ name: suiteName, ...shared, skipped: skippedCount })}>`,
    ...cases.map((testCase) => formatCase(testCase, suiteName)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function formatCase({ name, className, seconds, failure, skipReason }: JUnitCase, suiteName: string): string {
  const attributes = formatAttributes({ name, classname: className ?? suiteName, time: formatSeconds(seconds) });
  const content = [
    ...(failure
      ? [`<failure${formatAttributes({ message: failure.message })}>${escapeMarkup(failure.text)}</failure>`]
      : []),
    ...(skipReason === undefined ? [] : [`<skipped${formatAttributes({ message: skipReason })}/>`]),
  ];
  if (content.length === 0) return `    <testcase${attributes}/>`;
  return [`    <testcase${attributes}>`, ...content.map((line) => `      ${line}`), "    </testcase>"].join("\n");
}

const formatSeconds = (seconds: number): string => seconds.toFixed(3);

const formatAttributes = (attributes: Readonly<Record<string, string>>): string =>
  Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeMarkup(value).replaceAll("\n", "&#10;").replaceAll("\t", "&#9;")}"`)
    .join("");

const entities = lookupTable<string>({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });

/**
 * Escapes untrusted text for elements and double-quoted attributes of XML and HTML. XML cannot represent most control
 * characters, so they become visible escapes.
 */
export const escapeMarkup = (text: string): string =>
  escapeMultilineText(text).replace(/[&<>"\ufffe\uffff]/g, (char) => entities[char] ?? "\ufffd");
