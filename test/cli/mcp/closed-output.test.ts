import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { it } from "node:test";
import { getProgramPath } from "../../support/program.ts";

it("svc mcp ends if the agent closes only its output", async (t) => {
  const child = spawn(process.execPath, [getProgramPath("svc"), "mcp"], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const send = (method: string, params: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: method, method, params })}\n`);
  const clientInfo = { name: "agent", version: "1" };
  send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  await once(child.stdout, "data");
  child.stdout.destroy();
  send("ping", {});
  assert.deepEqual(await once(child, "exit"), [0, null]);
});
