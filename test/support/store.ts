import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import * as z from "zod";
import { defineMapping, defineRows, type Store, type Transaction } from "../../emulator/store/port.ts";
import { type Disk, type DiskFile, systemDisk } from "../../src/files/disk.ts";

const Person = z.strictObject({ id: z.int(), name: z.string(), age: z.int().optional(), tags: z.array(z.string()) });
export type Person = z.infer<typeof Person>;

/** Two made-up collections, one of each kind. */
export const people = defineRows<Person, "age" | "tag">({
  name: "people",
  schema: Person,
  key: (row) => row.id,
  indexes: { age: (row) => row.age, tag: (row) => row.tags },
});
export const owners = defineMapping("owners");
export const collections = [people, owners];

export const person = (id: number, rest: Partial<Person> = {}): Person => ({ id, name: `p${id}`, tags: [], ...rest });

/** A folder of its own, removed after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-store-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Replaces everything with a new state, as a reset of the emulator does. */
export async function reset(store: Store, fill: (tx: Transaction) => Promise<void> | void): Promise<void> {
  const next = store.createEmptyStore();
  await next.transaction("reset", fill);
  await store.takeOver(next);
}

/** Replaces everything with an exported document, as an import does. */
export const replaceWith = async (store: Store, document: unknown): Promise<void> =>
  store.takeOver(store.parseDocument(document));

/** The document that a store exports. */
export async function exported(store: Store): Promise<Content> {
  let text = "";
  for await (const piece of store.export()) text += piece;
  return JSON.parse(text);
}

/** Everything a store holds, as its own export tells; who wrote it, and in which form, is left out. */
export async function contentOf(store: Store): Promise<Content> {
  const { sequences, rows, mappings } = await exported(store);
  return { sequences, rows, mappings };
}

export interface Content {
  readonly sequences: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, readonly object[]>>;
  readonly mappings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export type DiskCall =
  | "create"
  | "write"
  | "truncate"
  | "sync"
  | "datasync"
  | "rename"
  | "link"
  | "remove"
  | "syncFolder";

/**
 * The real file system with a gate before every call that changes something. `before` may throw, or resolve with a
 * number of bytes: then a write is cut short there and fails, as on a disk that is full.
 */
export function gatedDisk(before: (call: DiskCall, path: string) => unknown): Disk {
  const fileOf = (file: DiskFile, path: string): DiskFile => ({
    ...file,
    async write(bytes, position) {
      const cut = await before("write", path);
      if (typeof cut !== "number") return file.write(bytes, position);
      await file.write(bytes.subarray(0, cut), position);
      throw new Error("no space left on device");
    },
    async truncate(length) {
      await before("truncate", path);
      await file.truncate(length);
    },
    async sync() {
      await before("sync", path);
      await file.sync();
    },
    async datasync() {
      await before("datasync", path);
      await file.datasync();
    },
  });
  return {
    ...systemDisk,
    async create(path) {
      await before("create", path);
      return fileOf(await systemDisk.create(path), path);
    },
    open: async (path, access) => fileOf(await systemDisk.open(path, access), path),
    async rename(from, to) {
      await before("rename", to);
      await systemDisk.rename(from, to);
    },
    async link(path, second) {
      await before("link", second);
      await systemDisk.link(path, second);
    },
    async remove(path) {
      await before("remove", path);
      await systemDisk.remove(path);
    },
    async syncFolder(path) {
      await before("syncFolder", path);
      await systemDisk.syncFolder(path);
    },
  };
}
