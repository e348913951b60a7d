import { EmulatorBugError } from "../../../src/base/errors.ts";
import { type Collection, type Migration, StateFormatError } from "../port.ts";

export type Versions = Readonly<Record<string, number>>;

/** The version of svc that wrote a state, and the versions of its rows. */
export interface StateOrigin {
  /** The version of svc. Undefined if the document does not name it. */
  readonly svcVersion: string | undefined;
  readonly versions: Versions;
}

const getVersion = (collection: Collection): number => (collection.kind === "rows" ? (collection.version ?? 1) : 1);

export const listVersions = (collections: readonly Collection[]): Versions =>
  Object.fromEntries(collections.map((collection) => [collection.name, getVersion(collection)]));

export function checkMigrations(collection: Collection): void {
  const { migrate = [] } = collection.kind === "rows" ? collection : {};
  const version = getVersion(collection);
  if (migrate.length === version - 1) return;
  throw new EmulatorBugError(
    `Collection ${collection.name} is of version ${version} and has ${migrate.length} migrations`,
  );
}

export class Upgrade {
  /** False if everything has the current version. */
  readonly isNeeded: boolean;
  readonly #steps = new Map<string, readonly Migration[]>();

  /** Fails with StateFormatError if a collection is unknown or newer than this svc supports. */
  constructor({ svcVersion: writerVersion, versions }: StateOrigin, collections: readonly Collection[]) {
    const writer = writerVersion === undefined ? "another version of svc" : `svc ${writerVersion}`;
    const reject = (what: string): never => {
      throw new StateFormatError(`${writer} wrote it, with ${what}`, { repairable: false });
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
      const steps = collection.kind === "rows" ? (collection.migrate ?? []) : [];
      const pending = steps.slice((versions[collection.name] ?? 1) - 1);
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

/** Creates the upgrade of a state whose rows have the current versions, which changes nothing. */
export const createCurrentUpgrade = (collections: readonly Collection[]): Upgrade =>
  new Upgrade({ svcVersion: undefined, versions: listVersions(collections) }, collections);

/**
 * A row does not match its collection. If the checksum matches, the cause is not damage but a bug, or svc did not write
 * the file.
 */
export class SchemaMismatchError extends StateFormatError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause, repairable: false });
  }
}
