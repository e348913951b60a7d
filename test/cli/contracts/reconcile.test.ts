import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createDraftContract, createExecutedImport, requireContract } from "../../support/contracts.ts";

interface Row {
  readonly contract: string;
  readonly contract_status: string;
  readonly activity: string;
  readonly at: string | null;
}

const summarizeRows = (rows: readonly Row[]) => rows.map(({ contract, activity, at }) => [contract, activity, at]);
const minute = 60_000;

describe("svc contracts reconcile", () => {
  it("lists the webhook deliveries that the state of contracts implies since a given time", async (t) => {
    const { json, svc, emulator } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    await emulator.clock.advance({ by: 60 * minute });
    await json("contracts send T-1");
    await emulator.clock.advance({ by: minute });
    await json("emulator sign T-1");
    await json("contracts create --data -", { stdin: ndaContractJson });
    await json("contracts void T-2 --note lost --confirm T-2");
    await requireContract(
      emulator.api("POST", "/api/v2.1/public/contracts/executed_contracts/", { body: await createExecutedImport() }),
    );
    const found = summarizeRows(await json<Row[]>("contracts reconcile --since 30m"));
    const [sent, signed] = ["2031-01-02T04:04:05Z", "2031-01-02T04:05:05Z"];
    assert.deepEqual(found, [
      ["T-1", "CONTRACT_SIGNATURE_REQUESTED", sent],
      ["T-1", "CONTRACT_SIGNED", signed],
      ["T-1", "CONTRACT_EXECUTED", signed],
      ["T-2", "CONTRACT_CREATED", signed],
      ["T-2", "CONTRACT_VOIDED", null],
      ["H-3", "CONTRACT_CREATED", signed],
    ]);
    assert.deepEqual(
      summarizeRows(
        await json<Row[]>("contracts reconcile --since 2031-01-02T04:05:05Z --activities contract_executed"),
      ),
      [["T-1", "CONTRACT_EXECUTED", signed]],
    );
    assert.deepEqual(await svc("contracts reconcile --since 2031-01-03T00:00:00Z"), {
      exit: 0,
      stdout: "",
      stderr: "No webhook was due, because no contract changed\n",
    });
  });

  it("suggests to resend the webhooks of at most 50 contracts at once", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    for (let i = 0; i < 51; i += 1) await createDraftContract(emulator.api);
    const { stderr } = await svc("contracts reconcile --since 1h --received -", { stdin: "" });
    const ids = Array.from({ length: 50 }, (_, i) => ` --contract-ids ${i + 1}`).join("");
    assert.equal(
      stderr,
      `51 of 51 webhooks missing (0 received). To resend the last one of the first 50 contracts: svc webhooks re-trigger${ids}\n`,
    );
  });

  it("expects no review of a contract that was sent for signature twice", async (t) => {
    const { json, emulator } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: ndaContractJson });
    await json("contracts send T-1");
    await json("contracts unmark T-1");
    await emulator.clock.advance({ by: minute });
    await json("contracts mark T-1");
    assert.deepEqual(summarizeRows(await json<Row[]>("contracts reconcile --since 1h")), [
      ["T-1", "CONTRACT_CREATED", "2031-01-02T03:04:05Z"],
      ["T-1", "CONTRACT_SIGNATURE_REQUESTED", "2031-01-02T03:05:05Z"],
    ]);
  });

  it("reports the deliveries that a receiver missed, based on its saved deliveries", async (t) => {
    const { json, svc, emulator, cwd } = await startCliEmulator(t);
    const argv = ["webhooks", "listen", "--save", "hooks", "--count", "3", "--json"];
    const activities = ["CONTRACT_CREATED", "CONTRACT_SIGNATURE_REQUESTED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"];
    const listener = startCommand(svc, [...argv, "--activities", activities.join(",")]);
    await listener.saw('"ready"');
    await json("contracts create --data -", { stdin: ndaContractJson });
    await json("contracts send T-1");
    await json("emulator sign T-1");
    await emulator.clock.advance({ by: minute });
    // Three of four deliveries arrive.
    await listener.completion;
    const since = ["contracts", "reconcile", "--since", "2031-01-02T03:04:05Z", "--received"];
    const some = await svc([...since, "hooks", "--json"]);
    const rows = JSON.parse(some.stdout) as Row[];
    assert.deepEqual([some.exit, rows.length], [1, 1], some.stdout);
    assert.equal(
      some.stderr,
      "1 of 4 webhooks missing (3 received). To resend the last one of each contract: svc webhooks re-trigger --contract-ids 1\n",
    );
    const { items } = (await emulator.control("GET", "deliveries?limit=50")).body as { items: { id: number }[] };
    const bodies = await Promise.all(
      items.map(
        async ({ id }) => (await json<{ request_body: string }>(`emulator deliveries show ${id}`)).request_body,
      ),
    );
    // A repeated delivery counts once.
    await writeFile(join(cwd, "all.ndjson"), [...bodies, ...bodies].join("\n"));
    assert.deepEqual(await svc([...since, "all.ndjson"]), {
      exit: 0,
      stdout: "",
      stderr: "No webhooks are missing (4 webhooks checked)\n",
    });
    await rm(join(cwd, "all.ndjson"));
    await writeFile(join(cwd, "none.ndjson"), "");
    const result = await svc([...since, "none.ndjson", "--json"]);
    assert.deepEqual([result.exit, (JSON.parse(result.stdout) as Row[]).length], [1, 4]);
    assert.equal(result.stderr, some.stderr.replace("1 of 4 webhooks missing (3", "4 of 4 webhooks missing (0"));
    await writeFile(join(cwd, "other.log"), `${bodies.join("\n")}\n{ "level": "info" }\nstarted\n`);
    assert.deepEqual(await svc([...since, "other.log"]), {
      exit: 0,
      stdout: "",
      stderr: `warning: --received: skipped 2 of 6 payloads without an activity. Each line of a file must be the JSON of one webhook.
No webhooks are missing (4 webhooks checked)
`,
    });
  });

  it("counts two signatures at the same time as two webhooks", async (t) => {
    const { json, svc, emulator, cwd } = await startCliEmulator(t);
    const [jo, kim] = ["jo@acme.example", "kim@acme.example"].map((email) => ({
      is_individual: true,
      poc_details: { first_name: "K", email },
    }));
    const body = { contract_template_id: 101, contract_data: {}, counter_party_details: [jo, kim] };
    await json("contracts create --data -", { stdin: JSON.stringify(body) });
    await json("contracts send T-1");
    for (let n = 0; n < 2; n += 1) await json("emulator sign T-1");
    const { rows } = (await emulator.control("GET", "state")).body as { rows: { webhook_events: { body: string }[] } };
    await writeFile(join(cwd, "all.ndjson"), rows.webhook_events.map((event) => event.body).join("\n"));
    assert.deepEqual(await svc("contracts reconcile --since 1h --received all.ndjson"), {
      exit: 0,
      stdout: "",
      stderr: "No webhooks are missing (5 webhooks checked)\n",
    });
  });

  for (const [argv, message] of [
    ["", "error: --since is required"],
    ["--since 5", 'error: --since must be an ISO time or a duration (2031-01-02T03:04:05Z, 2h), got "5"'],
    ["--since soon", 'error: --since must be an ISO time or a duration (2031-01-02T03:04:05Z, 2h), got "soon"'],
    [
      "--since 2h --activities CONTRACT_DELETED",
      'error: --activities must be activities that leave a trace in a contract, got "CONTRACT_DELETED"',
    ],
    ["--since 2h --received nosuch", "error: --received: cannot read nosuch: no such file"],
  ] as const) {
    it(`exits with 2 for "${argv}"`, async (t) => {
      const { svc } = await startCliEmulator(t);
      const { exit, stderr } = await svc(`contracts reconcile ${argv}`);
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, message]);
    });
  }
});
