import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCommands } from "../support/cli/all-commands.ts";
import { triedOut } from "../support/cli/examples-stage.ts";

describe("the examples of all help pages", () => {
  it("work, one by one, against an emulator with the demo seed", async (t) => {
    const examples = (await allCommands()).flatMap((command) => command.examples);
    assert.deepEqual(await triedOut(t, examples), { wrong: {}, unused: [] });
  });
});
