import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { getOperationById } from "../../../src/api/registry.ts";
import { deriveSpecs } from "../../../src/derive/specs.ts";
import { loadAllCommands } from "../../support/cli/all-commands.ts";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startDeviatingService } from "../../support/verify/deviating-service.ts";

it("a piped list reports omitted rows unless --all or --limit is given", async (t) => {
  const { svc, json, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 13; i += 1) await createDraftContract(emulator.api);

  const short = await svc("contracts list --fields id");
  assert.deepEqual(
    [short.exit, short.stdout.split("\n").length - 1, short.stderr],
    [0, 10, "10 of 13 shown. For all: --all\n"],
  );
  const chosen = await svc("contracts list --json=id");
  assert.deepEqual([JSON.parse(chosen.stdout).length, chosen.stderr], [10, "10 of 13 shown. For all: --all\n"]);
  const asJson = await svc("contracts list --json");
  assert.deepEqual([JSON.parse(asJson.stdout).results.length, asJson.stderr], [10, "10 of 13 shown. For all: --all\n"]);
  const last = await svc("contracts list --page 2 --fields id");
  assert.deepEqual([last.stdout, last.stderr], ["T-3\nT-2\nT-1\n", "3 of 13 shown. For all: --all\n"]);

  const ids = Array.from({ length: 13 }, (_, i) => `T-${13 - i}`);
  for (const flags of ["--all", "--all --limit 5"]) {
    const all = await svc(`contracts list ${flags} --fields id`);
    assert.deepEqual([all.stdout, all.stderr], [`${ids.join("\n")}\n`, ""], flags);
  }
  const page = await json<{ results: { id: string }[]; total_results: number }>("contracts list --all --limit 5");
  assert.deepEqual([page.results.map(({ id }) => id), page.total_results], [ids, 13]);
  const four = await svc("contracts list --limit 4 --fields id");
  assert.deepEqual([four.stdout, four.stderr], ["T-13\nT-12\nT-11\nT-10\n", "4 of 13 shown. For all: --all\n"]);
  assert.equal((await svc("contracts list --quiet")).stderr, "");
  const result = await svc("contracts list --all --page 2");
  assert.deepEqual([result.exit, /--all cannot be used with --page/.test(result.stderr)], [2, true], result.stderr);
});

it("--all prints a row once if a new contract moves it to the next page", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  for (const [line, upstream, rows, total] of [
    ["contracts list", emulator.clusters[0]!.url, "results", "total_results"],
    ["emulator contracts", emulator.routerUrl, "items", "total"],
  ] as const) {
    const firstPage: unknown[] = [];
    const url = await startDeviatingService(
      t,
      upstream,
      ({ json }) => {
        const page = json as Record<string, unknown>;
        if (!Array.isArray(page[rows])) return;
        if (firstPage.length > 0) page[total] = 4;
        page[rows].unshift(...firstPage.slice(-1));
        firstPage.push(...page[rows]);
      },
      "responses",
    );
    const env = { SVC_BASE_URL: url, SVC_EMULATOR_URL: url, SVC_EMULATOR_TOKEN: emulator.token };
    const { stdout, stderr } = await svc(`${line} --all --limit 2 --json`, { env });
    assert.deepEqual([stderr, JSON.parse(stdout)[rows].length], ["", 3], line);
  }
});

it("--all prints equal rows that have no ID", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  const url = await startDeviatingService(
    t,
    emulator.routerUrl,
    ({ json }) => {
      const { items = [] } = (json ?? {}) as { items?: object[] };
      for (const row of items)
        Object.assign(row, { token: "[hidden]", kind: "creator", cluster_id: "eu-1", workspace_id: 1, link: "" });
    },
    "responses",
  );
  const env = { SVC_EMULATOR_URL: url, SVC_EMULATOR_TOKEN: emulator.token };
  const { stdout, stderr } = await svc("emulator invitations --all --limit 1 --fields token", { env });
  assert.deepEqual([stdout, stderr], ["[hidden]\n".repeat(2), ""]);
});

it("--all tells that the list has changed if rows are missing", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  const url = await startDeviatingService(
    t,
    emulator.clusters[0]!.url,
    ({ json }) => {
      const page = json as { results: unknown[] };
      if (page.results.length === 1) page.results = [];
    },
    "responses",
  );
  const { stderr } = await svc(`contracts list --all --limit 2 --base-url ${url}`);
  assert.equal(stderr, "2 of 3 shown. The list has changed. For all, repeat the command\n");
});

it("--all tells that the list has changed if a created and a deleted row moved the last page", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  let lastRow: unknown;
  const url = await startDeviatingService(
    t,
    emulator.clusters[0]!.url,
    ({ json }) => {
      const page = json as { results: unknown[] };
      if (page.results.length === 1) page.results = [lastRow];
      lastRow = page.results.at(-1);
    },
    "responses",
  );
  const { exit, stderr } = await svc(`contracts list --all --limit 2 --base-url ${url}`);
  assert.deepEqual([exit, stderr], [0, "2 of 3 shown. The list has changed. For all, repeat the command\n"]);
});

