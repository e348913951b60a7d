import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createSender } from "../../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../../support/postgres/server.ts";
import { startReceiver } from "../../../../support/receiver.ts";
import { Emulators } from "./emulators.ts";

/** `KILLS=1000 npm run kills` takes an hour. */
const kills = Math.ceil(Number(process.env.KILLS ?? 4) / 2);

/** Maximum number of repeated jobs after a process with --deterministic ended: `uncommittedPerSlot` of one process. */
const madeAgain = 4;

interface State {
  readonly mappings: { readonly cluster_emails: Readonly<Record<string, string>> };
  readonly rows: { readonly webhook_deliveries: readonly { readonly id: number }[] };
}

// Most of the time is spent waiting for the lease of the killed leader, so both tests wait at once.
const together = { skip: postgresSkipReason, concurrency: true };

describe("cluster of emulators under 16 HTTP writers", together, () => {
  const server = startPostgresServer();

  // After each kill, three are two for a moment.
  for (const processes of [1, 3]) {
    it(`loses and duplicates nothing with ${processes} processes in ${kills} kills of the leader`, async (t) => {
      const all = await startProcesses(t, processes);
      for (let kill = 0; kill < kills; kill += 1) {
        await all.emulators.wrote(1 + Math.floor(Math.random() * 60));
        await all.emulators.kill(await all.emulators.leader());
        await all.emulators.start();
      }
      await all.emulators.leader();
      await all.emulators.wrote(20);
      await all.emulators.stopWriting();
      t.diagnostic(await holds(all, kills));
    });
  }

  async function startProcesses(t: TestContext, processes: number) {
    const sink = await startReceiver(t);
    const database = { store: server().url(), schema: server().freshSchema() };
    const emulators = new Emulators(t, { ...database, deterministic: true, clock: { mode: "manual" } });
    const first = await emulators.start();
    const { token, clusters } = await first.leads;
    const { url, clientId = "", clientSecret = "" } = clusters[0]!;
    const api = createSender(url, { "client-id": clientId, "client-secret": clientSecret });
    const hook = { title: "Hooks", url: sink.url, only_for_activities: ["CONTRACT_CREATED"] };
    assert.equal((await api("POST", "/api/v2.1/public/webhooks/", { body: hook })).status, 201);
    for (let more = 1; more < processes; more += 1) await emulators.start();
    emulators.write(16, token);
    return { emulators, sink, token };
  }

  /** Asserts that nothing was lost, duplicated or reordered, and returns a summary. */
  async function holds(
    { emulators, sink, token }: Awaited<ReturnType<typeof startProcesses>>,
    kills: number,
  ): Promise<string> {
    const { requested, acknowledged } = emulators;
    const send = createSender((await emulators.leader()).routerUrl, { authorization: `Bearer ${token}` });
    assert.equal((await send("POST", "/_emulator/clock/advance", { body: { until_idle: true } })).status, 200);
    const state = (await send("GET", "/_emulator/state")).body as State;
    const mapped = new Set(Object.keys(state.mappings.cluster_emails).filter((name) => name.startsWith("w")));
    const events = sink.received.map(({ body }) => (JSON.parse(body.toString()) as { name: string }).name);
    const delivered = new Set(events);
    const ids = [...delivered].flatMap((name) => acknowledged.events.get(name) ?? []);
    const { webhook_deliveries: deliveries } = state.rows;
    assert.deepEqual(
      {
        strange: emulators.strange,
        lost: [...acknowledged.emails].filter((name) => !mapped.has(name)),
        nobodys: [...mapped].filter((name) => !requested.emails.has(name)),
        undelivered: [...acknowledged.events.keys()].filter((name) => !delivered.has(name)),
        doubled: acknowledged.events.size - new Set(acknowledged.events.values()).size,
        planned: deliveries.length,
        disordered: ids.filter((id, i) => id < (ids[i - 1] ?? 0)),
      },
      { strange: [], lost: [], nobodys: [], undelivered: [], doubled: 0, planned: delivered.size, disordered: [] },
    );
    const again = events.length - delivered.size;
    const maxRepeats = (kills + emulators.leadsLost) * madeAgain;
    assert.ok(again <= maxRepeats, `${events.length} of ${delivered.size}`);
    return (
      `${kills} kills and ${emulators.leadsLost} leads lost otherwise: ${acknowledged.emails.size} e-mails and ${acknowledged.events.size} events acknowledged, none lost, none ` +
      `doubled; ${mapped.size} e-mails mapped and ${delivered.size} events delivered, in order, of ${requested.emails.size} ` +
      `and ${requested.events.size} asked for; ${again} deliveries made again of at most ${maxRepeats}`
    );
  }
});
