import assert from "node:assert/strict";
import { it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";

it("a list with an offset beyond its last row reports the total in every format", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  const note = "Nothing from --page 99; the total is 3. For all: --all\n";
  const plain = await svc("contracts list --page 99");
  assert.deepEqual([plain.exit, plain.stdout, plain.stderr], [0, "", note]);
  const json = await svc("contracts list --page 99 --json=id");
  assert.deepEqual([json.exit, json.stdout, json.stderr], [0, "[]\n", note]);
  const offset = await svc("emulator contracts --offset 7");
  assert.deepEqual([offset.stdout, offset.stderr], ["", "Nothing from --offset 7; the total is 3. For all: --all\n"]);
  assert.equal((await svc("contracts list --page 99 --quiet")).stderr, "");
});

it("an empty list names the flags that excluded all rows instead of suggesting a first object", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  await createDraftContract(emulator.api);
  const [contractList, two] = [
    await svc("contracts list --query nowhere"),
    await svc("emulator requests --service storage --status 418"),
  ];
  assert.deepEqual(
    [contractList.exit, contractList.stdout, contractList.stderr],
    [0, "", "Nothing found with --query\n"],
  );
  assert.equal(two.stderr, "Nothing found with --service and --status\n");
});
