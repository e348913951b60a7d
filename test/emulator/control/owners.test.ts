import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { startRoutedEmulator } from "../../support/routed-emulator.ts";

describe("owner lookup of an identifier", () => {
  it("returns owners in bulk from one table, in request order", async (t) => {
    const emulator = await startRoutedEmulator(t, {});
    await emulator.map("clients", "us-1", ["c-1", "c-3"]);
    await emulator.map("clients", "eu-1", ["c-2"]);
    const body = { table: "cluster_clients", keys: ["c-3", "c-0", "c-2", "c-3"] };
    const { status, body: owners } = await emulator.control("POST", "owners", { body });
    assert.deepEqual([status, owners], [200, { cluster_ids: ["us-1", null, "eu-1", "us-1"] }]);
  });

  it("finds external IDs without their type and user codes with their hyphen", async (t) => {
    const emulator = await startRoutedEmulator(t, { mappings: { user_codes: { "us-1": ["WDJBMJHT"] } } });
    await emulator.map("integrations", "eu-1", ["tenant"]);
    for (const [table, keys, cluster] of [
      ["external_integrations", ["tenant", "CHAT_B:tenant"], "eu-1"],
      ["user_codes", ["WDJB-MJHT", "wdjbmjht"], "us-1"],
    ] as const) {
      const { body } = await emulator.control("POST", "owners", { body: { table, keys } });
      assert.deepEqual(body, { cluster_ids: [cluster, cluster] });
    }
  });

  it("returns owners with the table and the key", async (t) => {
    const emulator = await startRoutedEmulator(t, { mappings: { user_codes: { "us-1": ["WDJBMJHT"] } } });
    await emulator.map("emails", "eu-1", [hashEmail("ada@example.org")]);
    await emulator.map("clients", "us-1", ["cli"]);
    await emulator.map("creators", "eu-1", ["invite"]);
    await emulator.map("counterparties", "us-1", ["invite"]);
    await emulator.map("teams", "eu-1", ["T1"]);
    await emulator.map("integrations", "us-1", ["tenant"]);
    await emulator.router("POST", "/router/v1/contract_signatories/", {
      body: [
        { signatory_hash: "sig", cluster: "eu-1" },
        { signatory_hash: "sig", cluster: "us-1" },
        { signatory_hash: hashEmail("jo@acme.example"), cluster: "us-1" },
      ],
    });
    const owners = async (identifier: string) =>
      (await emulator.control("GET", `owners?identifier=${encodeURIComponent(identifier)}`)).body;
    const hash = hashEmail("ada@example.org");
    assert.deepEqual(
      Object.fromEntries(
        await Promise.all(
          [
            " Ada@Example.org",
            hash,
            "cli",
            "invite",
            "T1",
            "tenant",
            "wdjb-mjht",
            "sig",
            "nobody",
            "Jo@acme.example",
          ].map(async (identifier) => [identifier, await owners(identifier)] as const),
        ),
      ),
      {
        " Ada@Example.org": [{ table: "cluster_emails", key: hash, cluster_id: "eu-1" }],
        [hash]: [{ table: "cluster_emails", key: hash, cluster_id: "eu-1" }],
        cli: [{ table: "cluster_clients", key: "cli", cluster_id: "us-1" }],
        invite: [
          { table: "creator_tokens", key: "invite", cluster_id: "eu-1" },
          { table: "counterparty_tokens", key: "invite", cluster_id: "us-1" },
        ],
        T1: [{ table: "chat_a_teams", key: "T1", cluster_id: "eu-1" }],
        tenant: [{ table: "external_integrations", key: "CHAT_B:tenant", cluster_id: "us-1" }],
        "wdjb-mjht": [{ table: "user_codes", key: "WDJBMJHT", cluster_id: "us-1" }],
        sig: [
          { table: "signatories", key: "sig", cluster_id: "eu-1" },
          { table: "signatories", key: "sig", cluster_id: "us-1" },
        ],
        nobody: [],
        "Jo@acme.example": [{ table: "signatories", key: hashEmail("jo@acme.example"), cluster_id: "us-1" }],
      },
    );
  });
});

describe("signatory hashes", () => {
  it("can be seeded, and removed for a single cluster", async (t) => {
    const rows = [
      { signatory_hash: "sig-1", cluster: "eu-1" },
      { signatory_hash: "sig-1", cluster: "us-1", uuid: "u-1" },
    ];
    const emulator = await startRoutedEmulator(t, { signatories: rows });
    const owners = async () => (await emulator.control("GET", "owners?identifier=sig-1")).body;
    const owner = (cluster_id: string) => ({ table: "signatories", key: "sig-1", cluster_id });
    assert.deepEqual(await owners(), [owner("eu-1"), owner("us-1")]);
    const body = { signatory_hashes: ["sig-1", "sig-1", "unknown"], cluster_id: "eu-1" };
    assert.deepEqual((await emulator.control("DELETE", "signatories", { body })).body, { removed: 1 });
    assert.deepEqual(await owners(), [owner("us-1")]);
    assert.deepEqual((await emulator.control("DELETE", "signatories", { body })).body, { removed: 0 });
    const added = await emulator.router("POST", "/router/v1/contract_signatories/", { body: rows });
    assert.deepEqual(added.body, [
      { id: 3, uuid: null, cluster: "eu-1", signatory_hash: "sig-1" },
      { id: 2, uuid: "u-1", cluster: "us-1", signatory_hash: "sig-1" },
    ]);
  });
});
