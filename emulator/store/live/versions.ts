import { EmulatorBugError } from "../../../src/base/errors.ts";
import { type Collection, type Migration, StateFormatError } from "../port.ts";

/** The version of each collection, by name. */
export type Versions = Readonly<Record<string, number>>;

/** The version of svc that wrote a state, and the versions of its rows. */
export interface StateOrigin {
  /** The version of svc; undefined in a document that does not say. */
  readonly by: string | undefined;
  readonly versions: Versions;
}

export const versionOf = (collection: Collection): number =>
  collection.kind === "rows" ? (collection.version ?? 1) : 1;

export const versionsOf = (collections: readonly Collection[]): Versions =>
  Object.fromEntries(collections.map((collection) => [collection.name, versionOf(collection)]));

/** Each version but the first needs the step that leads to it. */
export function checkMigrations(collection: Collection): void {
  const { migrate = [] } = collection.kind === "rows" ? collection : {};
  const version = versionOf(collection);
  if (migrate.length === version - 1) return;
  throw new EmulatorBugError(
    `Collection ${collection.name} is of version ${version} and has ${migrate.length} migrations`,
  );
}

/** Makes rows that were written under earlier versions rows of today. */
export class Upgrade {
  /** False: everything is of today's versions already. */
  readonly needed: boolean;
  readonly #steps = new Map<string, readonly Migration[]>();

  /** Fails with StateFormatError when a collection is of a newer version than this svc knows, or unknown to it. */
  constructor({ by, versions }: StateOrigin, collections: readonly Collection[]) {
    const writer = by === undefined ? "another version of svc" : `svc ${by}`;
    const refuse = (what: string): never => {
      throw new StateFormatError(`${writer} wrote it, with ${what}`, { repairable: false });
    };
    const known = new Map(collections.map((collection) => [collection.name, collection]));
    for (const [name, version] of Object.entries(versions)) {
      const collection = known.get(name) ?? refuse(`a collection ${name}, which this version of svc does not have`);
      const own = versionOf(collection);
      if (version > own) refuse(`version ${version} of ${name}; this version of svc reads versions up to ${own}`);
    }
    for (const collection of collections) {
      const steps = collection.kind === "rows" ? (collection.migrate ?? []) : [];
      const ahead = steps.slice((versions[collection.name] ?? 1) - 1);
      if (ahead.length > 0) this.#steps.set(collection.name, ahead);
    }
    this.needed = this.#steps.size > 0;
  }

  /** Anything that is no object is handed on as it is, for the schema to reject. */
  row(collection: string, row: unknown): unknown {
    const steps = this.#steps.get(collection);
    if (steps === undefined || typeof row !== "object" || row === null) return row;
    try {
      return steps.reduce((before, step) => step(before as Readonly<Record<string, unknown>>), row);
    } catch (cause) {
      throw new SchemaMismatchError(`a row of ${collection} cannot be migrated to this version`, cause);
    }
  }
}

/** For a state whose rows are of today's versions. */
export const currentVersions = (collections: readonly Collection[]): Upgrade =>
  new Upgrade({ by: undefined, versions: versionsOf(collections) }, collections);

/** A row that does not fit its collection. No damage where a checksum fits: then it is a bug, or a file that is not ours. */
export class SchemaMismatchError extends StateFormatError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause, repairable: false });
  }
}
