import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bans, findBannedCalls } from "./calls.ts";
import { sources } from "./repository.ts";

describe("check for banned calls", () => {
  const examples = [
    "const now = Date.now();",
    "const now = new Date();",
    "const now = performance.now();",
    "setTimeout(() => {}, 5);",
    "const id = randomUUID();",
    "process.exit(1);",
    "host.stderr.write(text);",
    "await mkdir(path, { recursive: true });",
    "metadata: z.record(z.string(), z.string()),",
    "export const kinds: Readonly<Record<string, () => Kind>> = { a };",
  ];

  it("reports each banned call with line and remedy", () => {
    const found = examples.map((line) => findBannedCalls([{ path: "src/cli/x.ts", text: `/*\n*/\n${line}` }]));
    assert.deepEqual(
      found,
      bans.map(({ label, instead }) => [`src/cli/x.ts:3 has ${label}; use ${instead}`]),
    );
  });

  it("allows calls in their home module, in comments, and with an explicit time", () =>
    assert.deepEqual(
      findBannedCalls([
        { path: "src/base/x.ts", text: examples.slice(0, 5).join("\n") },
        { path: "bin/svc.js", text: "process.exit(1);" },
        { path: "src/cli/x.ts", text: "// Date.now()\n/* Date.now() */\nnew Date(0); socket.setTimeouts(1);" },
        { path: "src/cli/x.ts", text: "const given: Record<string, string> = { ...others };" },
        { path: "src/cli/x.ts", text: "const f = (given: Record<string, string> = {}) => given;" },
      ]),
      [],
    ));

  it("finds no banned call in the sources", () => assert.deepEqual(findBannedCalls(sources), []));
});
