import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const digest = "ab".repeat(32);

describe("email addresses in rows", () => {
  for (const [row, problem] of [
    ["ada@example.com;Ada", 'it contains ";"'],
    ["<ada@example.com>", 'it contains "<"'],
    ["mailto:ada@example.com", 'it contains ":"'],
    ["ada@example.com,", 'it contains ","'],
    ["a\u200bda@example.com", "it contains the invisible character U+200B"],
    ["\u202aada@example.com", "it contains the invisible character U+202A"],
    ["ada@example.com\u2060", "it contains the invisible character U+2060"],
    ['"ada"@example.com', 'it contains """'],
    ["ada@y..example", "its domain is not valid"],
    ["ada@-y.example", "its domain is not valid"],
    ["ada@example.com.", "its domain is not valid"],
    ["ada@10.0.0.1", "its domain is not valid"],
    ["ada@xn--zzzzzzzz.example", "its domain is not valid"],
    ["ada@\uff45xample.com", "its domain is not valid"],
    [`ada@${"a".repeat(64)}.example`, "its domain is not valid"],
    ["ada@localhost", "its domain has no dot"],
    ["ada", "it has no @"],
    ["ada@example@example.com", "it has more than one @"],
    ["@example.com", "it has no part before the @"],
    ["ada@", "it has no part after the @"],
    ["ada..l@example.com", "the part before the @ begins or ends with a dot, or has two in a row"],
    [".ada@example.com", "the part before the @ begins or ends with a dot, or has two in a row"],
    ["ada lovelace@example.com", "it contains a space"],
  ] as const) {
    it(`rejects ${JSON.stringify(row)} without hashing`, async (t) => {
      const { svc, service } = await createBulkFixture(t, ["bob@example.com", row]);
      const expected = `neither an e-mail address nor a SHA-256 digest: ${problem}`;
      const file = await svc("router map-emails rows.txt --cluster eu-1 --quiet");
      assert.deepEqual([file.exit, service.calls], [2, []]);
      assert.ok(file.stderr.includes(`) is ${expected}. Nothing was sent.`), file.stderr);
      const result = await svc(["router", "map-emails", "--email-hash-list", row, "--cluster", "eu-1"]);
      assert.deepEqual([result.exit, service.calls], [2, []]);
      assert.ok(result.stderr.includes(` is ${expected}`), result.stderr);
    });
  }

  for (const [row, hashed] of [
    ["Ada+Tag@Example.COM", "ada+tag@example.com"],
    ["o'neil/x=1@example.co.uk", "o'neil/x=1@example.co.uk"],
    ["ada@BÜCHER.example", "ada@bücher.example"],
    ["ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"],
    ["ada@пример.рф", "ada@пример.рф"],
    ["Zoë@example.com".normalize("NFD"), "zoë@example.com".normalize("NFC")],
    ["  ada@example.com\t", "ada@example.com"],
    [digest.toUpperCase(), undefined],
  ] as const) {
    it(`normalizes ${row} before hashing`, async (t) => {
      const { svc, service } = await createBulkFixture(t, [row]);
      const expected = hashed === undefined ? digest : sha256(hashed);
      assert.equal((await svc("router map-emails rows.txt --cluster eu-1")).exit, 0);
      await svc(["router", "unmap-emails", "--email-hash-list", row, "--cluster", "eu-1", "--yes"]);
      await svc(["router", "offboard", "eu-1", "--email-hash-list", row, "--confirm", "eu-1"]);
      await svc("router offboard eu-1 --from - --confirm eu-1", { stdin: `email ${row}\n` });
      assert.deepEqual(
        service.calls.map(({ body }) => body.email_hash_list),
        [[expected], [expected], [expected], [expected]],
      );
    });
  }

  it("finds an address with every lookup, also by its upper-case digest", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    await svc("router map-emails - --cluster us-1", { stdin: "Zoë@bücher.example".normalize("NFD") });
    const key = sha256("zoë@bücher.example");
    const asReal = { env: { SVC_EMULATOR_URL: undefined, SVC_EMULATOR_TOKEN: undefined } };
    for (const identifier of ["zoë@bücher.example", key, key.toUpperCase()]) {
      const owner = [{ table: "cluster_emails", key, cluster_id: "us-1" }];
      assert.deepEqual(await json(["router", "show-email", identifier]), { email_hash: key, cluster_id: "us-1" });
      assert.deepEqual(await json(["router", "resolve", identifier]), owner, identifier);
      assert.deepEqual(await json(["router", "resolve", identifier], asReal), owner, identifier);
    }
  });

  it("sends and looks up the unchanged address with --hash none", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const stdin = "salted-1\nsalted-2\n";
    assert.equal((await svc("router map-emails - --cluster us-1 --hash none", { stdin })).exit, 0);
    await svc("router map-emails --email-hash-list salted-3 --cluster us-1 --hash none");
    for (const id of ["salted-1", "salted-2", "salted-3"]) {
      assert.equal((await json(`router show-email ${id} --hash none`)).cluster_id, "us-1");
    }
    await svc("router offboard us-1 --email-hash-list salted-1 --hash none --confirm us-1");
    await svc("router offboard us-1 --from - --hash none --confirm us-1", { stdin: "email salted-2\n" });
    assert.equal((await svc("router show-email salted-1 --hash none")).exit, 5);
    assert.equal((await svc("router show-email salted-2 --hash none")).exit, 5);
    const spaces = await svc("router map-emails - --cluster us-1 --hash none", { stdin: "a b\n" });
    assert.match(spaces.stderr, /^error: Row 1 \(a b\) is not a valid e-mail: it contains spaces\./m);
  });
});

