import { headLength } from "../file/base/base-head.ts";
import type { Segment } from "../file/history/kept-history.ts";
import { segmentHead } from "../file/history/kept-history.ts";
import type { Database } from "./database.ts";
import { documentBytes } from "./documents.ts";
import { JournalLines, journalLines, replayJournal } from "./journal-table.ts";

/** What the history of a state is made of in its tables, oldest first; the last one is that of the present base. */
export async function postgresSegments({ pool, shown }: Pick<Database, "pool" | "shown">): Promise<Segment[]> {
  const bases = await pool`
    select id, left(lines, ${headLength}) as beginning from documents join pieces on document = id and piece = 0
    where kind = 'base' and whole order by id`;
  return bases.flatMap(({ id, beginning }): Segment[] => {
    const head = segmentHead(beginning);
    if (!head) return [];
    const { position } = head;
    return [
      {
        head,
        base: () => documentBytes(pool, id),
        async lines(take) {
          for await (const lines of journalLines(pool, position)) {
            for (const line of lines) if (!take(line.json, line)) return;
          }
        },
        async replay({ state, upgrade }, last) {
          if (last === position.number) return;
          await replayJournal(pool, new JournalLines({ state, upgrade, after: position, last, isOwn: true, shown }));
        },
      },
    ];
  });
}

/** All texts of the history, and of the present state: what they name may be gone back to. */
export async function* historyTexts({ pool }: Pick<Database, "pool">): AsyncGenerator<string, void> {
  const bases = await pool`select id from documents where kind = 'base' and whole order by id`;
  for (const { id } of bases) for await (const bytes of documentBytes(pool, id)) yield bytes.toString("utf8");
  for (let read: string | undefined = "-1"; read !== undefined; ) {
    const [row]: { last: string; lines: string }[] = await pool`
      select last, lines from journal where last > ${read} order by last limit 1`;
    if (row) yield row.lines;
    read = row?.last;
  }
}
