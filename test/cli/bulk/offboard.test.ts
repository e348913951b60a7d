import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashEmail } from "../../../src/base/email-address.ts";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";
import { startDeviceAuthorization } from "../../support/identity/devices.ts";

const everyKind = [
  "email Ada@Example.com",
  "client cli_1",
  "creator-token inv_1",
  "counterparty-token inv_2",
  "chat-a-team T1",
  "external-integration tenant-1",
  "user-code ABCD-EFGH",
];

const wholeBody = {
  email_hash_list: [hashEmail("ada@example.com")],
  client_ids: ["cli_1"],
  creator_tokens: ["inv_1"],
  cp_tokens: ["inv_2"],
  chat_a_team_id_list: ["T1"],
  user_codes: ["ABCD-EFGH"],
  external_integrations: [{ external_id_list: ["tenant-1"], integration_type: "CHAT_B" }],
};

describe("svc router offboard with a file", () => {
  it("asks for the number of rows that it would send, without those that it skips", async (t) => {
    const { svc, service } = await createBulkFixture(t, ["client a", "client b", "bogus c"]);
    const { exit, stderr } = await svc("router offboard eu-1 --from rows.txt --skip-invalid");
    assert.deepEqual([exit, service.calls], [2, []]);
    assert.match(stderr, /The command would do this: Delete 2 identifiers of a workspace from eu-1\./);
  });

  it("removes all identifiers of a file with one request", async (t) => {
    const { svc, service } = await createBulkFixture(t, everyKind);
    const { exit, stdout } = await svc("router offboard eu-1 --from rows.txt --confirm eu-1");
    assert.deepEqual([exit, stdout], [0, "Requested removal of 7 identifiers from eu-1; the service confirmed it\n"]);
    assert.deepEqual(
      service.calls.map(({ path, body }) => ({ path, body })),
      [{ path: "/router/v1/clusters/eu-1/workspace-data", body: wholeBody }],
    );
  });

  it("reads kinds and identifiers from CSV columns and NDJSON fields", async (t) => {
    const { svc, service, write } = await createBulkFixture(t, []);
    await write("ws.csv", ["note,identifier,kind", "x,cli_1,client", "y,T1,chat-a-team"]);
    await write("ws.ndjson", ['{"kind":"client","identifier":"cli_2"}']);
    for (const file of ["ws.csv", "ws.ndjson"]) {
      const { exit } = await svc(`router offboard eu-1 --from ${file} --confirm eu-1`);
      assert.equal(exit, 0);
    }
    assert.deepEqual(
      service.calls.map(({ body }) => body),
      [{ client_ids: ["cli_1"], chat_a_team_id_list: ["T1"] }, { client_ids: ["cli_2"] }],
    );
  });

  it("removes the rows that the service does not reject by their positions in a list", async (t) => {
    const rejectedLists: readonly (readonly [row: string, loc: readonly (string | number)[]])[] = [
      ["client cli_2", ["body", "client_ids", 1]],
      ["external-integration tenant-2", ["body", "external_integrations", 0, "external_id_list", 1]],
    ];
    for (const [row, loc] of rejectedLists) {
      const rows = [...everyKind, "client cli_2", "external-integration tenant-2"];
      const { svc, service } = await createBulkFixture(t, rows, ({ body }) =>
        JSON.stringify(body).includes(row.split(" ")[1]!)
          ? { status: 422, body: { detail: [{ loc, msg: "bad", type: "x" }] } }
          : undefined,
      );
      const { exit, stdout } = await svc("router offboard eu-1 --from rows.txt --confirm eu-1");
      assert.deepEqual([exit, stdout], [3, "Requested removal of 8 identifiers from eu-1; the service confirmed it\n"]);
      const results = await svc("router jobs results --last --json=input,message");
      assert.deepEqual(JSON.parse(results.stdout), [{ input: row, message: "bad" }]);
      assert.equal(service.calls.length, 2);
    }
  });

  it("requires the name of the cluster even with --yes", async (t) => {
    const { svc, service } = await createBulkFixture(t, everyKind);
    for (const argv of [
      "router offboard eu-1 --from rows.txt --yes",
      "router offboard eu-1 --from rows.txt --confirm us-1",
      "router offboard eu-1 --client-ids a --yes",
    ]) {
      const { exit, stdout, stderr } = await svc(argv);
      assert.match(stderr, /--confirm (eu-1 is required, because this cannot be undone|must be eu-1, got "us-1")/);
      assert.deepEqual([exit, stdout], [2, ""]);
    }
    assert.deepEqual(service.calls, []);
  });

  it("sends no request without identifiers, which would remove nothing", async (t) => {
    const { svc, service } = await createBulkFixture(t, everyKind);
    const { exit, stdout, stderr } = await svc("router offboard eu-1 --confirm eu-1");
    assert.deepEqual(
      [exit, stdout, stderr.split("\n")[0], service.calls],
      [2, "", "error: --from, --workspace or an option with identifiers is required", []],
    );
  });

  it("reports a row of an unknown kind before anything is removed", async (t) => {
    const { svc, service } = await createBulkFixture(t, ["client cli_1", "team T1", "cli_2"]);
    const { exit, stderr } = await svc("router offboard eu-1 --from rows.txt --confirm eu-1");
    assert.match(
      stderr,
      /Cannot offboard 2 of 3 rows: row 2 \(team \[hidden\]\) is not a kind and an identifier \(kinds: email, client,/,
    );
    assert.deepEqual([exit, service.calls], [2, []]);
  });

  it("converts identifiers of a request body like rows of a file", async (t) => {
    const { svc, service } = await createBulkFixture(t, []);
    const integrations = [{ integration_type: "CHAT_B", external_id_list: ["CHAT_B:tenant-1", "tenant-2"] }];
    const stdin = JSON.stringify({ email_hash_list: ["Ada@Example.com"], external_integrations: integrations });
    const { exit, stdout } = await svc("router offboard eu-1 --data - --confirm eu-1", { stdin });
    assert.deepEqual([exit, stdout], [0, "true\n"]);
    assert.deepEqual(
      service.calls.map(({ body }) => body),
      [
        {
          email_hash_list: [hashEmail("ada@example.com")],
          external_integrations: [{ integration_type: "CHAT_B", external_id_list: ["tenant-1", "tenant-2"] }],
        },
      ],
    );
  });

  it("plans and applies a job, with the name repeated by --cluster", async (t) => {
    const { svc, service } = await createBulkFixture(t, everyKind);
    assert.equal((await svc("router offboard eu-1 --from rows.txt --plan-out p.json")).exit, 0);
    assert.equal((await svc("router offboard us-1 --apply p.json")).exit, 2);
    assert.equal((await svc("router offboard eu-1 --apply p.json")).exit, 0);
    assert.deepEqual(
      service.calls.map(({ body }) => body),
      [wholeBody],
    );
  });

  it("removes only identifiers that belong to the cluster", async (t) => {
    const cli = await startCliEmulator(t);
    await cli.svc("router map-clients - --cluster eu-1", { stdin: "mine\n" });
    await cli.svc("router map-clients - --cluster us-1", { stdin: "theirs\n" });
    const stdin = "client mine\nclient theirs\n";
    assert.equal((await cli.svc("router offboard eu-1 --from - --confirm eu-1", { stdin })).exit, 0);
    assert.equal((await cli.svc("router show-client mine")).exit, 5);
    assert.equal((await cli.json("router show-client theirs")).cluster_id, "us-1");
  });
});

describe("confirmation by cluster name at a terminal", () => {
  it("changes nothing unless the user types the name", async (t) => {
    const { svc, service } = await createBulkFixture(t, everyKind);
    const argv = "router offboard eu-1 --from rows.txt";
    const question = "Delete 7 identifiers of a workspace from eu-1: this cannot be undone. Type eu-1 to continue:";
    const unsure = simulateUser([question, `us-1${enterKey}`]);
    const declined = await svc(argv, unsure);
    assert.match(declined.stderr, /error: Nothing was changed\./);
    assert.deepEqual([declined.exit, unsure.waiting(), service.calls.length], [1, [], 0]);
    const sure = simulateUser([question, `eu-1${enterKey}`]);
    assert.deepEqual([(await svc(argv, sure)).exit, sure.waiting(), service.calls.length], [0, [], 1]);
  });
});

describe("svc router offboard with a workspace of an emulator", () => {
  it("collects all seven kinds of identifiers, removes them and verifies the result", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const { user_code } = await startDeviceAuthorization(emulator);
    await emulator.control("POST", `device-grants/${user_code}`, {
      body: { status: "AUTHORIZED", email: "ada@northwind.example" },
    });
    const routing = await json<Record<string, string[]>>("emulator workspaces routing 1");
    const kinds = [
      ...routing.cluster_emails!.map((identifier) => ({ kind: "email", identifier })),
      ...routing.cluster_clients!.map((identifier) => ({ kind: "client", identifier })),
      { kind: "creator-token", identifier: "[hidden]" },
      { kind: "counterparty-token", identifier: "[hidden]" },
      { kind: "chat-a-team", identifier: "T-NORTHWIND" },
      { kind: "external-integration", identifier: "CHAT_B:tenant-northwind" },
      { kind: "user-code", identifier: "[hidden]" },
    ];
    assert.ok(routing.cluster_emails!.includes(hashEmail("ada@northwind.example")));
    assert.deepEqual(JSON.parse((await svc("router offboard --workspace 1 --dry-run --json")).stdout), kinds);
    const unsure = await svc("router offboard --workspace 1");
    assert.deepEqual([unsure.exit, unsure.stdout.split("\n").length], [2, kinds.length + 1]);
    assert.match(unsure.stderr, /--confirm eu-1 is required/);
    assert.equal((await svc("router offboard us-1 --workspace 1 --confirm us-1")).exit, 2);
    assert.equal((await svc("router offboard --workspace 1 --from rows.txt --confirm eu-1")).exit, 2);

    const removed = await json("router offboard --workspace 1 --confirm eu-1 --verify");
    assert.deepEqual(removed, {
      workspace_id: 1,
      cluster_id: "eu-1",
      identifiers: kinds,
      verified: kinds.length,
      signatories: 0,
    });
    for (const identifier of ["ada@northwind.example", "creator-northwind", "T-NORTHWIND", "tenant-northwind"]) {
      assert.equal((await svc(["router", "resolve", identifier])).exit, 5, identifier);
    }
    assert.equal((await svc("router resolve T-FABRIKAM")).exit, 0);
    const secondResult = await svc("router offboard --workspace 1 --confirm eu-1");
    assert.deepEqual(
      [secondResult.exit, secondResult.stdout, secondResult.stderr],
      [0, "", "Nothing is mapped to workspace 1\n"],
    );
  });

  it("rejects a real service", async (t) => {
    const { svc, service } = await createBulkFixture(t, []);
    const { exit, stderr } = await svc("router offboard --workspace 1 --confirm eu-1");
    assert.deepEqual([exit, service.calls], [2, []]);
    assert.match(
      stderr,
      /^error: --workspace requires an emulator. Other services do not list the identifiers of a workspace$/m,
    );
  });

  it("requires a cluster without a workspace", async (t) => {
    const { svc } = await createBulkFixture(t, []);
    const { exit, stderr } = await svc("router offboard --client-ids a");
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: <cluster-id> is required"]);
  });
});
