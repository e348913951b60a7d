import assert from "node:assert/strict";
import { it } from "node:test";
import { cliEmulator } from "../../support/cli/cli-emulator.ts";

it("what does not exist leads to the list of what does", async (t) => {
  const { svc } = await cliEmulator(t);
  for (const [line, list] of [
    ["contracts status T-99", "contracts list"],
    ["contracts send T-99", "contracts list"],
    ["webhooks delete 9 --yes", "webhooks list"],
  ] as const) {
    const { err } = await svc(line);
    assert.ok(err.endsWith(`  try: svc ${list}\n`), `${line}: ${err}`);
  }
});

it("what does not exist exits 5 in every command, whatever it was to be asked or told", async (t) => {
  const { svc } = await cliEmulator(t);
  const lines = [
    "contracts status T-9",
    "contracts send T-9",
    "contracts send T-9 --wait executed",
    "webhooks delete 9 --yes",
    "emulator sign T-9",
    "emulator device approve WDJB-MJHT",
    "router show-client nobody",
  ];
  const codes: Record<string, number> = {};
  for (const line of lines) codes[line] = (await svc(line)).exit;
  assert.deepEqual(codes, Object.fromEntries(lines.map((line) => [line, 5])));
});
