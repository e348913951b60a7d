import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatTree } from "../../../src/cli/commands/emulator/trace.ts";

const time = "2031-01-02T03:04:05.000Z";
const node = {
  kind: "request",
  ...{ id: "request:1", parent: null, trace: "", span: "", parent_span: null, at: time },
  ...{ duration_ms: null, what: "contracts.create", because: "requested by a client", moved_by: null, fault: null },
  ...{
    contract: null,
    webhook_id: null,
    outcome: null,
    status_text: null,
    disabled_by: null,
    status: null,
    error: null,
  },
} as const;

function formatNode(wallAt: string): string {
  const lines = formatTree({ nodes: [{ ...node, wall_at: wallAt }], planned: [], more: false });
  return lines
    .flat()
    .map((part) => (typeof part === "string" ? part : part.text))
    .join("");
}

describe("trace line", () => {
  it("includes the wall-clock time if it differs by a second or more", () => {
    assert.equal(formatNode("2026-11-23T10:00:00.000Z").endsWith("  [wall 2026-11-23T10:00:00.000Z]"), true);
    assert.equal(formatNode("2031-01-02T03:04:06.000Z").includes("wall"), true);
  });

  it("includes the wall-clock time once for consecutive lines with the same time", () => {
    const wall_at = "2026-11-23T10:00:00.000Z";
    const later = "2026-11-23T10:00:07.000Z";
    const below = (id: string, wall: string) => ({ ...node, id, parent: "request:1", wall_at: wall });
    const lines = formatTree({
      nodes: [{ ...node, wall_at }, below("event:1", wall_at), below("event:2", later), below("event:3", later)],
      planned: [],
      more: false,
    }).map((line) =>
      [line]
        .flat()
        .map((part) => (typeof part === "string" ? part : part.text))
        .join(""),
    );
    assert.deepEqual(
      lines.map((line) => /\[wall (.*)\]$/.exec(line)?.[1]),
      [wall_at, undefined, later, undefined],
    );
  });

  it("omits the wall-clock time if a real clock recorded the event slightly later", () => {
    assert.equal(formatNode("2031-01-02T03:04:05.999Z").includes("wall"), false);
    assert.equal(formatNode("2031-01-02T03:04:04.997Z").includes("wall"), false);
  });
});
