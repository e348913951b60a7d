import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainUnusable } from "../../../../emulator/store/file/file-store.ts";

const createSystemError = (code: string) => Object.assign(new Error(`${code}: said the system`), { code });
const path = "/data/emulator.json";

describe("explanation of a startup system error", () => {
  for (const [code, reason, next] of [
    ["EROFS", "the file system is read-only", "Choose another file with the option file, or use the option ephemeral."],
    ["EMFILE", "too many files are open", "Raise the limit (ulimit -n), or close other programs."],
    [
      "EACCES",
      "permission is denied",
      "Grant this user read and write access, choose another file with the option file, or use the option ephemeral.",
    ],
  ] as const) {
    it(`describes ${code} as: ${reason}`, () =>
      assert.throws(() => explainUnusable(path, createSystemError(code)), {
        name: "StateAccessError",
        message: `The state ${path} cannot be opened: ${reason}. ${next}`,
      }));
  }

  it("returns an unknown error unchanged", () =>
    assert.throws(() => explainUnusable(path, createSystemError("EWHATEVER")), {
      message: "EWHATEVER: said the system",
    }));
});
