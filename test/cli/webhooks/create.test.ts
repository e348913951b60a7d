import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";

describe("svc webhooks create", () => {
  it("explains the service's single message about addresses", async (t) => {
    const { svc } = await startCliEmulator(t);
    const hints = [];
    for (const url of [
      "http://hooks.example/x",
      "http://localhost:99999",
      "localhost:3000/hooks",
      "ftp://x.example",
      "http://ada:pw@localhost:3000/hooks",
      "http://localhost:3000/my hooks",
    ]) {
      const { exit, stderr } = await svc(["webhooks", "create", "--title", "t", "--url", url, ...signed]);
      const [error, hint] = stderr.split("\n");
      assert.deepEqual([exit, error], [1, "error: url: Enter a valid HTTPS URL (HTTP 400)"], url);
      hints.push(hint);
    }
    assert.deepEqual(hints, [
      "  http:// is allowed only for a receiver on the emulator's machine. Use https://, or restart the emulator with --webhook-allow hooks.example.",
      "  Port 99999 is too large. The maximum is 65535.",
      "  The address has no scheme. Begin it with https://, or with http:// on this machine.",
      "  Webhooks require https://, not ftp://.",
      "  The address must not contain a user name or a password.",
      "  The address must not contain a blank or a control character.",
    ]);
  });

  it("prompts a user until the address is valid, and for any number of activities", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const clear = "\u0015";
    const ada = simulateUser(
      ["Title", `Mine${enterKey}`],
      ["Url", `foo${enterKey}`],
      ["The address has no scheme", `${clear}http://127.0.0.1:9/hooks${enterKey}`],
      ["Only for activities", ` \u001b[B ${enterKey}`],
    );
    const { exit, stderr } = await svc("webhooks create", ada);
    assert.deepEqual([exit, ada.waiting()], [0, []], stripVTControlCharacters(stderr));
    const [webhook] = await json<{ url: string; only_for_activities: string[] }[]>("webhooks list");
    assert.deepEqual([webhook!.url, webhook!.only_for_activities.length], ["http://127.0.0.1:9/hooks", 2]);
  });
});

const signed = ["--only-for-activities", "CONTRACT_SIGNED"];
