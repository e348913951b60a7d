import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sender } from "../../support/emulator.ts";
import { noPostgres, postgresServer } from "../../support/postgres/server.ts";
import { oneMore, type SharingProcess, sharing } from "../../support/postgres/sharing.ts";

const lookUp = (process: SharingProcess, id: string) =>
  sender(process.url)("GET", `/router/v1/cluster_emails/email/${id}`);

const control = ({ url }: SharingProcess) => sender(`${url}/_emulator`, { authorization: "Bearer the-token" });

interface Logged {
  readonly operation: string;
  readonly target: string;
  readonly served_by?: string;
}

/** Which process answered the look-up of an identifier, as the one log of all says, asked by any of them. */
async function servedBy(asked: SharingProcess, id: string): Promise<readonly (string | undefined)[]> {
  const { body } = await control(asked)("GET", "requests?operation=cluster-emails.show&limit=10000");
  const { items } = body as { items: Logged[] };
  return items.filter(({ target }) => target.endsWith(`/${id}`)).map(({ served_by }) => served_by);
}

describe("processes that follow a store in PostgreSQL", { skip: noPostgres }, () => {
  const server = postgresServer();
  const place = () => ({ store: server().url(), schema: server().freshSchema(), leaseMs: 1_200 });

  /** Resolves once that process answers look-ups itself. */
  async function answersItself(process: SharingProcess): Promise<void> {
    for (let i = 0; ; i += 1) {
      await lookUp(process, `warm${i}`);
      if ((await servedBy(process, `warm${i}`))[0] === process.url) return;
    }
  }

  it("answer what was written by any process, at once, a thousand times, though leaders are killed meanwhile", async (t) => {
    const options = place();
    const started = await sharing(t, 3, options);
    let processes: readonly SharingProcess[] = started;
    let stale = 0;
    for (let i = 0; i < 1_000; i += 1) {
      const [writer, reader] = [processes[i % processes.length]!, processes[(i + 1) % processes.length]!];
      let written = await writer.map(`e${i}`);
      while (written.status !== 200) written = await writer.map(`e${i}`);
      const { status } = await lookUp(reader, `e${i}`);
      if (status !== 200) stale += 1;
      if (i === 300 || i === 700) {
        const leader = processes.find(({ role }) => role === "leader")!;
        processes = processes.filter((process) => process !== leader);
        await leader.kill();
        const next = await oneMore(started, options);
        processes = [...processes, next];
      }
    }
    assert.equal(stale, 0);
  });

  it("answer look-ups themselves; the log of all says who did", async (t) => {
    const [leader, second] = await sharing(t, 2, place());
    await answersItself(second!);
    await leader!.map("known");
    await lookUp(leader!, "known");
    const [by, unknown] = [await lookUp(second!, "known"), await lookUp(second!, "unknown")];
    assert.deepEqual([by.status, by.body, unknown.status], [200, { email_hash: "known", cluster_id: "eu-1" }, 404]);
    assert.deepEqual(await servedBy(second!, "known"), [undefined, second!.url]);
  });

  it("leave it to the one that leads as long as trouble is scripted", async (t) => {
    const [leader, second] = await sharing(t, 2, place());
    await answersItself(second!);
    const fault = { direction: "incoming", operation: "cluster-emails.show", status: 418 };
    const added = await control(leader!)("POST", "faults", { body: fault });
    assert.equal((await lookUp(second!, "known")).status, 418);
    await control(second!)("DELETE", `faults/${(added.body as { id: number }).id}`);
    assert.equal((await lookUp(second!, "known")).status, 404);
    await answersItself(second!);
  });

  it("answer from the state that took the place of the one before", async (t) => {
    const [leader, second] = await sharing(t, 2, place());
    await leader!.map("before");
    await answersItself(second!);
    assert.equal((await lookUp(second!, "before")).status, 200);
    assert.equal((await control(leader!)("POST", "reset")).status, 204);
    assert.equal((await lookUp(second!, "before")).status, 404);
    await leader!.map("after");
    assert.equal((await lookUp(second!, "after")).status, 200);
    await answersItself(second!);
    assert.deepEqual([(await lookUp(second!, "before")).status, (await lookUp(second!, "after")).status], [404, 200]);
  });
});
