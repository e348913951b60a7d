import { InvalidResponseError } from "../../client/errors.ts";
import type { ApiResponse } from "../../client/response.ts";
import { CommandFailedError } from "../process/failure.ts";

/** Throws InvalidResponseError for a partial document, or for an empty one unless it is allowed. */
export function getDocumentBytes(
  { status, value }: Pick<ApiResponse, "status" | "value">,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): AsyncIterable<Uint8Array> {
  if (status === 206) throw new InvalidResponseError(status, "The service responded 206 with a part of the document.");
  const bytes = value as AsyncIterable<Uint8Array>;
  return mayBeEmpty && status !== 204 && status !== 205 ? bytes : requireContent(bytes, status);
}

async function* requireContent(bytes: AsyncIterable<Uint8Array>, status: number): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const chunk of bytes) {
    isEmpty &&= chunk.byteLength === 0;
    yield chunk;
  }
  if (isEmpty) throw createEmptyResponseError("a document", status);
}

export const createEmptyResponseError = (content: string, status: number): InvalidResponseError =>
  new InvalidResponseError(status, `Expected ${content}, but the service responded ${status} with an empty body.`);

type ShellVariables = Readonly<Record<string, string | undefined>>;

export const variableFormats = ["bash", "zsh", "fish", "powershell", "dotenv", "github"] as const;
export type VariableFormat = (typeof variableFormats)[number];

interface Writer {
  readonly set: (name: string, value: string) => string;
  readonly unset: (name: string) => string;
}

/** Within single quotes, a POSIX shell interprets nothing but the closing quote. */
const posix: Writer = {
  set: (name, value) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
  unset: (name) => `unset ${name}`,
};

const writers: Readonly<Record<VariableFormat, Writer>> = {
  bash: posix,
  zsh: posix,
  // The only escapes in quotes are \' and \\ (https://fishshell.com/docs/current/language.html#quotes).
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, "\\$&")}'`,
    unset: (name) => `set -e ${name}`,
  },
  // A quote is doubled, including typographic quotes (about_Quoting_Rules).
  powershell: {
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
  },
  // All readers of dotenv files accept bare words, and single quotes around values without a single quote. An empty
  // value is not set.
  dotenv: { set: (name, value) => `${name}=${formatDotenvValue(name, value)}`, unset: (name) => `${name}=` },
  // Lines for $GITHUB_ENV. The file has no quoting, and a step cannot unset earlier variables.
  github: { set: formatGitHubLines, unset: (name) => `${name}=` },
};

/** Each variable ends with a line break. An undefined value unsets its variable. */
export function formatVariables(variables: ShellVariables, format: VariableFormat): string {
  const { set: writeAssignment, unset } = writers[format];
  return Object.entries(variables)
    .map(([name, value]) => `${value === undefined ? unset(name) : writeAssignment(name, value)}\n`)
    .join("");
}

function formatDotenvValue(name: string, value: string): string {
  if (/^[\w.:/@%+=,-]*$/.test(value)) return value;
  if (!/['\r\n]/.test(value)) return `'${value}'`;
  throw new CommandFailedError("failed", "not_writable", `The value of ${name} cannot be written into a .env file.`, {
    hint: "It contains a quote or a line break, which programs read differently. Choose another --shell.",
  });
}

/** A delimiter that the value does not contain encloses several lines (https://docs.github.com/actions). */
function formatGitHubLines(name: string, value: string): string {
  if (!/[\r\n]/.test(value)) return `${name}=${value}`;
  let end = "end";
  while (value.includes(end)) end += "_";
  return `${name}<<${end}\n${value}\n${end}`;
}
