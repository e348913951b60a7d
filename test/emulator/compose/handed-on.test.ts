import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Readiness } from "../../../src/api/emulator/lifecycle.ts";
import { type BrowserSession, browserSession } from "../../support/console.ts";
import { sender } from "../../support/emulator.ts";
import { noPostgres, postgresServer } from "../../support/postgres/server.ts";
import { type SharingProcess, sharing } from "../../support/postgres/sharing.ts";

const asked = (process: SharingProcess, by: string | BrowserSession) =>
  sender(`${process.url}/_emulator`, typeof by === "string" ? { authorization: `Bearer ${by}` } : by.headers);

/** A browser that is signed in to the console by one process. */
const signedIn = (process: SharingProcess, token = "the-token"): Promise<BrowserSession> =>
  browserSession({ controlUrl: `${process.url}/_emulator`, token });

const clusters = async (process: SharingProcess) => (await sender(process.url)("GET", "/router/v1/clusters/")).status;

describe("what is scripted and who is signed in, when another process leads", { skip: noPostgres }, () => {
  const server = postgresServer();

  const ends: readonly [what: string, end: (leader: SharingProcess) => Promise<unknown>][] = [
    ["was killed", (leader) => leader.kill()],
    [
      "has handed over",
      (leader) => {
        leader.child.kill("SIGTERM");
        return leader.gone;
      },
    ],
  ];
  for (const [what, end] of ends) {
    it(`is as it was where the one before ${what}`, async (t) => {
      const place = { store: server().url(), schema: server().freshSchema() };
      const [leader, other] = (await sharing(t, 2, place)) as [SharingProcess, SharingProcess];
      const control = asked(other, "the-token");
      const { token: ci } = (await control("POST", "tokens/ci", { body: { role: "read" } })).body as { token: string };
      const { token: gone } = (await control("POST", "tokens/gone", { body: { role: "read" } })).body as {
        token: string;
      };
      const [browser, reader, revoked] = [
        await signedIn(leader),
        await signedIn(other, ci),
        await signedIn(other, gone),
      ];
      const left = await signedIn(other);
      await asked(other, left)("DELETE", "sessions");
      const { code } = (await control("POST", "sessions/codes")).body as { code: string };
      const rule = { direction: "incoming", operation: "clusters.list", status: 500, nth: 2, count: 2 };
      await control("POST", "faults", { body: rule });
      assert.deepEqual([await clusters(other), await clusters(leader)], [200, 500]);
      const faults = (await control("GET", "faults")).body;
      await control("DELETE", "tokens/gone");

      await end(leader);
      await other.is("leader");
      while (Readiness.parse((await sender(other.url)("GET", "/_emulator/ready")).body).role !== "leader");
      assert.deepEqual((await control("GET", "faults")).body, faults);
      assert.deepEqual([await clusters(other), await clusters(other)], [500, 200]);
      const status = async (by: BrowserSession) => (await asked(other, by)("GET", "faults")).status;
      assert.deepEqual(await Promise.all([browser, reader, revoked, left].map(status)), [200, 200, 401, 401]);
      assert.equal((await asked(other, reader)("POST", "reset")).status, 403);
      const begun = await sender(other.url)("POST", "/_emulator/sessions", { body: { code } });
      assert.deepEqual([begun.status, (begun.body as { role: string }).role], [201, "admin"]);
      const kept = await server().sql((sql) => sql.unsafe(`select value::text as all from ${place.schema}.memory`));
      for (const secret of [browser.token, reader.token, ci]) assert.ok(!String(kept[0]?.all).includes(secret));
      assert.equal((await control("DELETE", "faults/1")).status, 204);
    });
  }
});
