import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCommands } from "../support/cli/all-commands.ts";
import { staged } from "./examples-stage.ts";

/** These go on until something else ends them, or run what is not there: tests of their own run their like. */
const endless =
  /^emulator (start|exec)|^tour|--follow$|^emulator watch-requests|^webhooks listen|device-login|--wait |--edit$/;

/** Examples that speak of what no demo can hold, with the exit code that says so. */
const elsewhere: Readonly<Record<string, readonly [exit: number, starts: readonly string[]]>> = {
  "no page was shown that holds this form": [4, ["emulator device-form", "emulator provider-form"]],
  "the state is kept in memory": [2, ["emulator repair"]],
  "no provider gave this code, this state or this token": [
    1,
    ["auth oauth-callback", "auth oauth-signup-callback", "oidc token", "trial oauth-"],
  ],
  "no contract has a DOCX": [1, ["contracts download-docx"]],
  "no upload has this id": [5, ["files download", "files show"]],
  "no upload has this id either": [1, ["intake create --title Review the reseller"]],
  "not everybody has signed yet": [8, ["contracts status T-1 --exit-status"]],
  "the signature is cut short": [1, ["webhooks verify body.json", "webhooks explain"]],
  "scripts repeat the name of what they destroy": [2, ["router offboard eu-1 --client-ids"]],
  "scripts do not type secrets": [2, ["config set cluster_keys"]],
  "no job has this id": [5, ["router jobs resume job_"]],
  "nobody is signed in": [4, ["auth status", "auth token", "auth refresh", "oidc userinfo"]],
  "no issuer made this token": [4, ["chat-b messaging --file activity.json --token-file", "chat-b messaging --file -"]],
  "nobody signed this request": [4, ["crm-b open --signed-request"]],
};

const beginnings = Object.values(elsewhere).flatMap(([exit, starts]) => starts.map((start) => ({ exit, start })));

describe("the examples of all help pages", () => {
  it("work, one by one, against an emulator with the demo seed", async (t) => {
    const wrong: Record<string, string> = {};
    const unused = new Set(beginnings.map(({ start }) => start));
    for (const { examples } of await allCommands()) {
      for (const example of examples) {
        const line = example.argv.join(" ");
        if (endless.test(line)) continue;
        const { exit, err } = await staged(t, example);
        const other = beginnings.find(({ start }) => line.startsWith(start));
        if (other) unused.delete(other.start);
        if (exit !== (other?.exit ?? 0)) wrong[line] = `${exit} ${err.split("\n")[0]}`;
      }
    }
    assert.deepEqual({ wrong, unused: [...unused] }, { wrong: {}, unused: [] });
  });
});