it("--all fails if the service ignores the page", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  let firstPage: unknown;
  let requestCount = 0;
  const url = await startDeviatingService(
    t,
    emulator.clusters[0]!.url,
    ({ json }) => {
      const page = json as { results?: unknown[] };
      if (page.results === undefined) return;
      requestCount += 1;
      firstPage ??= [...page.results];
      page.results = firstPage as unknown[];
    },
    "responses",
  );
  // A relative time requires the time of the service.
  for (const [line, count] of [
    ["contracts list --all --limit 1", 2],
    ["contracts reconcile --since 2h", 3],
  ] as const) {
    firstPage = undefined;
    requestCount = 0;
    const { exit, stdout, stderr } = await svc(`${line} --base-url ${url}`);
    const expected = [
      "error: The service responded to another page with the same rows. The rest of the list is unknown.",
      "  It seems to ignore page.",
      "",
    ];
    assert.deepEqual([exit, stdout, stderr.split("\n")], [1, "", expected], line);
    assert.equal(requestCount, count, line);
  }
});

it("--all prints requests of the same number, which is reused after a rewind", async (t) => {
  const { svc, emulator } = await startCliEmulator(t, { file: join(await createTestFolder(t), "state.json") });
  await createDraftContract(emulator.api);
  await emulator.rewind({ steps: 1 });
  await createDraftContract(emulator.api);
  const { stdout } = await svc("emulator requests --all --fields id,operation,replaced");
  assert.equal(stdout, "1\tcontracts.create\ttrue\n1\tcontracts.create\t\n");
});

it("every command with --limit accepts --all", async () => {
  const limited = (await loadAllCommands()).filter(({ flags }) => flags.some(({ flag }) => flag === "limit"));
  assert.deepEqual(
    limited.filter(({ flags }) => !flags.some(({ flag }) => flag === "all")).map(({ words }) => words),
    [],
  );
  assert.ok(limited.length > 5);
  const derived = Object.values(deriveSpecs()).flat();
  const unpaged = derived.filter(
    ({ id, paging, flags }) =>
      !("by" in getOperationById(id).cli) && !paging && flags.some(({ flag }) => flag === "limit"),
  );
  assert.deepEqual(
    unpaged.map(({ words }) => words),
    [],
  );
});

it("svc emulator snapshot diff reports omitted differences and supports --all", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  await svc("emulator snapshot save prepared");
  await createDraftContract(emulator.api);
  const command = "emulator snapshot diff prepared";
  const all = await svc(`${command} --all --brief`);
  const count = all.stdout.split("\n").length - 1;
  assert.ok(count > 1, all.stdout);
  assert.equal(all.stderr, "");
  const page = await svc(`${command} --limit 1 --brief`);
  assert.deepEqual([page.stdout, page.stderr], ["contract T-1: new, DRAFT\n", `1 of ${count} shown. For all: --all\n`]);
  const asJson = await svc(`${command} --limit 1 --json`);
  assert.deepEqual([JSON.parse(asJson.stdout).items.length, asJson.stderr], [1, page.stderr]);
});

it("svc emulator snapshot diff tells how many differences it can show", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  await svc("emulator snapshot save prepared");
  const body = Array.from({ length: 100_001 }, (_, i) => ({ signatory_hash: `h${i}`, cluster: "eu-1" }));
  const headers = { "x-cluster-key": emulator.clusters[0]!.clusterKey };
  assert.equal((await emulator.router("POST", "/router/v1/contract_signatories/", { body, headers })).status, 201);
  const one = await svc("emulator snapshot diff prepared --limit 1 --brief");
  const shown = "signatory 1 of eu-1: new\n";
  assert.deepEqual([one.stdout, one.stderr], [shown, "1 of 100001 shown. For the first 100000: --all\n"]);
  const all = await svc("emulator snapshot diff prepared --all");
  assert.deepEqual(
    [all.stdout.split("\n").length, all.stderr],
    [400_001, "100000 of 100001 shown. A response cannot contain more\n"],
  );
});

it("the list of deliveries, newest first, supports --all and --limit", async (t) => {
  const { svc, emulator } = await startCliEmulator(t, { clock: { mode: "manual" } });
  const url = "http://127.0.0.1:9/hooks";
  await svc(`webhooks create --title t --url ${url} --only-for-activities CONTRACT_CREATED`);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  for (const command of ["emulator deliveries", "webhooks deliveries"]) {
    const two = await svc(`${command} --limit 2`);
    assert.deepEqual([two.stdout.split("\n").length - 1, two.stderr], [2, "2 of 3 shown. For all: --all\n"], command);
    const all = await svc(`${command} --all --limit 2`);
    assert.deepEqual([all.stdout.split("\n").length - 1, all.stderr], [3, ""], command);
  }
});

