import { StoreFailed } from "../port.ts";
import type { Database } from "./database.ts";
import type { Leadership } from "./leadership.ts";

/** What the one that leads has in memory, beside the state: plain data with a name, for the next one to go on with. */
export interface LeadersMemory {
  /** What was written last under a name; undefined: nothing was. */
  read(name: string): Promise<unknown>;
  /** Resolves once it is durable. Fails with StoreFailed. */
  write(name: string, value: object): Promise<void>;
}

export const leadersMemory = ({ pool }: Pick<Database, "pool">, leadership: Leadership): LeadersMemory => ({
  async read(name) {
    const [found] = await pool`select value from memory where name = ${name}`;
    return found?.value;
  },
  async write(name, value) {
    const written = pool`
      with ${leadership.mine} insert into memory (name, value) select ${name}, ${pool.json(value as never)}::jsonb from mine
      on conflict (name) do update set value = excluded.value`;
    const { count } = await written.catch((cause) => {
      throw new StoreFailed(`What the next process goes on with cannot be written: ${(cause as Error).message}`, {
        cause,
      });
    });
    if (count === 0) throw leadership.fencedOff();
  },
});
