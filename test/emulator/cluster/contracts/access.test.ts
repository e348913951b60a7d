import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDraftContract, createFieldErrors, initialTime } from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse, waitUntilIdle } from "../../../support/rejections.ts";

const max = "max@northwind.example";
const time = "2031-01-02T03:04:05.000Z";

const invite = ({ api }: TestEmulator, items: unknown, contract: number | string = 1) =>
  api("POST", `/api/v2.1/public/contracts/${contract}/invite/`, { body: { items } });

const emptyResponse = { status: 200, body: "" };
const readPermission = { permission_name: "CONTRACT.READ" };

const getAccess = async ({ control }: TestEmulator) =>
  ((await control("GET", "contracts/T-1")).body as { access: unknown }).access;

/** Whether Ben sees the contract with Enforce-User-Scoping. */
async function canBenRead({ api }: TestEmulator): Promise<boolean> {
  const headers = { "user-email": "ben@northwind.example", "enforce-user-scoping": "true" };
  return (await api("GET", "/api/v2.1/public/contracts/T-1/status", { headers })).status === 200;
}

describe("contract-details.invite", () => {
  it("grants a user access with the most recently assigned permission", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    assert.equal(await canBenRead(emulator), false);
    assert.deepEqual(
      pickStatusAndBody(await invite(emulator, [{ user_id: 12, ...readPermission, note: "Please look" }])),
      emptyResponse,
    );
    assert.equal(await canBenRead(emulator), true);
    const row = {
      user: { id: 12, name: "Ben Okafor", email: "ben@northwind.example" },
      role: null,
      ...readPermission,
      note: "Please look",
      invited_at: time,
    };
    assert.deepEqual(await getAccess(emulator), [row]);
    await invite(emulator, [{ user_id: 12, permission_name: "CONTRACT.SIGN" }]);
    assert.deepEqual(await getAccess(emulator), [{ ...row, permission_name: "CONTRACT.SIGN", note: null }]);
  });

  it("grants access to all users with a role", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    assert.deepEqual(pickStatusAndBody(await invite(emulator, [{ role_id: 1, ...readPermission }])), emptyResponse);
    assert.equal(await canBenRead(emulator), false);
    await invite(emulator, [{ role_id: 2, ...readPermission }]);
    assert.equal(await canBenRead(emulator), true);
    assert.deepEqual(await getAccess(emulator), [
      { user: null, role: { id: 1, name: "Legal" }, ...readPermission, note: null, invited_at: time },
      { user: null, role: { id: 2, name: "Reviewer" }, ...readPermission, note: null, invited_at: time },
    ]);
  });

  it("invites a new user to the workspace once and registers the token", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    const rows = [
      { new_user_email: max, ...readPermission },
      { new_user_email: max.toUpperCase(), permission_name: "CONTRACT.EDIT" },
      { new_user_email: "ben@northwind.example", ...readPermission },
    ];
    assert.deepEqual(pickStatusAndBody(await invite(emulator, rows)), emptyResponse);
    await waitUntilIdle(emulator);
    const { items } = (await emulator.control("GET", "invitations?kind=creator")).body as {
      items: { token: string; email: string | null; state: string }[];
    };
    const { token } = items[0]!;
    assert.deepEqual(
      items.map(({ email, state }) => [email, state]),
      [
        [max, "PENDING"],
        [null, "PENDING"],
      ],
    );
    const owners = (await emulator.control("GET", `owners?identifier=${token}`)).body;
    assert.deepEqual(owners, [{ table: "creator_tokens", key: token, cluster_id: "eu-1" }]);
    const emails = (await emulator.control("GET", `emails?recipient=${max}`)).body as { items: object[] };
    assert.equal(emails.items.length, 1);
    const access = (await getAccess(emulator)) as { user: { email: string }; permission_name: string }[];
    assert.deepEqual(
      access.map(({ user, permission_name }) => [user.email, permission_name]),
      [
        [max, "CONTRACT.EDIT"],
        ["ben@northwind.example", "CONTRACT.READ"],
      ],
    );
    assert.equal((await emulator.control("POST", `invitations/by_token/${token}/accept`)).status, 200);
    await waitUntilIdle(emulator);
    assert.deepEqual((await emulator.control("GET", `owners?identifier=${token}`)).body, []);
    const headers = { "user-email": max, "enforce-user-scoping": "true" };
    assert.equal((await emulator.api("GET", "/api/v2.1/public/contracts/T-1/status", { headers })).status, 200);
  });

  it("returns 404 for an unknown contract number and a composite ID", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api);
    await assertRejected(emulator, () => invite(emulator, [{ user_id: 12, ...readPermission }], 2), notFoundResponse);
    await assertRejected(
      emulator,
      () => invite(emulator, [{ user_id: 12, ...readPermission }], "T-1"),
      notFoundResponse,
    );
  });

  const required = "Field required";
  const only = "Only one of user_id, role_id, new_user_email can be given";
  const invalid: [string, unknown, object][] = [
    ["a missing list", undefined, { items: [required] }],
    ["a row without a user or role", [{ ...readPermission }], { items: { 0: { user_id: [required] } } }],
    [
      "a row with user and role",
      [{ user_id: 12, role_id: 1, ...readPermission }],
      { items: { 0: { role_id: [only] } } },
    ],
    [
      "rows with an address and a user or role",
      [
        { user_id: 12, new_user_email: max, ...readPermission },
        { role_id: 1, new_user_email: max, ...readPermission },
        { user_id: 12, role_id: 1, new_user_email: max, ...readPermission },
      ],
      { items: { 0: { new_user_email: [only] }, 1: { new_user_email: [only] }, 2: { role_id: [only] } } },
    ],
    [
      "users and roles of another workspace",
      [
        { user_id: 21, ...readPermission },
        { role_id: 3, ...readPermission },
        { user_id: 12, ...readPermission },
        { user_id: 13, ...readPermission },
      ],
      {
        items: {
          0: { user_id: ['Invalid pk "21" - object does not exist.'] },
          1: { role_id: ['Invalid pk "3" - object does not exist.'] },
          3: { user_id: ['Invalid pk "13" - object does not exist.'] },
        },
      },
    ],
    [
      "an unknown permission",
      [{ user_id: 12, permission_name: "CONTRACT.OWN" }],
      {
        items: {
          0: {
            permission_name: [
              "Input should be 'CONTRACT.READ', 'CONTRACT.SUGGEST', 'CONTRACT.EDIT' or 'CONTRACT.SIGN'",
            ],
          },
        },
      },
    ],
  ];
  for (const [label, items, problems] of invalid) {
    it(`rejects ${label} with field errors, without changes`, async (t) => {
      const emulator = await startTestEmulator(t);
      await createDraftContract(emulator.api);
      await assertRejected(emulator, () => invite(emulator, items), createFieldErrors(problems));
    });
  }
});

