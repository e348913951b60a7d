import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stylesheetHash } from "../../../../emulator/http/page.ts";
import {
  bilateralSigning,
  type ContractIds,
  createDraftContract,
  createSentContract,
  initialTime,
  listRecipients,
} from "../../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

describe("signatory list of a contract", () => {
  it("lists the contacts of the counterparties with the data of recipients", async (t) => {
    const { api } = await startTestEmulator(t);
    const contract = await createSentContract(api);
    assert.deepEqual(pickStatusAndBody(await api("GET", `/api/v2.1/public/contracts/${contract.id}/recipients/`)), {
      status: 200,
      body: {
        items: [
          {
            recipient: {
              id: 1,
              recipient_type: "SIGNATORY",
              user: { id: 1, email: "jo@acme.example", name: "Jo Doe", designation: null },
              recipient_order: 1,
              note: null,
              created: initialTime,
              title: "",
              is_sent_for_signature: true,
              last_sent_for_signature_at: initialTime,
            },
            recipient_action: null,
            status: "IN_PROGRESS",
          },
        ],
      },
    });
  });

  it("reports PENDING until the contract is sent and it is the signatory's turn", async (t) => {
    const { api } = await startTestEmulator(t);
    const contract = await createDraftContract(api, bilateralSigning);
    assert.deepEqual(await listRecipients(api, contract), ["ada@northwind.example PENDING", "jo@acme.example PENDING"]);
    await api("POST", `/api/v2.1/public/contracts/${contract.id}/send_to_counterparties`, { body: {} });
    assert.deepEqual(await listRecipients(api, contract), [
      "ada@northwind.example PENDING",
      "jo@acme.example IN_PROGRESS",
    ]);
  });
});

describe("user ID assignment of a contract", () => {
  const peopleOf = async ({ api }: TestEmulator, contract: ContractIds) => {
    const { body } = await api("GET", `/api/v2.1/public/contracts/${contract.id}/recipients/`);
    const { items } = body as { items: { recipient: { user: { id: number; email: string } } }[] };
    return items.map(({ recipient: { user } }) => [user.email, user.id] as const);
  };
  const outsiders = Array.from({ length: 12 }, (_, i) => `p${i + 1}@acme.example`);
  const signedBy = (...addresses: readonly string[]) => ({
    contract_template_id: 102,
    contract_data: { start_date: "2031-02-01", seats: 3 },
    signatories: [
      { name: "Ada", email: "ada@northwind.example", is_counterparty_signatory: false },
      ...addresses.map((email) => ({
        name: email,
        email,
        is_counterparty_signatory: true,
        counterparty_name: "Acme Inc.",
      })),
    ],
  });

  it("assigns unique IDs to members and outsiders, identical on every contract", async (t) => {
    const emulator = await startTestEmulator(t);
    const people = await peopleOf(emulator, await createDraftContract(emulator.api, signedBy(...outsiders)));
    // User IDs of the seed are 11 to 13, 21 and 31.
    assert.deepEqual(people, [
      ["ada@northwind.example", 11],
      ...outsiders.map((email, i) => [email, i < 10 ? i + 1 : i + 4]),
    ]);
    assert.deepEqual(
      await peopleOf(
        emulator,
        await createDraftContract(emulator.api, signedBy("P12@acme.example", "p1@acme.example")),
      ),
      [
        ["ada@northwind.example", 11],
        ["P12@acme.example", 15],
        ["p1@acme.example", 1],
      ],
    );
  });

  it("assigns unique IDs in a workspace created later", async (t) => {
    const emulator = await startTestEmulator(t);
    await createDraftContract(emulator.api, signedBy("p1@acme.example", "p2@acme.example"));
    const signup = { email: "zoe@newco.example", captcha: "yes" };
    const { token } = (await emulator.router("POST", "/router/v1/trial/signup", { body: signup })).body as {
      token: string;
    };
    const form = { token, first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "x", use_case: "x" };
    assert.equal((await emulator.router("POST", "/router/v1/trial/signup/complete", { body: form })).status, 200);
    const { rows } = (await emulator.control("GET", "state")).body as {
      rows: { users: { id: number; email: string }[] };
    };
    assert.deepEqual(rows.users.find(({ email }) => email === signup.email)?.id, 3);
  });
});

describe("contract outside the workspace", () => {
  const routes: readonly (readonly [string, string])[] = [
    ["POST", "send_to_counterparties"],
    ["GET", "status"],
    ["GET", "recipients/"],
  ];
  for (const [method, tail] of routes) {
    it(`returns 404 from ${method} …/${tail} for unknown, foreign and malformed IDs`, async (t) => {
      const emulator = await startTestEmulator(t);
      await createDraftContract(emulator.api);
      const send = (id: string) =>
        emulator.api(method, `/api/v2.1/public/contracts/${id}/${tail}`, method === "POST" ? { body: {} } : {});
      for (const id of ["T-999", "H-1", "1", "t-1", "T-01"])
        await assertRejected(emulator, () => send(id), notFoundResponse);
      const otherApi = await createWorkspaceApi(emulator, 2);
      await assertRejected(
        emulator,
        () => otherApi(method, `/api/v2.1/public/contracts/T-1/${tail}`, method === "POST" ? { body: {} } : {}),
        notFoundResponse,
      );
    });
  }

  it("returns 404 for a contract number", async (t) => {
    const emulator = await startTestEmulator(t);
    const path = "/api/v2.1/public/contracts/7/recipients/recipient_link/?recipient_email=jo@acme.example";
    await assertRejected(emulator, () => emulator.api("GET", path), notFoundResponse);
  });

  it("returns 404 for the contract page, even at another cluster", async (t) => {
    const { api, clusters } = await startTestEmulator(t);
    const [here, there] = clusters.map(({ url }) => `${url}/contracts/T-1`);
    assert.equal((await fetch(here!)).status, 404);
    await createDraftContract(api);
    assert.deepEqual([(await fetch(here!)).status, (await fetch(there!)).status], [200, 404]);
  });
});

it("contract page escapes names, loads no resources and may be framed", async (t) => {
  const emulator = await startTestEmulator(t);
  const name = "<script>alert('NDA & co')</script>";
  await createDraftContract(emulator.api, { contract_name: name });
  const page = await fetch(`${emulator.clusters[0]!.url}/contracts/T-1`);
  assert.deepEqual(
    ["content-type", "content-security-policy"].map((header) => page.headers.get(header)),
    [
      "text/html; charset=utf-8",
      `default-src 'none'; style-src 'sha256-${stylesheetHash}'; base-uri 'none'; form-action 'self'`,
    ],
  );
  const text = await page.text();
  assert.equal(text.includes("<script>"), false);
  assert.match(text, /<h1>&#60;script&#62;alert\(&#39;NDA &#38; co&#39;\)/);
});

it("contract numbers form one sequence across clusters", async (t) => {
  const emulator = await startTestEmulator(t);
  const otherApi = await createWorkspaceApi(emulator, 3);
  assert.equal((await createDraftContract(emulator.api)).id, "T-1");
  assert.equal((await createDraftContract(otherApi, { contract_template_id: 106 })).id, "T-2");
});
