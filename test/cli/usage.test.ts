import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { startReceiver } from "../support/receiver.ts";

/** Any request would fail with exit 75. */
const nowhere = ["--base-url", "http://127.0.0.1:1", "--retries", "0"];

const rejectedLines: [string, string, RegExp][] = [
  ["an empty path", "contracts download T-1 --output=", /^error: --output must not be empty\n/],
  ["an unknown group", "contracs status T-1", /unknown command 'contracs'\n {2}Did you mean contracts\?/],
  ["an unknown command", "contracts statsu T-1", /unknown command 'statsu'\n {2}Did you mean status\?/],
  ["a command without its group", "exec -- true", /unknown command 'exec'\n {2}Did you mean svc emulator exec\?/],
  ["a command of another group", "contracts map-emails", /'map-emails'\n {2}Did you mean svc router map-emails\?/],
  ["a group without the one around it", "snapshot nothing", /'snapshot'\n {2}Did you mean svc emulator snapshot\?/],
  ["one of its commands", "snapshot save x", /'snapshot'\n {2}Did you mean svc emulator snapshot save\?/],
  [
    "a command that three groups have",
    "status",
    /Did you mean svc contracts status or svc emulator status or svc auth status\?/,
  ],
  ["a command of several groups", "list", /unknown command 'list'\n {2}See svc --help\./],
  ["an unknown command", "nothing", /unknown command 'nothing'\n {2}See svc --help\./],
  ["an unknown flag", "contracts status T-1 --jsno", /unknown option '--jsno'\n {2}Did you mean --json\?/],
  [
    "an incomplete flag name",
    "webhooks create --activities CONTRACT_SIGNED",
    /unknown option '--activities'\n {2}Did you mean --only-for-activities\?/,
  ],
  [
    "an incomplete name of two flags",
    "router map-emails --errors 1",
    /unknown option '--errors'\n {2}Did you mean --max-errors or --errors-out\?/,
  ],
  [
    "an incomplete name of three flags",
    "router map-emails --max 1",
    /unknown option '--max'\n {2}Did you mean --max-response or --max-wait or --max-errors\?/,
  ],
  [
    "an incomplete name of many flags",
    "contracts list --contract 1",
    /unknown option '--contract'\n {2}See svc contracts list --help/,
  ],
  [
    "a parent folder as an ID",
    "contracts status ..",
    /^error: <composite-id> must not be "\.\."\n {2}See svc contracts status --help/,
  ],
  ["a missing argument", "contracts status", /<composite-id> is required\n {2}See svc contracts status --help/],
  [
    "an extra argument",
    "contracts status T-1 T-2",
    /^error: too many arguments: svc contracts status takes <composite-id> and options, not "T-2" as well\n/,
  ],
  [
    "a single value given twice",
    "emulator clock advance --by PT5M --by 2h",
    /^error: --by can be given only once\n {2}See svc emulator clock advance --help/,
  ],
  [
    "a forgotten value before another flag",
    "contracts void T-1 --note --dry-run",
    /^error: --note requires a value: <NOTE>\n/,
  ],
  ["a global value given twice", "--profile a webhooks list --profile b", /^error: --profile can be given only once\n/],
  [
    "a list of fields given twice",
    "webhooks list --json=id --fields url",
    /^\{"error":\{"code":"usage","message":"--fields can be given only once",/,
  ],
  [
    "a date instead of a time",
    "emulator rewind --to 2040-01-01",
    /^error: --to must be a time \(2031-01-02T03:04:05Z\), got "2040-01-01"\n/,
  ],
  [
    "a duration without its option",
    "emulator clock advance 1h",
    /^error: too many arguments: svc emulator clock advance takes options alone, not "1h" as well\n {2}Did you mean --by 1h\?\n/,
  ],
  [
    "conflicting fields of a fault",
    "emulator fault add --direction outgoing --status 503",
    /^error: Several values are invalid:\n {2}- --status cannot be used with --direction outgoing\n {2}- --effect is required\n/,
  ],
  ["a missing flag of the body", "intake create --title x", /--workflow-id is required \(or in --data\)/],
  ["an invalid number", "intake create --title x --workflow-id two", /--workflow-id must be a whole number, got "two"/],
  ["a value outside its choices", "intake create --title x --workflow-id 1 --priority HIHG", /Did you mean HIGH\?/],
  [
    "an unknown field",
    "contracts status T-1 --fields contract_statu",
    /Unknown field "contract_statu". Did you mean contract_status\?\n {2}Fields: contract_name, contract_status/,
  ],
  [
    "an unknown field without a similar name",
    "contracts status T-1 --fields nope",
    /Unknown field "nope"\.\n {2}Fields: contract_name, contract_status/,
  ],
  ["fields after --json", "contracts list --json id", /as well","hint":"Did you mean --json=id\?"/],
  [
    "a command of other groups",
    "contracts show T-1",
    /unknown command 'show'\n {2}Use svc contracts status for the status, or svc emulator show-contract for all/,
  ],
  [
    "webhooks get",
    "webhooks get 1",
    /unknown command 'get'\n {2}Use svc webhooks why to diagnose a webhook, or svc webhooks list to list all\./,
  ],
  ["webhooks test", "webhooks test", /unknown command 'test'\n {2}Use svc webhooks trigger to send /],
  [
    "the log of an emulator",
    "emulator logs",
    /unknown command 'logs'\n {2}Use svc emulator requests .* \.svc\/emulator\.json\.log\./,
  ],
  ["the help of an unknown command", "contracts lst --help", /unknown command 'lst'\n {2}Did you mean list\?/],
  ["help of a command without a similar name", "contracts xyzzy --help", /'xyzzy'\n {2}See svc contracts --help\.\n/],
  [
    "help of a misspelled command in a nested group",
    "emulator snapshot svae --help",
    /'svae'\n {2}Did you mean save\?/,
  ],
  ["the reference of an intake", "intake show I-0012", /must be a whole number, got "I-0012"\n {2}Did you mean 12\?\n/],
  ["an invalid choice", "completion tcsh", /must be bash, fish, powershell or zsh, got "tcsh"\n/],
  [
    "a value of another type",
    "contracts create --contract-template-id 1 --set contract_data={ --set counter_party_details=[]",
    /^error: contract_data must be an object\n/m,
  ],
  [
    "a body of several possible shapes",
    "router add-signatories --set signatory_hash=5d41402a",
    /^error: cluster is required \(--set cluster=…, or in --data\)\n/m,
  ],
  ["incomplete JSON", 'contracts create --set x={"a":true', /--set: \{"a":true is not valid JSON/],
  [
    "JSON instead of a file",
    "contracts create --data {}",
    /cannot read \{\}: .*\n {2}Use --data FILE, --data - for a pipe, or --set PATH=VALUE for values\./,
  ],
  [
    "an invalid item of an option that may be repeated",
    "contracts send T-1 --to-emails x --base-url http://127.0.0.1:9",
    /^error: --to-emails must be an e-mail address, got "[^"]+"\n/m,
  ],
  [
    "the name of a file after @",
    "contracts create --data @nda.json",
    /cannot read @nda\.json: no such file\n {2}Use --data FILE, --data - for a pipe/,
  ],
  [
    "an unknown format",
    "contracts status T-1 --format yaml",
    /--format must be csv, json, ndjson, table or tsv, got "yaml"/,
  ],
  ["an invalid duration", "contracts status T-1 --timeout soon", /--timeout must be a duration/],
  ["an invalid base URL", "contracts status T-1 --base-url somewhere", /--base-url must be a URL.*\n {2}See svc/],
  [
    "a base URL without its scheme",
    "contracts status T-1 --base-url localhost:4010",
    /--base-url must be a URL.*\n {2}Did you mean http:\/\/localhost:4010\?/,
  ],
  [
    "another base URL without its scheme",
    "contracts status T-1 --base-url eu.example",
    /Did you mean https:\/\/eu\.example\?/,
  ],
  [
    "a missing flag out of several",
    "emulator clock advance",
    /error: exactly one of --by, --to, --next and --until-idle is required\n/,
  ],
  [
    "an unknown activity",
    "webhooks trigger NOPE",
    /Activity "NOPE" not found\.\n {2}To list the activities, run svc webhooks trigger\.\n$/,
  ],
  [
    "a URL instead of a path",
    "api GET http://127.0.0.1:4010/x",
    /<path> must be a path, got a URL\n {2}For another address, use --base-url\.\n/,
  ],
  ["an unsupported header", "api GET /x --header Expect:100-continue", /headers?: expect header not supported\n/],
  ["a command after --", "-- contracts list", /^error: -- must follow a command\n/m],
  ["a command after -- in its group", "contracts -- list", /^error: -- must follow a command\n/m],
  ["two help topics", "help exit-codes formats", /svc help shows one topic\n {2}See svc help exit-codes\.\n/],
  ["a misspelled help topic", "help exit-code", /unknown command 'exit-code'\n {2}Did you mean exit-codes\?/],
  [
    "help of an unknown command",
    "help xyzzy",
    /'xyzzy'\n {2}svc --help lists the commands\. Topics: options, exit-codes, /,
  ],
  ["an unreadable file", "contracts create --data none.json", /--data: cannot read none.json: no such file/],
  ["a folder instead of a file", "contracts create --data folder", /--data: folder is a folder, not a file/],
  ["a file that is not JSON", "contracts create --data bad.json", /--data: bad.json is not JSON/],
  [
    "a file that nests too deeply",
    "contracts create --data deep.json",
    /--data: deep.json is not JSON \(nested more than 1000 levels\)/,
  ],
  ["an empty file", "contracts create --data empty.json", /--data: empty.json is empty/],
  ["an assignment without a value", "contracts create --set a", /--set must be PATH=VALUE/],
  ["an assignment to a prototype", "contracts create --set __proto__.x=1", /--set cannot write to __proto__.x/],
  [
    "a signature without a key",
    "webhooks verify bad.json --signature ab",
    /--key-file or SVC_WEBHOOK_HMAC_KEY is required/,
  ],
];

describe("invalid command line", () => {
  for (const [label, argv, message] of rejectedLines) {
    it(`exits with 2 for ${label}, sends nothing and suggests a fix`, async () => {
      const cwd = await mkdtemp(join(tmpdir(), "svc-usage-"));
      await mkdir(join(cwd, "folder"));
      await writeFile(join(cwd, "bad.json"), "{");
      await writeFile(join(cwd, "deep.json"), `${'{"contract_data":'.repeat(20_000)}1.0${"}".repeat(20_000)}`);
      await writeFile(join(cwd, "empty.json"), "");
      const sends = !argv.startsWith("completion ");
      const target = !sends ? [] : argv.includes("--base-url") ? ["--retries", "0"] : nowhere;
      const { exit, stdout, stderr } = await runCli([...argv.split(" "), ...target], { cwd });
      assert.match(stderr, message);
      assert.deepEqual([exit, stdout], [2, ""]);
    });
  }

  it("gives a flag to its command, not to the command above that has the same flag", async () => {
    const cwd = await mkdtemp(join(tmpdir(), "svc-usage-"));
    const { exit, stderr } = await runCli("emulator workspaces remove 1 --yes --file .", { cwd });
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: --file: . is a folder, not a file"]);
  });

  it("reports the missing half of a key", async () => {
    for (const [env, lacks] of [
      [{ SVC_CLIENT_ID: "wk_1" }, ": the client secret is missing."],
      [{ SVC_CLIENT_SECRET: "s" }, ": the client id is missing."],
      [{}, "."],
    ] as const) {
      const { exit, stderr } = await runCli(["contracts", "list", ...nowhere], { env: { ...env } });
      assert.deepEqual([exit, stderr.split("\n")[0]], [4, `error: This request requires api-key credentials${lacks}`]);
    }
  });

  for (const [command, rest] of [
    ["emulator start", ""],
    ["emulator start --detach", ""],
    ["emulator start --detach --file new/folder/state.json", ""],
    ["emulator exec", " -- true"],
  ] as const) {
    it(`suggests the host of an address, and creates nothing: svc ${command} --webhook-allow`, async (t) => {
      const cwd = await createTestFolder(t);
      const { exit, stderr } = await runCli(`${command} --webhook-allow https://hooks.example.com/x${rest}`, { cwd });
      const rule = 'error: --webhook-allow must be host, host:port or *.domain, got "https://hooks.example.com/x".';
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, `${rule} Did you mean hooks.example.com?`]);
      assert.deepEqual(await readdir(cwd), []);
    });
  }

  it("reports the commands that accept a misplaced option", async () => {
    const getHint = async (line: string) => (await runCli(line)).stderr.split("\n").slice(0, 2);
    const error = "error: unknown option '--webhook-allow'";
    const hint = "  --webhook-allow is an option of svc emulator start and svc emulator exec.";
    assert.deepEqual(await getHint("webhooks create --webhook-allow localhost"), [error, hint]);
    const [, listed] = await getHint("webhooks deliveries --since 1h");
    assert.equal(listed, "  --since is an option of svc contracts reconcile and svc emulator requests.");
    assert.deepEqual(await getHint("emulator status --webhook-allow localhost"), [error, hint]);
    assert.deepEqual((await getHint("emulator status --nowhere"))[1], "  See svc emulator status --help.");
  });

  it("prints one line of JSON on standard error with --json", async () => {
    const { exit, stdout, stderr } = await runCli(["contracts", "status", "--json"]);
    assert.deepEqual(
      [exit, stdout, JSON.parse(stderr)],
      [
        2,
        "",
        {
          error: {
            code: "usage",
            message: "<composite-id> is required",
            hint: "See svc contracts status --help.",
            requestId: null,
            retryable: false,
            exitCode: 2,
            next: [],
          },
        },
      ],
    );
    assert.equal(stderr.split("\n").length, 2);
  });

  it("is reported in the last of several formats", async () => {
    const isJson = async (line: string) => (await runCli(`contracts ${line}`)).stderr.startsWith("{");
    const lines = ["--format table --format json nope", "--format json --format=table nope", "nope --json"];
    assert.deepEqual(await Promise.all(lines.map(isJson)), [true, false, true]);
    const { stderr } = await runCli("emulator start --log text --log json --no-such-flag");
    assert.match(stderr, /^\{"time":/);
  });

  it("explains how to configure services if no service is configured", async () => {
    const { exit, stderr } = await runCli("router health");
    assert.equal(exit, 2);
    assert.match(
      stderr,
      /To start an emulator, run svc emulator start --detach\. Or use --base-url URL, set SVC_BASE_URL, or choose a --profile/,
    );
  });

  it("rejects two flags that both select the services", async () => {
    const { exit, stderr } = await runCli("router health --emulator --base-url http://127.0.0.1:1");
    assert.equal(exit, 2);
    assert.match(stderr, /^error: --emulator cannot be used with --base-url$/m);
  });

  for (const [json, hint] of [
    ["--json=id", "Choose fields in any format with --fields id."],
    ["--json", "See svc help formats."],
  ] as const) {
    it(`rejects two formats: ${json}`, async () => {
      for (const argv of [`router jobs list ${json} --format csv`, `--format csv router jobs list ${json}`]) {
        const { exit, stdout, stderr } = await runCli(argv);
        assert.deepEqual([exit, stdout], [2, ""]);
        const { error } = JSON.parse(stderr);
        assert.equal(error.message, "--json cannot be used with --format csv");
        assert.equal(error.hint, hint);
      }
      assert.equal((await runCli(`router jobs list ${json} --format json`)).exit, 0);
    });
  }

  it("is distinguished from missing credentials, which exit with 4", async () => {
    const { exit, stderr } = await runCli(["contracts", "status", "T-1", ...nowhere]);
    assert.equal(exit, 4);
    assert.match(stderr, /Set SVC_CLIENT_ID and SVC_CLIENT_SECRET/);
  });
});

it("a command with an empty ID sends no request and suggests no list", async () => {
  for (const words of [
    ["contracts", "status"],
    ["contracts", "comments", "list"],
    ["files", "download"],
    ["router", "show-email"],
    ["router", "jobs", "show"],
    ["emulator", "show-contract"],
  ]) {
    for (const id of ["", "  "]) {
      const isLocal = words.join(" ") === "router jobs show";
      const { exit, stdout, stderr } = await runCli([...words, id, ...(isLocal ? [] : nowhere)], {
        env: {
          SVC_CLIENT_ID: "a",
          SVC_CLIENT_SECRET: "b",
          SVC_EMULATOR_URL: "http://127.0.0.1:1",
          SVC_EMULATOR_TOKEN: "t",
        },
      });
      assert.deepEqual([exit, stdout], [2, ""], stderr);
      assert.match(stderr, /^error: <[a-z-]+> must (not be empty|be a whole number, got "\s*")\n/, words.join(" "));
    }
  }
});

describe("svc --max-response", () => {
  for (const [size, maxBytes, shown] of [
    ["1000", 1_000, "1000 B"],
    ["1kB", 1_000, "1000 B"],
    ["1k", 1_024, "1 KiB"],
    ["1.5 KiB", 1_536, "1.5 KiB"],
  ] as const)
    it(`accepts a response of at most ${maxBytes} bytes for ${size}`, async (t) => {
      const service = await startReceiver(t);
      const request = async (bytes: number) => {
        service.respond((_, response) => response.end("x".repeat(bytes)));
        const argv = ["api", "GET", "/x", "--base-url", service.url, `--max-response=${size}`];
        const { exit, stdout, stderr } = await runCli(argv);
        return [exit, stdout.length, stderr.split("\n")[0]];
      };
      assert.deepEqual((await request(maxBytes)).slice(0, 2), [0, maxBytes]);
      const error = `error: Failed to read from ${service.url}: the response is larger than ${shown}.`;
      assert.deepEqual(await request(maxBytes + 1), [1, 0, error]);
    });
});
