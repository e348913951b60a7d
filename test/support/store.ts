import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import * as z from "zod";
import { defineMapping, defineRows, type Store, type Transaction } from "../../emulator/store/port.ts";
import { type Disk, type DiskFile, systemDisk } from "../../src/files/disk.ts";
import { addCleanup } from "./cleanup.ts";

const Person = z.strictObject({ id: z.int(), name: z.string(), age: z.int().optional(), tags: z.array(z.string()) });
export type Person = z.infer<typeof Person>;

/** Sample collections, one of each kind. */
export const people = defineRows<Person, "age" | "tag">({
  name: "people",
  schema: Person,
  key: (row) => row.id,
  indexes: { age: (row) => row.age, tag: (row) => row.tags },
});
export const owners = defineMapping("owners");
export const collections = [people, owners];

export const createPerson = (id: number, rest: Partial<Person> = {}): Person => ({
  id,
  name: `p${id}`,
  tags: [],
  ...rest,
});

/** Creates a folder that is removed after the test. */
export async function createTemporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-store-"));
  addCleanup(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Replaces the content with a new state, as a reset of the emulator does. */
export async function resetStore(store: Store, fill: (tx: Transaction) => void): Promise<void> {
  const next = store.createEmptyStore();
  await next.transaction("reset", fill);
  await store.replaceWith(next);
}

/** Replaces the content with an exported document, as an import does. */
export const importDocument = async (store: Store, document: unknown): Promise<void> =>
  store.replaceWith(store.parseDocument(document));

/** Exports the document of a store. */
export async function exportDocument(store: Store): Promise<StoreContent> {
  let text = "";
  for await (const piece of store.export()) text += piece;
  return JSON.parse(text);
}

/** Exports the content of a store without the writer and the format version. */
export async function exportContent(store: Store): Promise<StoreContent> {
  const { sequences, rows, mappings } = await exportDocument(store);
  return { sequences, rows, mappings };
}

export interface StoreContent {
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
 * Wraps the real file system with a hook before each modifying call. `before` can throw or resolve with a number of
 * bytes, after which a write fails as on a full disk.
 */
export function createGatedDisk(beforeCall: (call: DiskCall, path: string) => unknown): Disk {
  const fileOf = (file: DiskFile, path: string): DiskFile => ({
    ...file,
    async write(bytes, position) {
      const cut = await beforeCall("write", path);
      if (typeof cut !== "number") return file.write(bytes, position);
      await file.write(bytes.subarray(0, cut), position);
      throw new Error("no space left on device");
    },
    async truncate(length) {
      await beforeCall("truncate", path);
      await file.truncate(length);
    },
    async sync() {
      await beforeCall("sync", path);
      await file.sync();
    },
    async datasync() {
      await beforeCall("datasync", path);
      await file.datasync();
    },
  });
  return {
    ...systemDisk,
    async create(path) {
      await beforeCall("create", path);
      return fileOf(await systemDisk.create(path), path);
    },
    open: async (path, access) => fileOf(await systemDisk.open(path, access), path),
    async rename(from, to) {
      await beforeCall("rename", to);
      await systemDisk.rename(from, to);
    },
    async link(path, second) {
      await beforeCall("link", second);
      await systemDisk.link(path, second);
    },
    async remove(path) {
      await beforeCall("remove", path);
      await systemDisk.remove(path);
    },
    async syncFolder(path) {
      await beforeCall("syncFolder", path);
      await systemDisk.syncFolder(path);
    },
  };
}
