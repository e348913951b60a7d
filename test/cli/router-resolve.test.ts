import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../src/base/email-address.ts";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";

/** An environment that names the router without the control plane of the emulator. */
const asReal = { SVC_EMULATOR_URL: undefined, SVC_EMULATOR_TOKEN: undefined };

describe("svc router resolve", () => {
  it("shows the table by which a cluster of an emulator owns an identifier", async (t) => {
    const { json, emulator } = await startCliEmulator(t);
    const hash = hashEmail("ada@northwind.example");
    const { clientId = "" } = emulator.clusters[1]!;
    for (const [identifier, table, key, cluster_id] of [
      ["Ada@Northwind.example", "cluster_emails", hash, "eu-1"],
      [clientId, "cluster_clients", clientId, "us-1"],
      ["creator-northwind", "creator_tokens", "creator-northwind", "eu-1"],
      ["T-FABRIKAM", "chat_a_teams", "T-FABRIKAM", "us-1"],
      ["tenant-fabrikam", "external_integrations", "CHAT_B:tenant-fabrikam", "us-1"],
      ["us-1", "clusters", "us-1", "us-1"],
    ] as const) {
      assert.deepEqual(await json(["router", "resolve", identifier]), [{ table, key, cluster_id }], identifier);
    }
  });

  it("tries the public lookups with a real router", async (t) => {
    const { json, svc, emulator } = await startCliEmulator(t);
    const hash = hashEmail("ada@northwind.example");
    const { clientId = "" } = emulator.clusters[1]!;
    const resolve = (identifier: string) => json(["router", "resolve", identifier], { env: asReal });
    const owner = { table: "cluster_emails", key: hash, cluster_id: "eu-1" };
    assert.deepEqual(await resolve("ada@northwind.example"), [owner]);
    assert.deepEqual(await resolve(hash), [owner]);
    assert.deepEqual(await resolve(clientId), [{ table: "cluster_clients", key: clientId, cluster_id: "us-1" }]);

    const { exit, stdout, stderr } = await svc("router resolve T-FABRIKAM", { env: asReal });
    assert.deepEqual([exit, stdout], [5, ""]);
    assert.match(stderr, /No cluster owns T-FABRIKAM/);
    assert.match(stderr, /Only e-mail addresses, client IDs and tokens/);
  });

  it("reads the cluster in a token without printing the token", async (t) => {
    const { json } = await startCliEmulator(t);
    const claims = Buffer.from('{"cluster":"us-1"}').toString("base64url");
    assert.deepEqual(await json(["router", "resolve", "eu-1_rt_secret"]), [
      { table: "prefix", key: "eu-1_…", cluster_id: "eu-1" },
    ]);
    assert.deepEqual(await json(["router", "resolve", `x.${claims}.y`]), [
      { table: "claim", key: "us-1", cluster_id: "us-1" },
    ]);
  });

  it("sends the emulator's token only to the emulator", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    // Another host name of the same listener is another address.
    const elsewhere = emulator.routerUrl.replace("127.0.0.1", "localhost");
    const { exit } = await svc(`router resolve T-FABRIKAM --base-url ${elsewhere}`);
    assert.equal(exit, 5);
    assert.equal((await svc(`router resolve T-FABRIKAM --base-url ${emulator.routerUrl}`)).exit, 0);
  });

  it("exits with 5 without an owner", async (t) => {
    const { svc } = await startCliEmulator(t);
    assert.equal((await svc("router resolve nobody")).exit, 5);
  });
});
