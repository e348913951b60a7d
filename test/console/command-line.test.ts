import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatApiCommand } from "../../src/console/api/operations.ts";
import { deriveConsoleOperations } from "../../src/derive/specs.ts";

const outlines = deriveConsoleOperations();

describe("command line of a console action", () => {
  it("includes the arguments of the call", () =>
    assert.deepEqual(
      [
        formatApiCommand(outlines["clock.advance"]!, { body: { by: "PT5M" } }),
        formatApiCommand(outlines["clock.advance"]!, { body: { until_idle: true } }),
        formatApiCommand(outlines["deliveries.resend"]!, { params: { id: 7 } }),
        formatApiCommand(outlines["emulator-contracts.sign"]!, {
          params: { id: "T-1" },
          body: { email: "jo@acme.example" },
        }),
        formatApiCommand(outlines["snapshots.remove"]!, { params: { name: "prepared" } }),
        formatApiCommand(outlines["owners.list"]!, { query: { identifier: "it's; rm -rf" } }),
        formatApiCommand(outlines["faults.add"]!, { body: { direction: "incoming", status: 503, count: undefined } }),
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
});
