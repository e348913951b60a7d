import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type * as z from "zod";
import { restoreExactNumbers, toPlainNumbers } from "../../base/json.ts";
import { lookupTable, memoize } from "../../base/object.ts";
import { pluralize } from "../../base/text.ts";
import { parseJson } from "../../client/body.ts";
import { getFsErrorReason, isFsError } from "../../files/disk.ts";
import { UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { decodeText, formatSource } from "./encoding.ts";

const mebibyte = 1024 * 1024;

/** An exported state has this limit, too. Larger rows and uploads are read in pieces (`openInput`). */
const maxInputBytes = 500 * mebibyte;

const maxSeedBytes = 64 * mebibyte;

export class InputTooLargeError extends UsageError {}

/** Contents of pipes, by path, because a command reads its input again after a prompt. */
const getPipeContents = memoize((_: Host) => new Map<string, Buffer>());

/**
 * Reads the bytes of a file, or of standard input for `-`. A pipe is read until its writer closes it, and a device up
 * to the limit. Throws UsageError if there is nothing to read or too much.
 */
export async function readInput(host: Host, path: string, flag: string, maxBytes = maxInputBytes): Promise<Buffer> {
  const known = getPipeContents(host).get(path);
  if (known !== undefined) return known;
  const isPipe = await stat(resolve(host.cwd, path)).then(
    (stats) => stats.isFIFO(),
    () => false,
  );
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of await openInput(host, path, flag)) {
    size += chunk.byteLength;
    if (size > maxBytes)
      throw new InputTooLargeError(`${flag}: ${path} is too large (limit: ${maxBytes / mebibyte} MiB)`);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (isPipe) getPipeContents(host).set(path, bytes);
  return bytes;
}

export const readText = async (host: Host, path: string, flag: string, maxBytes?: number): Promise<string> =>
  decodeText(await readInput(host, path, flag, maxBytes), path, flag);

/** Reads the single line of a file or of standard input, without its line break. */
export async function readSecret(host: Host, path: string, flag: string, label: string): Promise<string> {
  const secret = (await readText(host, path, flag)).replace(/\r?\n$/, "");
  const source = formatSource(path);
  if (secret.trim() === "") throw new UsageError(`${flag}: ${source} is empty, expected ${label}`);
  if (/[\r\n]/.test(secret)) throw new UsageError(`${flag}: ${source} must be a single line`);
  return secret;
}

export async function openInput(host: Host, path: string, flag: string): Promise<AsyncIterable<Uint8Array>> {
  if (path === "-") return readPipedInput(host, flag);
  return readPieces(await requireFile(host, path, flag), path, flag);
}

async function* readPieces(absolute: string, path: string, flag: string): AsyncGenerator<Uint8Array> {
  try {
    // Larger pieces than Node's default reduce the overhead of hashing a gigabyte.
    yield* createReadStream(absolute, { highWaterMark: 256 * 1024 });
  } catch (cause) {
    throwUnreadable(path, flag, cause as NodeJS.ErrnoException);
  }
}

/** Returns the absolute path. Throws a UsageError that names the flag for a folder or an unreadable file. */
export async function requireFile(host: Host, path: string, flag: string): Promise<string> {
  if (path === "") throw new UsageError(`${flag} must not be empty`);
  const absolute = resolve(host.cwd, path);
  const stats = await stat(absolute).catch((cause) => throwUnreadable(path, flag, cause));
  if (stats.isDirectory()) throw new UsageError(`${flag}: ${path} is a folder, not a file`);
  // A socket cannot be opened by its path, for example /dev/stdin of a child process of Node.
  if (stats.isSocket())
    throw new UsageError(`${flag}: ${path} is a socket, not a file`, { hint: "For standard input, use -." });
  return absolute;
}

/** Reports whether a seed is the path of a file, not a name or an inline seed. */
export const isSeedFile = (seed: unknown): seed is string =>
  typeof seed === "string" && seed !== "demo" && seed !== "empty";

export const readSeedDocument = async (host: Host, path: string): Promise<object> =>
  (await readDocument(host, path, "--seed", maxSeedBytes)) as object;

/** Reads any JSON document. Throws a UsageError that names the flag. */
export async function readDocument(host: Host, path: string, flag: string, maxBytes?: number): Promise<unknown> {
  const text = await readText(host, path, flag, maxBytes).catch((error: unknown) => {
    if (!(error instanceof UsageError) || !/^\s*[@{[]/.test(path)) throw error;
    throw error.withHint(`Use ${flag} FILE, ${flag} - for a pipe, or --set PATH=VALUE for values.`);
  });
  const name = formatSource(path);
  if (text.trim() === "") throw new UsageError(`${flag}: ${name} is empty, expected a JSON document`);
  try {
    return restoreExactNumbers(text, parseJson(text));
  } catch (cause) {
    throw new UsageError(`${flag}: ${name} is not JSON (${(cause as Error).message})`, { cause });
  }
}

async function* readPipedInput({ stdin }: Host, flag: string): AsyncGenerator<Uint8Array> {
  if (stdin.isTTY) throw new UsageError(`${flag}: standard input is a terminal. Pipe the data, or use a file`);
  for await (const chunk of stdin) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

const readErrorMessages = lookupTable<string>({ ENOENT: "no such file", EACCES: "permission denied" });

function throwUnreadable(path: string, flag: string, cause: NodeJS.ErrnoException): never {
  const reason =
    readErrorMessages[cause.code ?? ""] ?? (isFsError(cause) ? getFsErrorReason(cause) : (cause.code ?? cause.message));
  throw new UsageError(`${flag}: cannot read ${path}: ${reason}`, { cause });
}

interface FieldAssignment {
  readonly path: readonly string[];
  readonly text: string;
}

/** Parses `a.b.0.c=value`. `a[0]` is equivalent to `a.0`. */
export function parseAssignment(text: string, flag = "--set"): FieldAssignment {
  const equals = text.indexOf("=");
  const path = text
    .slice(0, equals)
    .replace(/\[(\d+)\]/g, ".$1")
    .split(".");
  if (equals < 1 || path.includes(""))
    throw new UsageError(`${flag} must be PATH=VALUE (address.city=Oslo), got "${text}"`);
  if (path.some((step) => ["__proto__", "constructor", "prototype"].includes(step))) {
    throw new UsageError(`${flag} cannot write to ${path.join(".")}`);
  }
  return { path, text: text.slice(equals + 1) };
}

/** Values that look like numbers, true, false, null or JSON are parsed. All others are strings. */
const applyAssignments = (
  document: unknown,
  assignments: readonly FieldAssignment[],
  isText: (assignment: FieldAssignment) => boolean,
): unknown =>
  assignments.reduce<unknown>(
    (root, assignment) =>
      setAtPath(root, assignment.path, isText(assignment) ? assignment.text : parseValue(assignment.text)),
    document,
  );

/** If the schema requires a string, the value is used as typed, so that `--set zipcode=0150` needs no quotes. */
export function applyTypedAssignments(
  schema: z.ZodType | undefined,
  document: unknown,
  assignments: readonly FieldAssignment[],
): unknown {
  const first = applyAssignments(document, assignments, () => false);
  const parsed = assignments.length > 0 ? schema?.safeParse(toPlainNumbers(first)) : undefined;
  if (!parsed || parsed.success) return first;
  const invalidFields = new Set(
    parsed.error.issues.filter(({ code }) => code === "invalid_type").map(({ path }) => path.map(String).join(".")),
  );
  const isInvalid = ({ path }: FieldAssignment) => invalidFields.has(path.join("."));
  return assignments.some(isInvalid) ? applyAssignments(document, assignments, isInvalid) : first;
}

export function parseValue(text: string): unknown {
  try {
    return restoreExactNumbers(text, parseJson(text));
  } catch (cause) {
    if (!jsonStart.test(text)) return text;
    throw new UsageError(`--set: ${text} is not valid JSON (${(cause as Error).message})`, {
      hint: "The shell may have removed quotes. Quote the value for the shell, or write a string as a JSON string.",
      cause,
    });
  }
}

/** Matches `{"`, `{a:`, `[{` and `["`, but not `[draft] title`. */
const jsonStart = /^\s*(?:\{\s*(?:["}]|\w+\s*:)|\[\s*[{"[])/;

function setAtPath(node: unknown, path: readonly string[], value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const isList = /^\d+$/.test(step) && (Array.isArray(node) || node === undefined || node === null);
  if (isList) {
    const list = [...((node as unknown[] | undefined | null) ?? [])];
    if (Number(step) > list.length)
      throw new UsageError(`--set: index ${step} is out of range; the list has ${pluralize(list.length, "item")}`);
    list[Number(step)] = setAtPath(list[Number(step)], rest, value);
    return list;
  }
  const object = typeof node === "object" && node !== null ? (node as Record<string, unknown>) : {};
  return { ...object, [step]: setAtPath(Object.hasOwn(object, step) ? object[step] : undefined, rest, value) };
}
