import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";

const bom = "\ufeff";
const ada = [[createHash("sha256").update("ada@example.com").digest("hex")]];

describe("file in an unexpected format", () => {
  for (const [label, name, command, content, message, flags] of [
    [
      "a table with ; that would be read as lines",
      "people.txt",
      "map-clients",
      "id;name\nc-1;Ada\n",
      'The input looks like a table with ";" as the delimiter, but would be read as lines.',
      "--column id --input-format csv --delimiter ';'",
    ],
    [
      "a table with ; and no heading that would be read as lines",
      "people.txt",
      "map-emails",
      "ada@example.com;Ada\n",
      'The input looks like a table with ";" as the delimiter, but would be read as lines.',
      "--column 1 --input-format csv --delimiter ';'",
    ],
    [
      "a table with tabs that would be read as lines",
      "people.txt",
      "map-emails",
      "Name\tMail\nAda\tada@example.com\n",
      "The input looks like a table with a tab as the delimiter, but would be read as lines.",
      "--column Mail --input-format tsv",
    ],
    [
      "a table with commas that would be read as lines",
      "people.txt",
      "map-emails",
      "Name,Mail\nAda,ada@example.com\n",
      'The input looks like a table with "," as the delimiter, but would be read as lines.',
      "--column Mail --input-format csv",
    ],
    [
      "a German export of Excel",
      "people.csv",
      "map-emails",
      `${bom}Name;E-Mail\r\nAda;ada@example.com\r\n`,
      'The delimiter of the input is ";", not a comma.',
      "--column E-Mail --delimiter ';'",
    ],
    [
      "a German export of Excel in quotes",
      "people.csv",
      "map-emails",
      `${bom}"Name";"E-Mail"\r\n"Ada";"ada@example.com"\r\n`,
      "Invalid CSV: a closing quote is followed by other characters in the row that begins at line 1",
      "--delimiter ';'",
    ],
    [
      "a German export of Excel with a selected column",
      "people.csv",
      "map-emails --column E-Mail",
      "Name;E-Mail\nAda;ada@example.com\n",
      'The delimiter of the input is ";", not a comma.',
      "--delimiter ';'",
    ],
    [
      "a table with bars and a selected column",
      "people.csv",
      "map-clients --column id",
      "id|name\nc-1|Ada\n",
      'The delimiter of the input is "|", not a comma.',
      "--delimiter '|'",
    ],
    [
      "several columns without a selection",
      "people.csv",
      "map-emails",
      "name,e-mail,team\nAda,ada@example.com,T1\n",
      "The input has 3 columns: name, e-mail, team.",
      "--column e-mail",
    ],
    [
      "several columns without a heading or a selection",
      "people.csv",
      "map-emails",
      "Ada,ada@example.com\n",
      "The input has 2 columns: Ada, ada@example.com.",
      "--column 2",
    ],
    [
      "several columns, none with a heading for addresses, without a selection",
      "people.csv",
      "map-emails",
      "id,contact\n7,ada@example.com\n",
      "The input has 2 columns: id, contact.",
      "--column contact",
    ],
    [
      "several columns of IDs without a selection",
      "people.csv",
      "map-chat-a-teams",
      "user_id,team_id\nU1,T1\n",
      "The input has 2 columns: user_id, team_id.",
      "--column team_id",
    ],
    [
      "several fields of NDJSON without a selection",
      "people.ndjson",
      "map-emails",
      '{"name":"Ada","mail":"ada@example.com"}\n',
      "The objects of the input have several fields: name, mail.",
      "--column mail",
    ],
    [
      "two columns with one name",
      "people.csv",
      "map-emails --column email",
      "email,name,email\nada@example.com,Ada,\n",
      'Columns 1 and 3 have the same name, "email".',
      "--column 1",
    ],
  ] as const) {
    it(`stops before anything is sent and suggests a command: ${label}`, async (t) => {
      const { svc, service, cwd } = await createBulkFixture(t, []);
      await writeFile(join(cwd, name), content);
      const { exit, stdout, stderr } = await svc(`router ${command} ${name} --cluster eu-1 --quiet`);
      assert.deepEqual([exit, stdout, service.calls], [2, "", []]);
      const [first, ...rest] = stderr.split("\n");
      assert.equal(first, `error: <file>: ${message}`);
      const words = command.replace(" --column email", "");
      assert.equal(rest.at(-2), `  try: svc router ${words} ${name} --cluster eu-1 --quiet ${flags}`, stderr);
      assert.equal((await svc("router jobs list --json")).stdout, "[]\n");
    });
  }

  it("names the columns if a name is misspelled and a heading contains a separator", async (t) => {
    const { svc, service, cwd } = await createBulkFixture(t, []);
    await writeFile(join(cwd, "people.csv"), '"Name; first | last",E-Mail\nAda,ada@example.com\n');
    const { exit, stderr } = await svc("router map-emails people.csv --column mail --cluster eu-1 --quiet");
    const message = 'error: Column "mail" not found\n  Columns: Name; first | last, E-Mail\n';
    assert.deepEqual([exit, stderr, service.calls], [2, message, []]);
  });

  it("loads with the suggested command", async (t) => {
    for (const [name, content] of [
      ["people.csv", `${bom}Name;E-Mail\r\nAda;ada@example.com\r\n`],
      ["people.txt", "Name\tMail\nAda\tada@example.com\n"],
      ["people.txt", "ada@example.com,Ada\n"],
      ["people.csv", "sep=;\nname;mail\nAda;ada@example.com\n"],
      ["people.ndjson", '{"name":"Ada","mail":"ada@example.com"}\n'],
    ] as const) {
      const { svc, service, cwd } = await createBulkFixture(t, []);
      await writeFile(join(cwd, name), content);
      const result = await svc(`router map-emails ${name} --cluster eu-1`);
      const line = /^ {2}try: svc (.*)$/m.exec(result.stderr)?.[1] ?? result.stderr;
      const { exit, stderr } = await svc(line.replaceAll("'", ""));
      assert.deepEqual([exit, service.calls.map(({ body }) => body.email_hash_list)], [0, ada], stderr);
    }
  });

  for (const [label, bytes] of [
    ["an Excel workbook (.xlsx) or another ZIP archive", Buffer.from("PK\x03\x04\x14\x00\x06\x00rest", "latin1")],
    ["an Excel workbook (.xls) or another Office document", Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1])],
  ] as const) {
    it(`stops and reports the format: ${label}`, async (t) => {
      const { svc, service, cwd } = await createBulkFixture(t, []);
      await writeFile(join(cwd, "people.xlsx"), bytes);
      for (const stdin of [undefined, bytes]) {
        const { exit, stderr } = await svc(`router map-emails ${stdin ? "-" : "people.xlsx"} --cluster eu-1 --quiet`, {
          ...(stdin ? { stdin } : {}),
        });
        assert.deepEqual([exit, service.calls], [2, []]);
        assert.ok(
          stderr.startsWith(
            `error: <file>: The input is ${label}, not text.\n  Save it as “CSV UTF-8” and use that file.\n`,
          ),
          stderr,
        );
      }
    });
  }

  it("loads with an explicit format", async (t) => {
    for (const [line, stdin, sent] of [
      ["map-clients - --input-format lines", "a;b\nc;d\n", ["a;b", "c;d"]],
      ["map-clients - --input-format lines", "client_id\nc-1\n", ["client_id", "c-1"]],
      ["map-clients - --input-format csv --delimiter ,", "a;b\nc;d\n", ["a;b", "c;d"]],
      ["map-clients - --input-format csv --column 1", "a,b\nc,d\n", ["a", "c"]],
      ["map-clients -", "auth0|1\nauth0|2\n", ["auth0|1", "auth0|2"]],
      ["map-clients - --input-format csv", "a,\nb,\n", ["a", "b"]],
    ] as const) {
      const { svc, listRequests: got } = await createBulkFixture(t, []);
      const { exit, stderr } = await svc(`router ${line} --cluster eu-1 --quiet`, { stdin });
      assert.deepEqual([exit, got()], [0, [sent]], stderr);
    }
  });

  it("suggests the same column if the lines of a pipe arrive one by one", async (t) => {
    for (const [flags, lines] of [
      ["--input-format csv", ["id,contact\n", "7,ada@example.com\n", "8,bob@example.com\n"]],
      ["--input-format tsv", ["id\tcontact\n", "7\tada@example.com\n"]],
      ["", ["id\tcontact\n", "7\tada@example.com\n"]],
    ] as const) {
      const { svc, service } = await createBulkFixture(t, []);
      const stdin = (async function* () {
        for (const line of lines) yield Buffer.from(line);
      })();
      const { exit, stderr } = await svc(`router map-emails - ${flags} --cluster eu-1`, { stdin });
      assert.deepEqual([exit, service.calls], [2, []]);
      assert.match(stderr, /^ {2}try: svc router map-emails - .*--cluster eu-1 --column contact/m);
    }
  });

  it("suggests a command that is valid after a separator, and with another delimiter", async (t) => {
    const { svc, cwd } = await createBulkFixture(t, []);
    await writeFile(join(cwd, "quoted.csv"), '"c-1";"Ada"\n');
    await writeFile(join(cwd, "people.csv"), "id;name\nc-1;Ada\n");
    for (const [line, suggestedLine] of [
      ["quoted.csv --delimiter , --cluster eu-1", "quoted.csv --cluster eu-1 --delimiter ';'"],
      ["quoted.csv --delimiter=, --cluster eu-1", "quoted.csv --cluster eu-1 --delimiter ';'"],
      ["--cluster eu-1 -- people.csv", "--cluster eu-1 --column id --delimiter ';' -- people.csv"],
    ] as const) {
      const { stderr } = await svc(`router map-clients ${line}`);
      assert.equal(stderr.split("\n").at(-2), `  try: svc router map-clients ${suggestedLine}`);
    }
  });

  it("stops in a pipe and in svc router offboard", async (t) => {
    const { svc, service } = await createBulkFixture(t, []);
    const result = await svc("router map-emails - --cluster eu-1", { stdin: "Mail;Name\nada@example.com;Ada\n" });
    const line = "svc router map-emails - --cluster eu-1 --column Mail --input-format csv --delimiter ';'";
    assert.match(result.stderr, new RegExp(`^  try: ${line}$`, "m"));
    const stdin = "kind,identifier\nclient,c-1\n";
    const offboard = await svc("router offboard eu-1 --from - --confirm eu-1", { stdin });
    assert.match(offboard.stderr, /^ {2}try: svc router offboard eu-1 --from - --confirm eu-1 --input-format csv$/m);
    assert.deepEqual([result.exit, offboard.exit, service.calls], [2, 2, []]);
  });
});
