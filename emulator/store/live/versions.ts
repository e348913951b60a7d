import { type Collection, type Migration, StateFormatError } from "../port.ts";

/** The version of the rows of each collection, from 1. */
export type Versions = Readonly<Record<string, number>>;

const listMigrations = (collection: Collection): readonly Migration[] =>
  collection.kind === "rows" ? (collection.migrate ?? []) : [];

const getVersion = (collection: Collection): number => listMigrations(collection).length + 1;

export const listVersions = (collections: readonly Collection[]): Versions =>
  Object.fromEntries(collections.map((collection) => [collection.name, getVersion(collection)]));

/** Names the version of svc that wrote a document, if the document names it. */
export const formatWriter = (version: string | undefined): string =>
  version === undefined ? "another version of svc" : `svc ${version}`;

export class Upgrade {
  /** False if everything has the current version. */
  readonly isNeeded: boolean;
  readonly #steps = new Map<string, readonly Migration[]>();

  /**
   * Fails with StateFormatError if a collection is unknown or newer than this svc supports. `writer` is the version of
   * svc that wrote the rows, if it is known.
   */
  constructor(versions: Versions, collections: readonly Collection[], writer?: string) {
    const reject = (what: string): never => {
      throw new StateFormatError(`${formatWriter(writer)} wrote it, with ${what}`, { repairable: false });
    };
    const collectionsByName = new Map(collections.map((collection) => [collection.name, collection]));
    for (const [name, version] of Object.entries(versions)) {
      const collection =
        collectionsByName.get(name) ?? reject(`a collection ${name}, which this version of svc does not have`);
      const supportedVersion = getVersion(collection);
      if (version > supportedVersion)
        reject(`version ${version} of ${name}; this version of svc reads versions up to ${supportedVersion}`);
    }
    for (const collection of collections) {
      const pending = listMigrations(collection).slice((versions[collection.name] ?? 1) - 1);
      if (pending.length > 0) this.#steps.set(collection.name, pending);
    }
    this.isNeeded = this.#steps.size > 0;
  }

  /** Returns a value that is not an object unchanged, because the schema rejects it. */
  upgradeRow(collection: string, row: unknown): unknown {
    const steps = this.#steps.get(collection);
    if (steps === undefined || typeof row !== "object" || row === null) return row;
    try {
      return steps.reduce((current, step) => step(current as Readonly<Record<string, unknown>>), row);
    } catch (cause) {
      throw new SchemaMismatchError(`a row of ${collection} cannot be migrated to this version`, cause);
    }
  }
}

/**
 * A row does not match its collection. If the checksum matches, the cause is not damage but a bug, or svc did not write
 * the file.
 */
export class SchemaMismatchError extends StateFormatError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause, repairable: false });
  }
}
