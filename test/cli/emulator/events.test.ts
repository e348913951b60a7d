import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createDraftContract } from "../../support/contracts.ts";

describe("svc emulator events", () => {
  it("prints one document per line and resumes after the last document", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const first = startCommand(svc, ["emulator", "events", "--json"]);
    await first.saw('"begin"');
    await createDraftContract(emulator.api);
    await first.saw('"request:');
    first.signal("SIGINT");
    await first.completion;
    const [, contract, request] = first.events().filter(({ event }) => event !== "clock");
    assert.deepEqual([contract?.event, contract?.ref, request?.event], ["contract", "T-1", "request"]);

    await createDraftContract(emulator.api);
    const next = startCommand(svc, ["emulator", "events", "--json", "--after", String(request?.id)]);
    await next.saw('"T-2"');
    next.signal("SIGINT");
    await next.completion;
    assert.deepEqual(
      next.events().filter(({ ref }) => ref === "T-1"),
      [],
    );
  });

  it("counts its followers in svc emulator status", async (t) => {
    const { svc } = await startCliEmulator(t);
    const streams = async () => JSON.parse((await svc("emulator status --json")).stdout).event_streams;
    assert.equal(await streams(), 0);
    const stream = startCommand(svc, ["emulator", "events", "--json"]);
    await stream.saw('"begin"');
    assert.equal(await streams(), 1);
    stream.signal("SIGINT");
    await stream.completion;
  });
});
