import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { hashEmail } from "../../../src/base/email-address.ts";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";

/** The cluster of an address, or undefined. */
async function getClusterOf({ svc }: CliEmulator, address: string): Promise<string | undefined> {
  const { exit, stdout } = await svc(["router", "show-email", hashEmail(address), "--json"]);
  return exit === 0 ? JSON.parse(stdout).cluster_id : undefined;
}

const getClustersOf = (cli: CliEmulator, ...addresses: string[]) =>
  Promise.all(addresses.map((address) => getClusterOf(cli, address)));

describe("mapping from a file", () => {
  it("hashes addresses, forwards digests and skips empty lines", async (t) => {
    const cli = await startCliEmulator(t);
    const stdin = `  New@One.example \r\n\n${hashEmail("new@two.example")}\nnew@three.example`;
    const { exit, stdout } = await cli.svc("router map-emails - --cluster us-1", { stdin });
    assert.deepEqual([exit, stdout], [0, "Mapped 3 e-mails to us-1\n"]);
    assert.deepEqual(await getClustersOf(cli, "new@one.example", "new@two.example", "new@three.example"), [
      "us-1",
      "us-1",
      "us-1",
    ]);
  });

  it("reads a CSV column by name or number, NDJSON fields and gzip", async (t) => {
    const cli = await startCliEmulator(t);
    const write = (name: string, content: string | Buffer) => writeFile(join(cli.cwd, name), content);
    await write("a.csv", 'id,"e-mail"\n1,"csv@named.example"\n2,"csv2@named.example"\n');
    await write("b.csv", "x,csv@numbered.example\n");
    await write("c.ndjson", '{"id":1,"mail":"nd@json.example"}\n');
    await write("d.txt.gz", gzipSync("gz@ip.example\n"));
    for (const argv of [
      ["router", "map-emails", "a.csv", "--column", "e-mail"],
      ["router", "map-emails", "b.csv", "--column", "2"],
      ["router", "map-emails", "c.ndjson", "--column", "mail"],
      ["router", "map-emails", "d.txt.gz"],
    ]) {
      const { exit, stderr } = await cli.svc([...argv, "--cluster", "us-1", "--quiet"]);
      assert.deepEqual([exit, stderr], [0, ""], argv.join(" "));
    }
    const mapped = [
      "csv@named.example",
      "csv2@named.example",
      "csv@numbered.example",
      "nd@json.example",
      "gz@ip.example",
    ];
    assert.deepEqual(
      await getClustersOf(cli, ...mapped),
      mapped.map(() => "us-1"),
    );
  });

  it("formats the result of a few identifiers at a terminal and prints the raw response elsewhere", async (t) => {
    const { svc } = await startCliEmulator(t);
    const emails = "--email-hash-list a@few.example --email-hash-list b@few.example";
    const result = await svc(`router map-emails ${emails} --cluster eu-1`, { tty: true });
    assert.deepEqual([result.exit, result.stdout], [0, "Mapped 2 e-mails to eu-1\n"]);
    const moved = await svc("router map-emails --email-hash-list a@few.example --cluster us-1", { tty: true });
    assert.deepEqual(
      [moved.stdout, moved.stderr],
      ["Mapped 1 e-mail to us-1\n", "1 identifier was mapped to another cluster and has been moved\n"],
    );
    const removed = await svc(`router unmap-emails ${emails} --cluster eu-1 --confirm eu-1`, { tty: true });
    assert.deepEqual(
      [removed.exit, removed.stdout],
      [0, "Requested removal of 2 e-mails from eu-1; the service confirmed it\n"],
    );
    for (const flags of ["", " --json"]) {
      const piped = await svc(`router map-emails ${emails} --cluster eu-1${flags}`);
      assert.deepEqual([piped.exit, piped.stdout], [0, "true\n"], flags);
    }
    assert.equal((await svc(`router map-emails ${emails} --cluster eu-1 --json`, { tty: true })).stdout, "true\n");
  });

  it("sends batches with limited concurrency and counts identifiers moved from another cluster", async (t) => {
    const cli = await startCliEmulator(t);
    const stdin = Array.from({ length: 2_500 }, (_, i) => `bulk-${i}@many.example\n`).join("");
    const first = await cli.json("router map-emails - --cluster eu-1 --batch-size 1000", { stdin });
    assert.deepEqual(first, {
      job_id: first.job_id,
      action: "map-emails",
      cluster_id: "eu-1",
      rows: 2_500,
      distinct: 2_500,
      verified: null,
      unverified: 0,
      batches: 3,
      moved: 0,
      invalid: 0,
      failed: 0,
      retries: 0,
      first_invalid_row: null,
      results: null,
    });
    const again = await cli.json("router map-emails - --cluster us-1", { stdin });
    assert.deepEqual([again.rows, again.moved], [2_500, 2_500]);
  });

  it("stops at an invalid row before anything is sent and names the row", async (t) => {
    const cli = await startCliEmulator(t);
    const stdin = "fine@a.example\nnot an address\n";
    const { exit, stdout, stderr } = await cli.svc("router map-emails - --cluster eu-1", { stdin });
    assert.deepEqual([exit, stdout], [2, ""]);
    assert.match(stderr, /Row 2 \(not an address\) is neither an e-mail address nor a SHA-256 digest/);
    assert.equal(await getClusterOf(cli, "fine@a.example"), undefined);
  });

  it("skips and saves invalid rows on request and exits with 3", async (t) => {
    const cli = await startCliEmulator(t);
    const stdin = 'fine@b.example\nwrong, "row"\nfine@c.example\n';
    const { exit, stdout, stderr } = await cli.svc(
      "router map-emails - --cluster eu-1 --skip-invalid --errors-out bad.csv",
      { stdin },
    );
    assert.deepEqual([exit, stdout], [3, "Mapped 2 e-mails to eu-1\n"]);
    assert.match(stderr, /1 row skipped, the first at row 2\nSee svc router jobs results job_/);
    assert.equal(
      await readFile(join(cli.cwd, "bad.csv"), "utf8"),
      [
        "row,input,status,code,message,moved_from\r\n",
        '2,"wrong, ""row""",invalid,invalid_identifier,"neither an e-mail address nor a SHA-256 digest: it contains "",""",\r\n',
      ].join(""),
    );
    assert.equal(await getClusterOf(cli, "fine@c.example"), "eu-1");
  });

  it("unmaps only identifiers of the cluster and requires its name again for a pipe", async (t) => {
    const cli = await startCliEmulator(t);
    await cli.svc("router map-emails - --cluster eu-1", { stdin: "x@d.example\n" });
    await cli.svc("router map-emails - --cluster us-1", { stdin: "y@d.example\n" });
    const stdin = "x@d.example\ny@d.example\nz@d.example\n";
    const result = await cli.svc("router unmap-emails - --cluster eu-1 --yes", { stdin });
    assert.deepEqual([result.exit, result.stdout], [2, ""]);
    assert.match(result.stderr, /--confirm eu-1 is required/);
    const wrong = await cli.svc("router unmap-emails - --cluster eu-1 --confirm us-1", { stdin });
    assert.match(wrong.stderr, /--confirm must be eu-1, got "us-1"/);
    assert.equal((await cli.svc("router unmap-emails - --cluster eu-1 --confirm eu-1", { stdin })).exit, 0);
    assert.deepEqual(await getClustersOf(cli, "x@d.example", "y@d.example"), [undefined, "us-1"]);
  });

  it("maps rows to any table, and a few identifiers without a file", async (t) => {
    const cli = await startCliEmulator(t);
    assert.equal((await cli.svc("router map-clients - --cluster us-1", { stdin: "client-a\n" })).exit, 0);
    assert.equal((await cli.svc("router map-clients --client-ids client-b --cluster us-1")).exit, 0);
    for (const id of ["client-a", "client-b"])
      assert.equal((await cli.json(`router show-client ${id}`)).cluster_id, "us-1");
    const integration = "router map-external-integrations - --cluster us-1 --integration-type CHAT_B";
    assert.equal((await cli.svc(integration, { stdin: "tenant-1\n" })).exit, 0);
    assert.equal((await cli.svc("router map-external-integrations - --cluster us-1", { stdin: "tenant-1\n" })).exit, 2);
  });

  it("removes the identifiers of a small file or of arguments with --yes", async (t) => {
    const cli = await startCliEmulator(t);
    await writeFile(join(cli.cwd, "rows.txt"), "x@e.example\n");
    await cli.svc("router map-emails rows.txt --cluster eu-1");
    assert.match((await cli.svc("router unmap-emails rows.txt --cluster eu-1")).stderr, /--yes required/);
    assert.equal(await getClusterOf(cli, "x@e.example"), "eu-1");
    assert.equal((await cli.svc("router unmap-emails rows.txt --cluster eu-1 --yes")).exit, 0);
    assert.equal(await getClusterOf(cli, "x@e.example"), undefined);
    const fewArgs = "router unmap-clients --client-ids none --cluster eu-1";
    assert.match((await cli.svc(fewArgs)).stderr, /--yes required/);
    assert.equal((await cli.svc(`${fewArgs} --yes`)).exit, 0);
  });

  it("checks all rows and sends nothing with --dry-run", async (t) => {
    const cli = await startCliEmulator(t);
    const { exit, stdout } = await cli.svc("router map-emails - --cluster eu-1 --dry-run", {
      stdin: "dry@run.example\n",
    });
    assert.deepEqual(
      [exit, stdout],
      [0, "Would map 1 e-mail to eu-1 in 1 request\nPOST /router/v1/cluster_emails/bulk\n  dry@run.example\n"],
    );
    assert.equal(await getClusterOf(cli, "dry@run.example"), undefined);
  });

  for (const [label, argv, stdin, message] of [
    ["a missing input", "router map-emails", "", /<file> or --email-hash-list is required/],
    [
      "a pipe without -",
      "router map-emails --cluster eu-1",
      "a@b.c",
      /^error: <file> or --email-hash-list is required$/m,
    ],
    [
      "an address instead of a file",
      "router map-emails ada@example.com --cluster eu-1",
      "",
      /cannot read ada@example\.com: no such file\n {2}To pass a few e-mails as options, use --email-hash-list\.\n/,
    ],
    ["a missing cluster", "router map-emails -", "a@b.c", /--cluster is required/],
    ["an empty input", "router map-emails - --cluster eu-1", "\n\n", /<file>: standard input has no rows/],
    [
      "a missing column",
      "router map-emails - --input-format csv --column mail --cluster eu-1",
      "id,email\n1,a@b.c\n",
      /Column "mail" not found\n {2}Columns: id, email/,
    ],
    ["damaged gzip", "router map-emails - --cluster eu-1", Buffer.from([0x1f, 0x8b, 8, 0, 1]), /gzip file is damaged/],
    [
      "an unknown cluster",
      "router map-emails - --cluster mars",
      "a@b.c",
      /Cluster "mars" not found. Nothing was sent.\n {2}Known: eu-1, us-1/,
    ],
  ] as const) {
    it(`rejects ${label}`, async (t) => {
      const cli = await startCliEmulator(t);
      const { exit, stdout, stderr } = await cli.svc(argv, { stdin });
      assert.match(stderr, message);
      assert.deepEqual([exit, stdout], [label === "an unknown cluster" ? 5 : 2, ""]);
    });
  }
});
