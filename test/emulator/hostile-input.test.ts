import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { startTestEmulator } from "../support/emulator.ts";
import * as hostile from "../support/pdf/hostile-pdfs.ts";

const createNestedText = (times: number, open: string, close: string) => open.repeat(times) + close.repeat(times);

/** Fails the test if a library throws an error that no caller can catch. */
function collectUncaughtErrors(t: TestContext): readonly unknown[] {
  const escaped: unknown[] = [];
  const note = (error: unknown) => escaped.push(error);
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  t.after(() => process.off("unhandledRejection", note).off("uncaughtException", note));
  return escaped;
}

it("hostile input causes no crash, state change or unhandled rejection", async (t) => {
  const escaped = collectUncaughtErrors(t);
  const bugs: string[] = [];
  const emulator = await startTestEmulator(t, { log: (line) => bugs.push(line) });
  const before = await emulator.control("GET", "state");
  const json = { "content-type": "application/json" };
  const parts = { "content-type": "multipart/form-data; boundary=x" };
  const bodies: readonly (readonly [string, string | Buffer, Record<string, string>])[] = [
    ["arrays 100,000 deep", createNestedText(100_000, "[", "]"), json],
    ["objects 100,000 deep", `{"a":${createNestedText(100_000, '{"a":', "}")}}`, json],
    ["arrays that never end", "[".repeat(1_000_000), json],
    ["a number of a million digits", `{"a":${"9".repeat(1_000_000)}}`, json],
    ["what is not UTF-8", Buffer.alloc(1_000, 0xff), json],
    ["a gzip that is announced", gzipSync(Buffer.alloc(10_000_000)), { ...json, "content-encoding": "gzip" }],
    ["a multipart body without an end", "--x\r\ncontent-disposition: form-data", parts],
    ["a multipart body of 10,000 parts", "--x\r\n\r\n\r\n".repeat(10_000), parts],
    ["deflated zeros", deflateSync(Buffer.alloc(10_000_000)), json],
  ];
  const routes = [
    ["api", "/api/v2.1/public/contracts/"],
    ["api", "/api/v2.1/public/contracts/executed_contracts/"],
    ["router", "/api/v1/oauth/token/"],
    ["router", "/router/v1/integrations/chat_a/webhook/event/"],
    ["control", "/faults"],
  ] as const;
  const wrong: string[] = [];
  for (const [label, body, headers] of bodies) {
    for (const [door, path] of routes) {
      const { status } = await emulator[door]("POST", path, { body, headers });
      if (status >= 500) wrong.push(`${status} for ${label} at ${path}`);
    }
    const { status } = await emulator.control("PUT", "/state", { body, headers });
    if (status < 400 || status >= 500) wrong.push(`${status} for ${label} as a state`);
  }

  const executed = (file_base64: string) => {
    const names = {
      contract_name: "x",
      contract_type_id: 301,
      file_name: "x.pdf",
      creator_organization_entity_id: 401,
    };
    const body = { ...names, counterparty_organization_name: "x", file_base64 };
    return emulator.api("POST", "/api/v2.1/public/contracts/executed_contracts/", { body });
  };
  const files = [
    hostile.createDeepArrayPdf(200_000),
    hostile.createCircularPageTreePdf(),
    Buffer.alloc(20_000_000, "%PDF-1.7 "),
  ];
  for (const file of [...files.map((each) => each.toString("base64")), "A".repeat(40_000_001)]) {
    const { status } = await executed(file);
    if (status !== 400) wrong.push(`${status} for a file of ${file.length} characters`);
  }
  const token = `e30.${"A".repeat(10_000)}.x`;
  for (const authorization of [`Bearer ${token}`, `Bearer ${"[".repeat(10_000)}`]) {
    const { status } = await emulator.router("POST", "/router/v1/integrations/chat_b/webhook/messaging", {
      body: {},
      headers: { authorization },
    });
    if (status >= 500) wrong.push(`${status} for a token`);
  }

  assert.deepEqual(wrong, []);
  assert.deepEqual((await emulator.control("GET", "state")).body, before.body);
  assert.deepEqual([escaped, bugs], [[], []]);
});
