import assert from "node:assert/strict";
import { it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";

it("svc suggests the list command for a missing object", async (t) => {
  const { svc, json } = await startCliEmulator(t);
  await json("contracts create --data -", { stdin: ndaContractJson });
  for (const [line, list] of [
    ["contracts status T-99", "contracts list"],
    ["contracts send T-99", "contracts list"],
    ["webhooks delete 9 --yes", "webhooks list"],
    ["webhooks re-trigger --contract-ids 99", "contracts list"],
    ["router add-signatories --set signatory_hash=5d --set cluster=xx-9", "router clusters"],
    ["contracts notes show T-99", "contracts list"],
    ["contracts key-pointers list T-99", "contracts list"],
    ["contracts counterparties show 99", "contracts counterparties list"],
    ["contracts templates show 999", "contracts templates list"],
    ["contracts contacts list 99", "contracts counterparties list"],
    ["contracts contacts delete 1 99 --yes", "contracts contacts list 1"],
    ["contracts key-pointers update T-1 99 --set value=1", "contracts key-pointers list T-1"],
  ] as const) {
    const { stderr } = await svc(line);
    assert.ok(stderr.endsWith(`  try: svc ${list}\n`), `${line}: ${stderr}`);
  }
});

it("svc suggests no list of webhooks for a real service, which has none", async (t) => {
  const { svc } = await startCliEmulator(t);
  const env = { SVC_EMULATOR_URL: "", SVC_EMULATOR_TOKEN: "" };
  const { exit, stderr } = await svc("webhooks delete 9 --yes", { env });
  assert.deepEqual([exit, stderr], [5, "error: Webhook 9 not found (HTTP 404)\n"]);
});

it("svc suggests a command for a rejected contract status and for an ID in a body", async (t) => {
  const { svc, json } = await startCliEmulator(t);
  for (let count = 0; count < 3; count += 1) await json("contracts create --data -", { stdin: ndaContractJson });
  await svc("emulator request-approval T-2");
  await svc("emulator request-review T-3");
  for (const [line, next] of [
    ["emulator sign T-1", "contracts send T-1"],
    ["emulator sign 1", "contracts send T-1"],
    ["contracts send T-2", "emulator approve T-2"],
    ["contracts mark T-3", "emulator complete-review T-3"],
    [
      "contracts create --contract-template-id 999 --set contract_data={} --set counter_party_details=[]",
      "contracts templates list",
    ],
  ] as const) {
    const { exit, stderr } = await svc(line);
    assert.deepEqual([exit, stderr.endsWith(`  try: svc ${next}\n`)], [1, true], `${line}: ${stderr}`);
  }
});

it("a service error names the object and the expected status", async (t) => {
  const { svc, json } = await startCliEmulator(t);
  await json("contracts create --data -", { stdin: ndaContractJson });
  const hash = "a".repeat(64);
  const expected = {
    "contracts status T-9": "Contract T-9 not found (HTTP 404)",
    "contracts status T-1\r": "Not found: GET /api/v2.1/public/contracts/T-1%0D/status (HTTP 404)",
    "contracts templates show 999": "Template 999 not found (HTTP 404)",
    "contracts contacts list 77": "Counterparty 77 not found (HTTP 404)",
    "webhooks delete 9 --yes": "Webhook 9 not found (HTTP 404)",
    "intake show 9": "Intake 9: You do not have permission to perform this action (HTTP 403)",
    "emulator sign T-1": "Cannot sign T-1: status is DRAFT, expected SIGN (HTTP 400)",
    "emulator sign 1": "Cannot sign T-1: status is DRAFT, expected SIGN (HTTP 400)",
    "emulator resume T-1": "Cannot resume T-1: status is DRAFT, expected ON_HOLD (HTTP 400)",
    "router show-client nobody": "Client nobody: No cluster mapping for this client id (HTTP 404)",
    [`router show-email ${hash}`]: "E-mail hash aaaaaaaaaaaa…: No cluster mapping for this email hash (HTTP 404)",
    "invites info --token x": "Invitation not found (HTTP 404)",
    "contracts external-metadata put T-1 --set external_metadata.record_type=x --set external_metadata.object_configuration_id=00000000-0000-4000-8000-000000000000":
      "Contract T-1: Object configuration not found (HTTP 404)",
    "api GET /api/v2.1/public/contracts/T-9/status": "Contract T-9 not found (HTTP 404)",
    "api GET /api/v2.1/public/contracts/T-1/recipient":
      "Not found: GET /api/v2.1/public/contracts/T-1/recipient (HTTP 404)",
  };
  const messages: Record<string, string> = {};
  for (const line of Object.keys(expected))
    messages[line] = (await svc(line)).stderr.split("\n")[0]!.replace(/^error: /, "");
  assert.deepEqual(messages, expected);
});

it("svc suggests the composite ID for a plain contract number", async (t) => {
  const { svc } = await startCliEmulator(t);
  const formatNotFound = (id: string) => `error: Contract ${id} not found (HTTP 404)`;
  const hint = "  Use the composite ID of the contract. Did you mean T-2?";
  const list = "  try: svc contracts list";
  const linesByReference = {
    2: [formatNotFound("2"), hint, list, ""],
    "02": [formatNotFound("02"), hint, list, ""],
    "T-02": [formatNotFound("T-02"), hint, list, ""],
    0: [formatNotFound("0"), list, ""],
    "99999999999999999999": [formatNotFound("99999999999999999999"), list, ""],
  };
  for (const [reference, lines] of Object.entries(linesByReference)) {
    const { exit, stderr } = await svc(`contracts status ${reference}`);
    assert.deepEqual([reference, exit, stderr], [reference, 5, lines.join("\n")]);
  }
});

it("every command exits with 5 for a missing object", async (t) => {
  const { svc } = await startCliEmulator(t);
  const lines = [
    "contracts status T-9",
    "contracts send T-9",
    "contracts send T-9 --wait executed",
    "contracts send T-9 --wait EXECUTED",
    "webhooks delete 9 --yes",
    "emulator sign T-9",
    "emulator device approve WDJB-MJHT",
    "router show-client nobody",
  ];
  const codes: Record<string, number> = {};
  for (const line of lines) codes[line] = (await svc(line)).exit;
  assert.deepEqual(codes, Object.fromEntries(lines.map((line) => [line, 5])));
});

it("a 403 for a missing intake lists possible reasons and suggests the list of intakes", async (t) => {
  const { svc } = await startCliEmulator(t);
  for (const line of ["intake show 1", "intake update 1 --title New", "intake delete 1 --yes"]) {
    const { exit, stderr } = await svc(line);
    assert.deepEqual(
      [exit, stderr],
      [
        4,
        [
          "error: Intake 1: You do not have permission to perform this action (HTTP 403)",
          "  The object may not exist, may belong to another workspace, or may be hidden from this user.",
          "  try: svc intake list",
          "",
        ].join("\n"),
      ],
      line,
    );
  }
});
