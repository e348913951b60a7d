import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { used } from "../../src/console/api/operations.ts";
import { commandLine } from "../../src/console/api/session.ts";
import { consoleOperations } from "../../src/derive/console-operations.ts";

const outlines = consoleOperations(used);

describe("the command that a button of the console equals", () => {
  it("names what the call names", () =>
    assert.deepEqual(
      [
        commandLine(outlines["clock.advance"]!, { body: { by: "PT5M" } }),
        commandLine(outlines["clock.advance"]!, { body: { until_idle: true } }),
        commandLine(outlines["deliveries.resend"]!, { params: { id: 7 } }),
        commandLine(outlines["emulator-contracts.sign"]!, {
          params: { id: "T-1" },
          body: { email: "jo@acme.example" },
        }),
        commandLine(outlines["snapshots.remove"]!, { params: { name: "prepared" } }),
        commandLine(outlines["owners.list"]!, { query: { identifier: "it's; rm -rf" } }),
        commandLine(outlines["faults.add"]!, { body: { direction: "incoming", status: 503, count: undefined } }),
      ],
      [
        "svc emulator clock advance --by PT5M",
        "svc emulator clock advance --until-idle",
        "svc emulator deliveries resend 7",
        "svc emulator sign T-1 --email jo@acme.example",
        "svc emulator snapshot remove prepared --yes",
        "svc emulator owners --identifier 'it'\\''s; rm -rf'",
        "svc emulator fault add --direction incoming --status 503",
      ],
    ));

  it("refuses an operation that is not declared", () =>
    assert.throws(() => consoleOperations(["clock.stop"]), /No operation is called clock.stop/));
});
