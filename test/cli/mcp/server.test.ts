import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { exampleContract } from "../../../src/api/contracts/contracts.ts";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { extractCodeBlocks, readPage } from "../../support/cli/pages.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import {
  hmacKey,
  type ReceiverRules,
  type SignedReceiver,
  startSignedReceiver,
} from "../../support/cli/signed-receiver.ts";
import { getProgramPath } from "../../support/program.ts";

interface ToolResponse {
  readonly text: string;
  readonly isError: boolean;
}

interface Agent extends CliEmulator {
  readonly client: Client;
  call(name: string, input?: Record<string, unknown>): Promise<ToolResponse>;
}

/** An agent with `svc mcp` and an emulator: the protocol's own client on the streams of the command. */
async function startAgent(
  t: TestContext,
  flags: readonly string[] = [],
  options: EmulatorOptions = {},
): Promise<Agent> {
  const emulator = await startCliEmulator(t, options);
  const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
  let writtenChars = 0;
  const run = emulator.svc(["mcp", ...flags], {
    stdin: toServer,
    onOutput(stdout) {
      fromServer.write(stdout.slice(writtenChars));
      writtenChars = stdout.length;
    },
  });
  // The server's transport also works for a client, because the streams are symmetric.
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(new StdioServerTransport(fromServer, toServer));
  t.after(async () => {
    toServer.end();
    assert.deepEqual(await run.then(({ exit, stderr }) => [exit, stderr]), [0, ""]);
    await client.close();
  });
  return { ...emulator, client, call: createCaller(client) };
}

/** An agent with `svc mcp` as a process. */
async function startProcessAgent(t: TestContext, argv: readonly string[]) {
  const emulator = await startCliEmulator(t);
  const host = { env: { SVC_CONFIG_DIR: emulator.cwd } } as unknown as Parameters<typeof buildChildEnvironment>[1];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [getProgramPath("svc"), ...argv],
    env: buildChildEnvironment(emulator.emulator, host),
    cwd: emulator.cwd,
  });
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(transport);
  t.after(() => client.close());
  return { ...emulator, transport, client, call: createCaller(client) };
}

const createCaller =
  (client: Client): Agent["call"] =>
  async (name, input = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: input });
    const [{ text }] = content as [{ text: string }];
    return { text, isError: isError === true };
  };

const getOutput = async (run: Promise<{ stdout: string }>): Promise<ToolResponse> => ({
  text: (await run).stdout,
  isError: false,
});

const requireErrorMessage = ({ text, isError }: ToolResponse): string => {
  assert.equal(isError, true);
  return JSON.parse(text).error.message;
};

const webhookRequest = { title: "down", url: "http://localhost:9/hooks", only_for_activities: ["CONTRACT_CREATED"] };
const writeFlags = ["--allow-writes"];

