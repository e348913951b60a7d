/** No service hands out such words as identifiers; taken for one, the heading would be mapped. */
const heading =
  /^(?:[a-z]{1,20}[ _.-]){0,3}(?:(?:e-?)?mail|address|id|uuid|guid|token|team|tenant|client|user|identifier|key|hash|kind)s?$/i;
const camelHeading = /^[a-z]{1,20}(?:[A-Z][a-z]{1,20}){0,3}(?:Email|Address|Id|ID|Uuid|UUID|Token|Key|Hash)s?$/;

export const isHeadingText = (text: string): boolean => heading.test(text) || camelHeading.test(text);

export const headingProblem = (text: string): string =>
  `the heading of its column. Select the column with --column "${text}"`;

/** Whether a row was refused as the heading: who leaves it out takes the first column, whatever it holds. */
export const isHeading = (problem: string): boolean => problem.includes("with --column");
