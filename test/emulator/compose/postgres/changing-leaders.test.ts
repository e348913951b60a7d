import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Readiness } from "../../../../src/api/emulator/lifecycle.ts";
import { createSender } from "../../../support/emulator.ts";
import { MappingClients } from "../../../support/postgres/mapping-clients.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { type SharingProcess, startSharingProcesses } from "../../../support/postgres/sharing.ts";

/** The response if a write cannot be stored, or if there is no leader. */
const failoverResponses = [
  '503 {"detail":"The service cannot write its state"}',
  '503 {"detail":"The database did not confirm this change. It may be stored. Check before you retry."}',
  '503 {"detail":"Another process leads this state, or is about to. Nothing was changed. Retry the request."}',
  '503 {"detail":"The leader of this state ended before it responded. The outcome is unknown. Check before you retry."}',
];

/** The role that each process reports. */
const listRoles = async (processes: readonly SharingProcess[]) => {
  const states = processes.map(async ({ url }) => {
    const { status, body } = await createSender(url)("GET", "/_emulator/ready");
    return `${status} ${Readiness.parse(body).role}`;
  });
  return (await Promise.all(states)).sort();
};

/** The mapped e-mails, as any process reports them. */
async function listMappedEmails({ url }: SharingProcess): Promise<ReadonlySet<string>> {
  const { body } = await createSender(`${url}/_emulator`, { authorization: "Bearer the-token" })("GET", "state");
  return new Set(Object.keys((body as { mappings: { cluster_emails: object } }).mappings.cluster_emails));
}

describe("shared store after lost leadership", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const restart = async () => {
    await server().stop("SIGINT");
    await server().start();
  };
  const cutConnections = () =>
    server().sql((sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc'`);

  /** Clients of all processes send requests during `disrupt`, three times. */
  async function repeatOverLeaders(
    t: TestContext,
    count: number,
    disrupt: (processes: readonly SharingProcess[]) => Promise<unknown>,
  ) {
    const options = { store: server().url(), schema: server().freshSchema(), leaseMs: 1_200 };
    const processes = await startSharingProcesses(t, count, options);
    const clients = new MappingClients(processes);
    for (let time = 0; time < 3; time += 1) {
      await clients.waitForMore(30);
      await disrupt(processes);
      // Each process responds again, and none waits for a former leader.
      for (const process of processes) while ((await process.map(`probe-${time}`)).status !== 200);
      await clients.waitForMore(30);
    }
    await clients.end();
    const isUsual = (failure: string) => failoverResponses.includes(failure);
    assert.deepEqual(
      [...new Set(clients.failures)].filter((failure) => !isUsual(failure)),
      [],
    );
    const roles = Array.from({ length: count }, (_, i) => (i === 0 ? "200 leader" : "200 standby"));
    assert.deepEqual(await listRoles(processes), roles);
    const mapped = await listMappedEmails(processes[0]!);
    assert.deepEqual(
      clients.acknowledgedIds.filter((id) => !mapped.has(id)),
      [],
    );
  }

  // The tests below run with two processes.
  for (const count of [1, 3]) {
    it(`serves every request after a database restart, with ${count} processes`, (t) =>
      repeatOverLeaders(t, count, restart));
  }

  it("serves every request after connections are cut", (t) => repeatOverLeaders(t, 2, cutConnections));

  it("elects a new leader while the old one is stopped beyond its lease", (t) =>
    repeatOverLeaders(t, 2, async (processes) => {
      const leader = processes.find(({ role }) => role === "leader")!;
      const otherProcess = processes.find((process) => process !== leader)!;
      leader.child.kill("SIGSTOP");
      await otherProcess.is("leader");
      leader.child.kill("SIGCONT");
      await leader.is("standby");
    }));

  it("returns its lock to a leader whose connection was cut", async (t) => {
    const options = { store: server().url(), schema: server().freshSchema() };
    await startSharingProcesses(t, 2, options);
    interface LeadershipRow {
      readonly backend: number;
      readonly beat: number;
      readonly is_locked: boolean;
    }
    const readLeader = async () => {
      const [row] = await server().sql((sql) =>
        sql.unsafe<[LeadershipRow]>(`
          select backend, beat::int, pid is not null as is_locked from ${options.schema}.leadership
          left join pg_locks on locktype = 'advisory' and pid = backend and granted`),
      );
      return row;
    };
    const before = await readLeader();
    await server().sql((sql) => sql`select pg_terminate_backend(${before.backend})`);
    let now = before;
    while (now.beat < before.beat + 10 && !(now.is_locked && now.backend !== before.backend)) now = await readLeader();
    assert.deepEqual([now.is_locked, now.backend !== before.backend], [true, true]);
  });
});