it("a response receives a final line break only on a terminal", async (t) => {
  const { svc } = await startCliEmulator(t);
  assert.equal((await svc("api GET /", { tty: true })).stdout, '{"database":true}\n');
  assert.equal((await svc("api GET /")).stdout, '{"database":true}');
});

it("svc api --include prints status and headers before the body", async (t) => {
  const { svc } = await startCliEmulator(t);
  const { exit, stdout } = await svc("api GET / --include");
  assert.equal(exit, 0);
  assert.match(
    stdout,
    /^200\n(?:[\w-]+: .*\n)*content-type: application\/json.*\n(?:[\w-]+: .*\n)*\n\{"database":true\}$/,
  );
  const result = await svc("api GET / --header secret=1");
  assert.deepEqual(
    [result.exit, result.stderr.split("\n")[0]],
    [2, 'error: --header must be NAME:VALUE, got "secret…"'],
  );
});

it("svc api sends every value of a repeated header", async (t) => {
  const { json } = await startCliEmulator(t);
  const flags = ["-H", "X-Forwarded-For: 127.0.0.1", "-H", "x-forwarded-for:203.0.113.9"];
  const response = await json(["api", "GET", "/api/v1/auth/captcha-config", ...flags]);
  assert.deepEqual(response, { use_test_captcha: true }, "the caller is the first address");
});

it("svc rejects binary output on a terminal before anything is sent", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  await createDraftContract(emulator.api);
  const id = "4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10";
  for (const line of ["contracts download T-1", "contracts download-docx 1", `files download ${id}`]) {
    const { exit, stdout, stderr } = await svc(line, { tty: true });
    assert.deepEqual(
      [exit, stdout, stderr.split("\n")[0]],
      [2, "", "error: --output is required: the response is binary"],
    );
  }
  assert.match((await svc("contracts download T-1")).stdout, /^%PDF/);
  assert.match((await svc("contracts download T-1 --output -", { tty: true })).stdout, /^%PDF/);
});

it("svc reports a redirect and does not follow it", async (t) => {
  const { svc } = await startCliEmulator(t);
  const { exit, stdout, stderr } = await svc("api GET /api/v2.1/public/contracts/T-1/status/");
  assert.deepEqual([exit, stdout, stderr], [0, "", "302, to /api/v2.1/public/contracts/T-1/status\n"]);
});

it("svc emulator clock advance reports an advance past no entries", async (t) => {
  const { svc } = await startCliEmulator(t, { clock: { mode: "manual" } });
  const { stdout, stderr } = await svc("emulator clock advance --by 1h");
  assert.deepEqual([stdout, stderr], ["", "Nothing was due. To show the time: svc emulator clock\n"]);
});

it("csv in a pipe leaves values unchanged, and an empty list prints a hint", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  const result = await svc("contracts list");
  assert.deepEqual([result.stdout, result.stderr], ["", "Nothing found; to create one: svc contracts create\n"]);
  const name = "NDA\u001b[31m with\u0007 Acme";
  await createDraftContract(emulator.api, { contract_name: name });
  assert.equal(
    (await svc("contracts list --format csv --fields contract_name")).stdout,
    `contract_name\r\n${name}\r\n`,
  );
  const csv = await svc("contracts list --format csv --fields contract_name", { tty: true });
  assert.equal(csv.stdout.includes("\u001b[31m"), false);
});

it("a filter accepts an operator in its name, as documented in its help", async (t) => {
  const { svc, emulator } = await startCliEmulator(t);
  for (let i = 0; i < 3; i += 1) await createDraftContract(emulator.api);
  const ids = async (...flags: string[]) => {
    const { exit, stdout, stderr } = await svc(["contracts", "list", "--fields", "id", ...flags]);
    return [exit, stdout, stderr];
  };
  assert.deepEqual(await ids("--filter-contract-id[$in]", "1,3"), [0, "T-3\nT-1\n", ""]);
  assert.deepEqual(await ids("--filter-contract-id[$in]=1,3", "--filter-contract-id[$gt]=1"), [0, "T-3\n", ""]);
  assert.deepEqual(await ids("--filter-contract-id[$gt]", "9"), [
    0,
    "",
    "Nothing found with --filter-contract-id[$gt]\n",
  ]);
  const [exit, , stderr] = await ids("--filter-contrakt-id[$gt]", "9");
  assert.deepEqual([exit, /^error: unknown option '--filter-contrakt-id\[\$gt\]'\n/.test(String(stderr))], [2, true]);
  const plain = await svc("contracts list --limit[$gt] 9");
  assert.equal(plain.exit, 2);
});
