import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSender, startTestEmulator } from "../../../support/emulator.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startSharingProcesses } from "../../../support/postgres/sharing.ts";

/** Makes another process take over once, right after the first leader starts, and then end. */
const createUsurpationSql = (schema: string) => `
  set search_path = ${schema};
  create table usurpation (done boolean);
  create function usurp() returns trigger language plpgsql set search_path = ${schema} as $$ begin
    if not exists (select from usurpation) then
      insert into usurpation values (true);
      update leadership set epoch = epoch + 1, leader = 'another', address = null;
    end if;
    return null;
  end $$;
  create trigger usurp after update on leadership for each row
  when (new.epoch <> old.epoch and new.leader <> 'another') execute function usurp()`;

describe("process that loses leadership while it opens the state", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("continues to wait and leads later", async (t) => {
    const options = { store: server().url(), schema: server().freshSchema(), leaseMs: 1_200, deterministic: true };
    const first = await startTestEmulator(t, { ...options, ephemeral: false });
    await first.close();
    await server().sql((sql) => sql.unsafe(createUsurpationSql(options.schema)));
    const [sharingProcess] = await startSharingProcesses(t, 1, options);
    assert.equal((await createSender(sharingProcess!.url)("GET", "/_emulator/ready")).status, 200);
    assert.equal((await sharingProcess!.map("e1")).status, 200);
  });
});