describe("svc mcp", () => {
  it("serves the protocol's own client as a process and ends with its standard input", async (t) => {
    const [configuration = ""] = extractCodeBlocks("docs/agents.md", "json");
    const { command, args } = JSON.parse(configuration).mcpServers.svc;
    assert.deepEqual([command, args[0]], ["npx", "svc"]);
    const { client, transport, call, svc } = await startProcessAgent(t, args.slice(1));
    assert.deepEqual(await call("clock"), await getOutput(svc("emulator clock --json")));
    const { pid } = transport;
    await client.close();
    assert.throws(() => process.kill(pid!, 0), { code: "ESRCH" });
  });

  it("offers at most ten tools with schemas of at most 4 kB", async (t) => {
    for (const flags of [[], writeFlags]) {
      const { client } = await startAgent(t, flags);
      const { tools } = await client.listTools();
      assert.ok(tools.length >= 9 && tools.length <= 10, `${tools.length} tools`);
      assert.ok(Buffer.byteLength(JSON.stringify(tools)) <= 4_096, `${JSON.stringify(tools).length} bytes`);
      assert.deepEqual(
        tools.map(({ inputSchema }) => inputSchema.type),
        tools.map(() => "object"),
      );
    }
  });

  it("offers the tools listed in docs/agents.md", async (t) => {
    const rows = [...readPage("docs/agents.md").matchAll(/^\| `(\w+)` \|(.*)\|(.*)\|$/gm)];
    for (const flags of [[], writeFlags]) {
      const { tools } = await (await startAgent(t, flags)).client.listTools();
      const offeredRows = rows.filter(([, , reads = ""]) => flags === writeFlags || reads.trim() !== "");
      assert.deepEqual(
        tools.map(({ name }) => name),
        offeredRows.map(([, name]) => name),
      );
    }
  });

  it("declares every tool as read-only and rejects changes", async (t) => {
    const { client, call, json } = await startAgent(t);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.filter(({ annotations }) => annotations?.readOnlyHint !== true),
      [],
    );
    const created = await call("call", { operation: "webhooks.create", body: webhookRequest });
    assert.equal(requireErrorMessage(created), "svc webhooks create changes something, and this server only reads");
    assert.equal(
      requireErrorMessage(await call("call", { operation: "contracts.send", params: { composite_id: "T-1" } })),
      "svc contracts send changes something, and this server only reads",
    );
    const { text } = await call("clock", { by: "PT1H" });
    const { message, hint } = JSON.parse(text).error;
    assert.deepEqual([message, hint], ['Unrecognized key: "by"', "Arguments of this tool: none"]);
    assert.match(requireErrorMessage(await call("snapshot", { action: "save", name: "x" })), /action/);
    assert.match(requireErrorMessage(await call("certify", { to: "http://localhost:9" })), /Unknown tool/);
    assert.deepEqual(await json("emulator webhooks"), []);
  });

  it("finds, describes and calls an operation and returns the output of --json", async (t) => {
    const { call, svc } = await startAgent(t, writeFlags, { clock: { mode: "manual" } });
    const matches = JSON.parse((await call("find", { query: "create a contract" })).text);
    const { commands } = JSON.parse((await runCli("help --json")).stdout);
    const findCommand = (command: string) => commands.find((one: { command: string }) => one.command === command);
    assert.equal(matches[0].command, "contracts create");
    for (const { command, summary, operation, method } of matches) {
      const entry = findCommand(command);
      assert.deepEqual([summary, operation, method], [entry.summary, entry.operation, entry.method]);
    }
    const deliveries = (await call("find", { query: "deliveries" })).text.match(/"deliveries\.list"/g);
    assert.deepEqual(deliveries, ['"deliveries.list"']);
    assert.deepEqual(await call("find", { query: "xylophone" }), { text: "[]\n", isError: false });
    const describeOne = async (operation: string) => JSON.parse((await call("describe", { operation })).text);
    assert.deepEqual(await describeOne("contracts.create"), findCommand("contracts create"));
    // Its alias svc webhooks deliveries fails if a real service is selected.
    assert.deepEqual(await describeOne("deliveries.list"), findCommand("emulator deliveries"));
    const created = await call("call", { operation: "contracts create", body: exampleContract });
    assert.equal(JSON.parse(created.text).id, "T-1");
    const params = { composite_id: "T-1" };
    assert.deepEqual(
      await call("call", { operation: "contracts.status", params }),
      await getOutput(svc("contracts status T-1 --json")),
    );
    assert.deepEqual(
      await call("call", { operation: "contracts list", query: { limit: 1, "filter__contract_id[$in]": "1,2" } }),
      await getOutput(svc(["contracts", "list", "--limit=1", "--filter-contract-id[$in]", "1,2", "--json"])),
    );
  });

  it("moves a contract through its lifecycle in virtual time and explains its failed webhook", async (t) => {
    const { call, svc } = await startAgent(t, writeFlags, { clock: { mode: "manual" } });
    await call("call", { operation: "webhooks.create", body: webhookRequest });
    for (const [input, contract_status] of [
      [{ to: "SIGN" }, "SIGN"],
      [{ id: "T-1", to: "EXECUTED" }, "EXECUTED"],
      [{ id: "T-1" }, "EXECUTED"],
    ] as const) {
      const { text } = await call("contract", input);
      assert.deepEqual(JSON.parse(text), { id: "T-1", contract_name: "Mutual NDA with Acme", contract_status });
    }
    const moved = JSON.parse((await call("clock", { by: "PT2H35M" })).text);
    assert.equal(moved.ran.length, 5);
    for (const [result, line] of [
      [await call("clock"), "emulator clock"],
      [await call("trace", { ref: "T-1" }), "emulator trace T-1"],
      [await call("why"), "webhooks why"],
      [
        await call("requests", { limit: 3, operation: "contracts.create" }),
        "emulator requests --limit 3 --operation contracts.create",
      ],
    ] as const) {
      assert.deepEqual(result, await getOutput(svc(`${line} --json`)), line);
    }
    assert.equal(JSON.parse((await call("why")).text).disabled.by, "attempt:1.6");
  });

  it("saves, compares and restores snapshots", async (t) => {
    const { call, svc, json } = await startAgent(t, writeFlags, { clock: { mode: "manual" } });
    await call("snapshot", { action: "save", name: "before" });
    await call("contract", { to: "DRAFT" });
    assert.deepEqual(
      await call("snapshot", { action: "diff", name: "before" }),
      await getOutput(svc("emulator snapshot diff before --json")),
    );
    await call("snapshot", { action: "restore", name: "before" });
    assert.deepEqual(await call("snapshot", { action: "list" }), await getOutput(svc("emulator snapshot list --json")));
    assert.deepEqual((await json<{ results: unknown[] }>("contracts list")).results, []);
  });

  it("certifies a webhook receiver and names the failing checks but not the key", async (t) => {
    const { call } = await startAgent(t, writeFlags);
    const grade = async ({ url, cwd }: SignedReceiver) => {
      const { text, isError } = await call("certify", { to: url, hmac_key_file: join(cwd, "hmac.key") });
      assert.equal(text.includes(hmacKey), false);
      const { result, findings } = JSON.parse(text) as CertifyReport;
      return { isError, result, findings: findings.map(({ mistake, checks }) => ({ mistake, checks })) };
    };
    assert.deepEqual(await grade(await startSignedReceiver(t)), { isError: false, result: "passed", findings: [] });
    const spelt: ReceiverRules = { signed: (body) => JSON.stringify(JSON.parse(String(body))) };
    const checks = ["raw-body.spaced", "raw-body.escaped", "raw-body.numbers", "raw-body.indented"];
    assert.deepEqual(await grade(await startSignedReceiver(t, spelt)), {
      isError: false,
      result: "failed",
      findings: [{ mistake: "reserialized-json", checks }],
    });
  });

  it("returns errors in the format of the command line", async (t) => {
    const { call, svc } = await startAgent(t);
    const { exit, stderr } = await svc("contracts status T-9 --json");
    assert.deepEqual([await call("contract", { id: "T-9" }), exit], [{ text: stderr, isError: true }, 5]);
  });

  it("treats no argument of an agent as an option", async (t) => {
    const { call } = await startAgent(t, writeFlags);
    for (const [name, input] of [
      ["contract", { id: "--base-url=http://localhost:9" }],
      ["trace", { ref: "--format=otlp" }],
      ["call", { operation: "contracts.status", params: { composite_id: "--debug" } }],
      ["call", { operation: "contracts list", query: { "base-url": "http://localhost:9" } }],
      ["call", { operation: "contracts list", query: { output: "x" } }],
      ["call", { operation: "contracts list --debug" }],
      ["call", { operation: "api" }],
    ] as const) {
      const { text, isError } = await call(name, input);
      assert.deepEqual([isError, JSON.parse(text).error.code], [true, "usage"], JSON.stringify(input));
    }
    const device = { operation: "device-grants.approve", params: { user_code: "WDJB-MJHT" }, body: {} };
    assert.equal(requireErrorMessage(await call("call", device)), "svc emulator device approve takes no body");
  });

  it("returns no secrets", async (t) => {
    const { call, emulator } = await startAgent(t, writeFlags);
    const { clientSecret, hmacKey, clusterKey } = emulator.clusters[0]!;
    const secrets = [clientSecret!, hmacKey!, clusterKey!, emulator.token];
    await call("contract", { to: "SIGN" });
    const { commands } = JSON.parse((await runCli("help --json")).stdout);
    const reads = commands.filter(({ method }: { method?: string }) => method === "GET");
    const params = { composite_id: "T-1", contract_id: "1", id: "1", name: "x", ref: "T-1", workspace_id: "1" };
    let passed = 0;
    for (const { command, positionals } of reads) {
      // The command waits for an event that never happens.
      if (command === "emulator wait-for") continue;
      const names: string[] = positionals.map(({ name }: { name: string }) => name.replaceAll("-", "_"));
      const pathParams = Object.fromEntries(names.map((name) => [name, params[name as "id"] ?? "1"]));
      const { text, isError } = await call("call", { operation: command, params: pathParams });
      if (!isError) passed += 1;
      assert.deepEqual(
        secrets.filter((secret) => text.includes(secret)),
        [],
        command,
      );
      assert.doesNotMatch(text, /by_token\/(?!\[)|X-Amz-Signature=(?!\[)/, command);
    }
    assert.ok(passed >= 45, `${passed} of ${reads.length} answered`);
    const created = await call("call", { operation: "workspaces.create", body: { cluster: "eu-1", name: "New" } });
    assert.doesNotMatch(created.text, /"(?:client_secret|hmac_key)": "(?!\[redacted\])/);
  });

  it("returns the state of several failing webhooks", async (t) => {
    const { call, svc } = await startAgent(t, writeFlags, { clock: { mode: "manual" } });
    for (const title of ["down", "down too"])
      await call("call", { operation: "webhooks.create", body: { ...webhookRequest, title } });
    await call("contract");
    assert.deepEqual(await call("why"), await getOutput(svc("webhooks why --json")));
  });

  it("waits for an activity, but not by advancing the clock of a server that only reads", async (t) => {
    const { call, svc } = await startAgent(t, [], { clock: { mode: "manual" } });
    assert.equal((await svc("contracts create --data -", { stdin: ndaContractJson })).exit, 0);
    const waitFor = (query: object) => call("call", { operation: "emulator wait-for", query });
    const [{ activity }] = JSON.parse((await waitFor({ activity: "CONTRACT_CREATED" })).text);
    assert.equal(activity, "CONTRACT_CREATED");
    const message = requireErrorMessage(await waitFor({ activity: "CONTRACT_SIGNED", within: "PT1H" }));
    assert.equal(message, 'query has no field "within"');
  });

  it("reports that no step leads to a status", async (t) => {
    const { call } = await startAgent(t, writeFlags, { clock: { mode: "manual" } });
    await call("contract", { to: "EXECUTED" });
    const message = requireErrorMessage(await call("contract", { id: "T-1", to: "DRAFT" }));
    assert.equal(message, "Contract T-1 is in status EXECUTED, from which no step leads to DRAFT");
  });

  it("hides the values of a webhook's custom headers", async (t) => {
    const { call } = await startAgent(t, writeFlags);
    const body = { ...webhookRequest, custom_headers: { "X-Tenant": "s3cr3t" } };
    const { text } = await call("call", { operation: "webhooks.create", body });
    assert.deepEqual(JSON.parse(text).custom_headers, { "X-Tenant": "[redacted]" });
  });

  it("ends a call that the agent cancels, skips those that wait for it, and continues", async (t) => {
    const { call, client, cwd } = await startProcessAgent(t, ["mcp", ...writeFlags]);
    await writeFile(join(cwd, "hmac.key"), hmacKey);
    const silent = createServer().listen(0, "127.0.0.1");
    t.after(() => silent.close());
    await once(silent, "listening");
    const to = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const cancellation = new AbortController();
    const cancelled = [
      { name: "certify", arguments: { to, hmac_key_file: "hmac.key" } },
      { name: "contract", arguments: {} },
    ].map((request) => assert.rejects(client.callTool(request, undefined, { signal: cancellation.signal })));
    const [socket] = (await once(silent, "connection")) as [Socket];
    cancellation.abort();
    await Promise.all([...cancelled, once(socket.resume(), "close")]);
    assert.equal(JSON.parse((await call("call", { operation: "contracts.list" })).text).total_results, 0);
    // Takes longer than a process may after a signal.
    const query = { activity: "CONTRACT_SIGNED", "wait-timeout": "1s" };
    assert.match(
      requireErrorMessage(await call("call", { operation: "emulator.wait", query })),
      /^Timed out after 1 s /,
    );
  });

  it("skips an unreadable message and continues", async (t) => {
    const { cwd } = await startCliEmulator(t);
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });
    // The last line has no end.
    const stdin = ["{", "[]", '{"jsonrpc":"2.0","id":3}', ping].join("\n");
    const { exit, stdout, stderr } = await runCli("mcp", { stdin, cwd, env: { SVC_CONFIG_DIR: cwd } });
    assert.deepEqual([exit, JSON.parse(stdout)], [0, { jsonrpc: "2.0", id: 7, result: {} }]);
    assert.equal(stderr, "warning: A message is not valid JSON-RPC and was ignored.\n".repeat(3));
  });

  it("reports the parameters of a tool call that are not valid as such", async (t) => {
    const { cwd } = await startCliEmulator(t);
    for (const params of [undefined, {}, { name: 7 }, { name: "clock", arguments: [] }]) {
      const stdin = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
      const { exit, stdout, stderr } = await runCli("mcp", { stdin, cwd, env: { SVC_CONFIG_DIR: cwd } });
      const { id, error } = JSON.parse(stdout);
      assert.deepEqual([exit, id, error.code, stderr], [0, 7, -32602, ""]);
      assert.match(error.message, /Invalid tools\/call request: /);
    }
  });

  it("fails if the connection closes before the input ends", async (t) => {
    const { cwd } = await startCliEmulator(t);
    const { exit, stderr } = await runCli("mcp", {
      stdin: "x".repeat(11 * 2 ** 20),
      cwd,
      env: { SVC_CONFIG_DIR: cwd },
    });
    assert.equal(exit, 1);
    assert.match(stderr, /^error: The connection was closed: ReadBuffer exceeded maximum size/m);
  });

  it("rejects a terminal", async () => {
    const { exit, stderr } = await runCli("mcp", { tty: true, env: { SVC_NO_COLOR: "1" } });
    assert.deepEqual(
      [exit, stderr.split("\n").slice(0, 2)],
      [
        2,
        [
          "error: svc mcp cannot be used at a terminal",
          "  It serves the agent that starts it, on standard input and output. See svc mcp --help.",
        ],
      ],
    );
  });
});