describe("contracts.list-v1", () => {
  it("lists contracts by number, newest first, in pages", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api, { external_metadata: { id: "deal-1" } });
    const { id } = await createDraftContract(emulator.api);
    await createDraftContract(emulator.api);
    await emulator.control("POST", `contracts/${id}/delete`);
    const list = (query = "") => emulator.api("GET", `/api/v1/public/contracts/${query}`);
    const first = {
      id: 1,
      created: initialTime,
      contract_name: "NDA with Acme",
      contract_link: `${emulator.clusters[0]!.url}/contracts/T-1`,
      contract_status: "DRAFT",
      counter_party_name: "Acme Inc.",
      contract_type_name: "NDA",
      contract_type_id: 301,
      created_by_workspace: 1,
      external_metadata: { id: "deal-1" },
      reference_id: "SVC-1",
      created_by: "ada@northwind.example",
    };
    assert.deepEqual(pickStatusAndBody(await list("?page=2&limit=1")), {
      status: 200,
      body: { page: 2, limit: 1, total_results: 2, results: [first] },
    });
    const { results } = (await list()).body as { results: { id: number }[] };
    assert.deepEqual(
      results.map(({ id }) => id),
      [3, 1],
    );
    assert.deepEqual(
      pickStatusAndBody(await list("?limit=101")),
      createFieldErrors({ limit: ["Input should be less than or equal to 100"] }),
    );
  });
});
