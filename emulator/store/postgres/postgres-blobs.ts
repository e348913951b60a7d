import { type Blobs, measureBlob } from "../blobs.ts";

import { StoreFailedError } from "../port.ts";
import type { Database } from "./database.ts";
import type { Documents } from "./documents.ts";
import type { Leadership } from "./leadership.ts";
import { readHistoryStrings } from "./postgres-log.ts";

/** How long unreferenced bytes are stored, by the server's clock. The reasons are in `file/blob-collection.ts`. */
const patience = "30 days";

type NamedInPast = (texts: AsyncIterable<string>) => Promise<ReadonlySet<string>>;

/** Uploaded bytes in the database, by their hash. */
export interface PostgresBlobs extends Blobs {
  /**
   * Removes bytes that have been unreferenced for that time. Resolves with their number. Call it only before requests
   * are served. `strings` are those of the history, which are long: they are read only if something would be removed.
   */
  collect(named: () => Promise<ReadonlySet<string>>, past: NamedInPast): Promise<number>;
}

export function createPostgresBlobs(database: Database, leadership: Leadership, documents: Documents): PostgresBlobs {
  const { pool } = database;
  return {
    async put(bytes, maxBytes) {
      const { pieces, measured } = measureBlob(bytes, maxBytes);
      // An upload of the same content replaces the same bytes.
      await documents.writeGiven(
        pieces,
        { kind: "blob", name: () => measured().sha256 },
        (cause) => new StoreFailedError(`The upload cannot be written: ${(cause as Error).message}`, { cause }),
      );
      return measured();
    },
    async open(sha256) {
      const [found] = await pool`select id from documents where kind = 'blob' and name = ${sha256} and whole`;
      return found && documents.read(found.id);
    },
    async keepUnnamed() {
      await pool`with ${leadership.mine} update documents set unnamed_since = null from mine where kind = 'blob'`;
    },
    async collect(named, past) {
      const kept = await pool`select name from documents where kind = 'blob' and whole`;
      if (kept.length === 0) return 0;
      const isNamed = await named();
      const unnamed = kept.flatMap(({ name }) => (isNamed.has(name) ? [] : [name as string]));
      await pool`
        with ${leadership.mine} update documents
        set unnamed_since = case when name in ${pool(["", ...unnamed])} then coalesce(unnamed_since, now()) end
        from mine where kind = 'blob'`;
      const over = await pool`
        select id, name from documents where kind = 'blob' and whole
          and greatest(unnamed_since, made) < now() - ${patience}::interval and unnamed_since is not null`;
      if (over.length === 0) return 0;
      const isPast = await past(readHistoryStrings(database));
      const gone = over.flatMap(({ id, name }) => (isPast.has(name) ? [] : [id as string]));
      const { count } = await pool`
        with ${leadership.mine} delete from documents using mine where id in ${pool(["0", ...gone])}`;
      return count;
    },
  };
}
