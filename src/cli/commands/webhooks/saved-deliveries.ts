import { constants } from "node:fs";
import { access, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { createFileAtomic } from "../../../files/atomic-write.ts";
import { formatFsError, formatSystemError, ignoreMissing, isFsError } from "../../../files/disk.ts";
import { makeFolder } from "../../../files/folders.ts";
import type { Context } from "../../command.ts";
import { readInput, readText } from "../../parse/body.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/** Delivery as received: its raw body and its headers by lower-case name. */
export interface SavedDelivery {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers of a connection or a body length. Each resent request gets its own. */
const connectionHeaders =
  /^(host|connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|expect|accept-encoding)$/;

/** Throws a UsageError that names the flag. Callers check the folder before anything is sent. */
export async function requireWritableFolder(folder: string, flag: string): Promise<void> {
  try {
    await access(await findNearestFolder(folder), constants.W_OK);
  } catch (cause) {
    if (!isFsError(cause)) throw cause;
    throw new UsageError(`${flag}: cannot write ${folder}: ${formatFsError(cause)}`, { cause });
  }
}

/**
 * Opens or creates a folder of deliveries. Each delivery has a file with the raw body (`0007-CONTRACT_SIGNED.json`),
 * which can be read, verified and replayed. A file next to it (`.headers`) has its headers, one per line.
 */
export async function openSavedDeliveries(folder: string) {
  // Payloads contain private messages, and custom headers can be secrets.
  await makeFolder(folder);
  const numbers = (await readdir(folder)).map((name) => Number(/^(\d{4,})-/.exec(name)?.[1] ?? 0));
  let last = numbers.reduce((max, number) => Math.max(max, number), 0);
  return {
    /**
     * Saves a delivery under the next free number, because other listeners can use the folder. Never replaces files and
     * never follows links. Returns the path of the body.
     */
    async add(activity: string, { body, headers }: SavedDelivery): Promise<string> {
      const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\n`);
      for (;;) {
        last += 1;
        const name = `${String(last).padStart(4, "0")}-${activity.replace(/[^A-Z0-9_]/g, "_").slice(0, 80)}`;
        const path = join(folder, `${name}.json`);
        // Headers are written first, so that every body has its headers.
        if (!(await createFileAtomic(getHeadersPath(path), lines.join(""), writeOptions))) continue;
        if (await createFileAtomic(path, body, writeOptions)) return path;
        await rm(getHeadersPath(path));
      }
    },
  };
}

/** The sender stores its deliveries. Waiting for the disk would delay the response. */
const writeOptions = { durable: false };

/** Lists the bodies that svc webhooks listen or certify wrote, oldest first. Names of certify have no numbers. */
export async function listSavedBodies(folder: string, flag: "--from" | "--received"): Promise<readonly string[]> {
  const names = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === "ENOTDIR" ? "it is not a folder" : formatSystemError(cause);
    throw new UsageError(`${flag}: cannot read ${folder}: ${reason}`, { cause });
  });
  const savedNames = new Set(names);
  const hasHeaders = (name: string) => name.endsWith(".json") && savedNames.has(getHeadersPath(name));
  const bodies = names.filter((name) => /^\d{4,}-.*\.json$/.test(name) || hasHeaders(name));
  return bodies.sort(compareNumerically).map((name) => join(folder, name));
}

/** Reads the payloads of a receiver from a folder in this format, or from a file with one payload per line. */
export async function readReceivedPayloads({ host }: Context, path: string): Promise<readonly string[]> {
  const absolute = resolve(host.cwd, path);
  if (path !== "-" && (await stat(absolute).catch(() => undefined))?.isDirectory()) {
    const files = await listSavedBodies(absolute, "--received");
    return Promise.all(files.map((file) => readFile(file, "utf8")));
  }
  return (await readText(host, path, "--received")).split("\n").filter((line) => line.trim() !== "");
}

/** Reads a body from a file or standard input, with the headers next to the file. */
export async function readDelivery({ host }: Context, path: string, name: string): Promise<SavedDelivery> {
  const body = await readInput(host, path, name);
  if (body.length === 0) throw new UsageError(`${name}: ${path} is empty, expected the body of a delivery`);
  return { body, headers: path === "-" ? {} : await readSavedHeaders(host, path) };
}

/** Returns no headers if there is no file next to the body. */
export const readSavedHeaders = async ({ cwd }: Host, path: string): Promise<Record<string, string>> =>
  parseHeaders((await readFile(resolve(cwd, getHeadersPath(path)), "utf8").catch(ignoreMissing)) ?? "");

export function parseHeaders(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]];
    }),
  );
}

export const selectForwardedHeaders = (headers: SavedDelivery["headers"]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !connectionHeaders.test(name)));

const { compare: compareNumerically } = new Intl.Collator("en", { numeric: true });

const getHeadersPath = (path: string): string => `${path.replace(/\.json$/, "")}.headers`;

/** Returns the folder, or its nearest existing parent. A path with a trailing slash must be a folder. */
async function findNearestFolder(folder: string): Promise<string> {
  const stats = await stat(`${folder}${sep}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && dirname(folder) !== folder) return undefined;
    throw error;
  });
  return stats ? `${folder}${sep}` : findNearestFolder(dirname(folder));
}