describe("blanks around an identifier that is not an address", () => {
  for (const [label, stdin, flags] of [
    ["a line", "c-1\n c-2\n", ""],
    ["a line with CRLF", "c-1\r\nc-2 \r\n", ""],
    ["a CSV cell", "name,id\nAda,c-1\nBob, c-2\n", "--column id"],
    ["a TSV cell", "name\tid\nAda\tc-1\nBob\tc-2 \n", "--input-format tsv --column id"],
    ["an NDJSON string", '"c-1"\n" c-2"\n', "--input-format ndjson"],
    ["an NDJSON field", '{"id":"c-1"}\n{"id":"c-2 "}\n', "--input-format ndjson --column id"],
  ] as const) {
    it(`make ${label} invalid`, async (t) => {
      const { svc, listRequests } = await createBulkFixture(t, []);
      const run = `router map-clients - --cluster eu-1 --quiet --skip-invalid --errors-out bad.csv ${flags}`;
      const { exit, stderr } = await svc(run, { stdin });
      assert.deepEqual([exit, listRequests()], [3, [["c-1"]]], stderr);
      const rejected = await svc(`router unmap-clients - --cluster eu-1 --confirm eu-1 ${flags}`, { stdin });
      assert.deepEqual([rejected.exit, listRequests().length], [2, 1]);
      assert.match(rejected.stderr, /^error: Row [23] \( ?c-2 ?\) is not a valid client ID: it contains spaces\.$/m);
    });
  }

  for (const argv of [
    ["map-clients", "--client-ids", " c-1", "--cluster", "eu-1"],
    ["unmap-clients", "--client-ids", "c-1 ", "--cluster", "eu-1", "--yes"],
    ["map-clients", "--set", 'client_ids=[" c-1"]', "--cluster", "eu-1"],
    ["map-emails", "--email-hash-list", " c-1", "--hash", "none", "--cluster", "eu-1"],
    ["offboard", "eu-1", "--client-ids", " c-1", "--confirm", "eu-1"],
  ]) {
    it(`are rejected by svc router ${argv.join(" ")}`, async (t) => {
      const { svc, service } = await createBulkFixture(t, []);
      const { exit, stderr } = await svc(["router", ...argv]);
      assert.deepEqual([exit, service.calls], [2, []], stderr);
      assert.match(stderr, /^error: " ?c-1 ?" is not a valid (client ID|e-mail): it contains spaces$/m);
    });
  }

  for (const [label, stdin, flags] of [
    ["CSV", "kind,identifier\nclient, c-1\nemail, ada@example.com \n", "--input-format csv"],
    ["TSV", "kind\tidentifier\nclient\t c-1\nemail\t ada@example.com \n", "--input-format tsv"],
    [
      "NDJSON",
      '{"kind":"client","identifier":" c-1"}\n{"kind":"email","identifier":" ada@example.com "}\n',
      "--input-format ndjson",
    ],
  ] as const) {
    it(`make a row of an offboarding invalid in ${label}, except around an address`, async (t) => {
      const { svc, service } = await createBulkFixture(t, []);
      const run = `router offboard eu-1 --from - --confirm eu-1 --skip-invalid ${flags}`;
      const { exit, stderr } = await svc(run, { stdin });
      const bodies = service.calls.map(({ body }) => body);
      assert.deepEqual([exit, bodies], [3, [{ email_hash_list: [sha256("ada@example.com")] }]], stderr);
    });
  }

  it("do not make a part of a cell the cluster of a row", async (t) => {
    const { svc, service } = await createBulkFixture(t, []);
    const run = "router offboard eu-1 --from - --confirm eu-1 --skip-invalid --input-format csv";
    const stdin = "table,key\ncreator_tokens, s3cret\ncluster_clients,c-1 eu-1\n";
    const { exit, stdout, stderr } = await svc(run, { stdin });
    assert.deepEqual([exit, service.calls], [3, []], stderr);
    assert.ok(!(stdout + stderr).includes("s3cret"));
    const results = await svc("router jobs results --last --json");
    assert.deepEqual(
      (JSON.parse(results.stdout) as { message: string }[]).map(({ message }) => message),
      ["not a valid creator invite token: it contains spaces", "not a valid client ID: it contains spaces"],
    );
  });

  it("are part of what svc router resolve and show-email look up", async (t) => {
    const { svc } = await startCliEmulator(t);
    await svc("router map-emails --email-hash-list salted-1 --cluster us-1 --hash none");
    for (const argv of [
      ["resolve", "T-FABRIKAM"],
      ["show-email", "salted-1", "--hash", "none"],
    ] as const) {
      const [command, identifier, ...flags] = argv;
      assert.equal((await svc(["router", command, identifier, ...flags])).exit, 0);
      assert.equal((await svc(["router", command, `${identifier} `, ...flags])).exit, 5);
    }
  });
});

