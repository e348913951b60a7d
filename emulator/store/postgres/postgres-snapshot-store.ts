import { StoreFailed } from "../port.ts";
import { byName, isSnapshotName, type SnapshotStore } from "../snapshot-store.ts";
import type { Database } from "./database.ts";
import type { Documents } from "./documents.ts";
import type { Leadership } from "./leadership.ts";

/** Named documents in the database. */
export function postgresSnapshotStore(
  { pool }: Pick<Database, "pool">,
  leadership: Leadership,
  documents: Documents,
): SnapshotStore {
  const idOf = async (name: string) => {
    const [found] = isSnapshotName(name)
      ? await pool`select id from documents where kind = 'snapshot' and name = ${name} and whole`
      : [];
    return found?.id as string | undefined;
  };
  return {
    put: (name, document) => documents.writeGiven(document, { kind: "snapshot", name: () => name }, failure),
    async open(name) {
      const id = await idOf(name);
      return id === undefined ? undefined : documents.read(id);
    },
    async list() {
      const found = await pool`select name, bytes from documents where kind = 'snapshot' and whole`;
      return found.map(({ name, bytes }) => ({ name, bytes: Number(bytes), file: undefined })).sort(byName);
    },
    async remove(name) {
      const id = await idOf(name);
      if (id === undefined) return false;
      const { count } = await pool`with ${leadership.mine} delete from documents using mine where id = ${id}`.catch(
        (cause) => {
          throw failure(cause);
        },
      );
      if (count === 0) throw failure(leadership.fencedOff());
      return true;
    },
  };
}

const failure = (cause: unknown): StoreFailed =>
  new StoreFailed(`The snapshot cannot be written: ${(cause as Error).message}`, { cause });
