import { lookupTable } from "../../base/object.ts";
import { escapeMultilineText } from "./control-characters.ts";

/** Test case of a report. A case has passed unless it has a failure or was skipped. */
export interface JUnitCase {
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