describe("numbers in NDJSON rows", () => {
  it("are sent as they are written", async (t) => {
    const numbers = ["9007199254740993", "12345678901234567890", "1.10", "7e400", "8"];
    const { svc, service } = await createBulkFixture(
      t,
      numbers.map((number) => `{"name":"x","id":${number}}`),
    );
    const { exit, stderr } = await svc("router map-clients rows.txt --cluster eu-1 --input-format ndjson --column id");
    assert.deepEqual([exit, service.calls.map(({ body }) => body.client_ids)], [0, [numbers]], stderr);
  });
});

describe("output of svc router resolve", () => {
  it("serves as input for svc router offboard in every format", async (t) => {
    for (const [flags, offboard] of [
      [[], []],
      [
        ["--format", "tsv"],
        ["--input-format", "tsv"],
      ],
      [
        ["--format", "csv"],
        ["--input-format", "csv"],
      ],
      [
        ["--format", "ndjson"],
        ["--input-format", "ndjson"],
      ],
    ] as const) {
      const { svc } = await startCliEmulator(t);
      const { stdout } = await svc(["router", "resolve", "tenant-fabrikam", ...flags]);
      assert.match(stdout, /external_integrations.*CHAT_B:tenant-fabrikam.*us-1/);
      const line = ["router", "offboard", "us-1", "--from", "-", ...offboard, "--confirm", "us-1"];
      const { exit, stderr } = await svc(line, { stdin: stdout });
      assert.equal(exit, 0, stderr);
      assert.equal((await svc("router resolve tenant-fabrikam")).exit, 5, flags.join(" "));
    }
  });

  it("is rejected as one JSON document, which its options do not read", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { stdout: stdin } = await svc("router resolve T-FABRIKAM --json");
    const line = "router offboard us-1 --from - --confirm us-1";
    const { exit, stderr } = await svc(`${line} --quiet`, { stdin });
    const hint = "  Write one JSON value per line, as --format ndjson does.\n";
    assert.deepEqual(
      [exit, stderr],
      [2, `error: --from: The input is a JSON array.\n${hint}  try: svc ${line} --quiet --input-format ndjson\n`],
    );
  });

  it("is rejected for another cluster", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { stdout } = await svc("router resolve T-FABRIKAM");
    const { exit, stderr } = await svc("router offboard eu-1 --from - --confirm eu-1", { stdin: stdout });
    assert.equal(exit, 2);
    assert.match(stderr, /^error: Row 1 \(chat_a_teams\\tT-FABRIKAM\) is of another cluster: us-1\.$/m);
    assert.equal((await svc("router resolve T-FABRIKAM")).exit, 0);
  });

  it("prefixes external IDs with their type, also on the command line", async (t) => {
    const { svc, service } = await createBulkFixture(t, ["external-integration CHAT_B:tenX"]);
    await svc("router offboard eu-1 --from rows.txt --confirm eu-1");
    await svc("router map-external-integrations - --cluster eu-1 --integration-type CHAT_B", {
      stdin: "CHAT_B:tenX\n",
    });
    assert.deepEqual(
      service.calls.map(({ body }) => body),
      [
        { external_integrations: [{ external_id_list: ["tenX"], integration_type: "CHAT_B" }] },
        { external_id_list: ["tenX"], cluster_id: "eu-1", integration_type: "CHAT_B" },
      ],
    );
  });
});

describe("response body false", () => {
  for (const line of [
    "router map-emails rows.txt --cluster eu-1",
    "router unmap-emails rows.txt --cluster eu-1 --yes",
    "router map-emails --email-hash-list ada@example.com --cluster eu-1",
    "router unmap-emails --email-hash-list ada@example.com --cluster eu-1 --yes",
    "router offboard eu-1 --email-hash-list ada@example.com --confirm eu-1",
    "router offboard eu-1 --from offboard.txt --confirm eu-1",
  ]) {
    it(`counts as a failure of svc ${line}`, async (t) => {
      const { svc, write } = await createBulkFixture(t, ["ada@example.com"], () => ({ status: 200, body: false }));
      await write("offboard.txt", ["email ada@example.com"]);
      const { exit, stdout, stderr } = await svc(line);
      assert.deepEqual([exit, stdout], [1, ""], stderr);
      assert.match(
        stderr,
        /^error: Failed to (map 1 e-mail to|remove 1 (e-mail|identifier) from) eu-1: the service responded with false, not true.$/m,
      );
    });
  }
});
