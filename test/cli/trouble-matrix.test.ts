import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { loadOperation } from "../../src/cli/derived.ts";
import type { CommandDeclaration, CommandSpec } from "../../src/derive/command-spec.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";
import { allCommands } from "../support/all-commands.ts";
import { testFolder } from "../support/cli-emulator.ts";
import { movedWall } from "../support/moved-wall.ts";
import { receiver } from "../support/receiver.ts";
import { type RunResult, runCli } from "../support/run-cli.ts";

const credentials = {
  SVC_CLIENT_ID: "id",
  SVC_CLIENT_SECRET: "very-secret",
  SVC_CLUSTER_KEY: "very-secret",
  SVC_TOKEN: "very-secret",
  SVC_BASIC_AUTH: "user:very-secret",
  SVC_EMULATOR_TOKEN: "very-secret",
};
const everywhere = await allCommands();
/** What they send stands in a page or an export: no example could be run as it stands. */
const withoutExample = new Set(["emulator device-form", "emulator provider-form", "emulator state import"]);
const nowhere = ["--base-url", "http://127.0.0.1:1", "--retries", "0", "--yes"];

/** Runs many commands, some at once, and keeps what is not as it should be: an empty table is what tests want. */
async function astray<T>(
  cases: readonly T[],
  name: (one: T) => string,
  look: (one: T) => Promise<string | undefined>,
  atOnce = 8,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const left = [...cases];
  const worker = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const wrong = await look(one);
      if (wrong !== undefined) found[name(one)] = wrong;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return found;
}

const said = ({ exit, out, err }: RunResult): string =>
  `exit ${exit}, out ${JSON.stringify(out.slice(0, 80))}, err ${JSON.stringify(err.slice(0, 300))}`;

/** A failure is told once, in words, without a stack or a secret, and nothing else is printed. */
function refusedWell(result: RunResult, exit: readonly number[], message: RegExp): string | undefined {
  const errors = result.err.split("\n").filter((line) => line.startsWith("error: "));
  const isOne = errors.length === 1 && message.test(result.err);
  const isClean = !/very-secret|Unexpected failure|\n {4}at /.test(result.err);
  return exit.includes(result.exit) && result.out === "" && isOne && isClean ? undefined : said(result);
}

const wordsOf = ({ words }: CommandDeclaration): string => words.join(" ");

describe("every command, given a wrong command line", () => {
  it("refuses an unknown flag with exit 2", async () => {
    const wrong = await astray(everywhere, wordsOf, async ({ words }) =>
      refusedWell(await runCli([...words, "--no-such-flag", ...nowhere], { env: credentials }), [2], /no-such-flag/),
    );
    assert.deepEqual(wrong, {});
  });

  it("names what is missing with exit 2", async () => {
    const needy = everywhere.filter(
      ({ positionals, flags }) =>
        [...positionals.filter(({ optional }) => !optional), ...flags.filter(({ required }) => required)].length > 0,
    );
    assert.ok(needy.length > 100, String(needy.length));
    const wrong = await astray(needy, wordsOf, async ({ words }) =>
      refusedWell(await runCli([...words, ...nowhere], { env: credentials }), [2], /required/),
    );
    assert.deepEqual(wrong, {});
  });

  it("prints a help page with an example and exits 0", async () => {
    const wrong = await astray(everywhere, wordsOf, async ({ words, positionals, summary }) => {
      const { exit, out, err } = await runCli([...words, "--help"]);
      const usage = `Usage: svc ${words.join(" ")}`;
      const isWhole =
        out.startsWith(usage) &&
        out.includes(summary) &&
        (out.includes("Examples:") || withoutExample.has(words.join(" ")));
      return exit === 0 &&
        err === "" &&
        isWhole &&
        positionals.every(({ name }) => out.includes(name.replaceAll("_", "-")))
        ? undefined
        : said({ exit, out, err });
    });
    assert.deepEqual(wrong, {});
  });
});

/** The derived commands that send one request, with the command line and the files of their first example. */
const derived: readonly CommandSpec[] = Object.values(deriveSpecs()).flat();
const simple = derived.filter(({ byHand, examples }) => !byHand && examples.length > 0);

async function runExample(t: TestContext, spec: CommandSpec, flags: readonly string[]): Promise<RunResult> {
  const cwd = await testFolder(t);
  const { examples } = await loadOperation(spec);
  const body = (examples[0] as { body?: unknown } | undefined)?.body;
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body ?? {});
  await writeFile(join(cwd, "body.json"), bytes);
  await writeFile(join(cwd, "body.bin"), bytes);
  const argv = [...spec.examples[0]!.argv, ...flags, "--yes"];
  return runCli(argv, { cwd, env: credentials, wall: movedWall() });
}

describe("every command, given a file that is none", () => {
  const reading = derived.filter(({ byHand, body, examples }) => !byHand && body !== undefined && examples.length > 0);
  const flagOf = ({ body }: CommandSpec) => (body === "raw" || body === "stream" ? "--file" : "--data");
  const cases: [string, string, RegExp, (spec: CommandSpec) => boolean][] = [
    ["a missing one", "none.json", /there is no such file/, () => true],
    ["a folder", "folder", /is a folder, not a file/, () => true],
    ["an empty one", "empty.json", /is empty/, (spec) => flagOf(spec) === "--data"],
    ["one that is not JSON", "bad.json", /is not JSON/, (spec) => flagOf(spec) === "--data"],
  ];
  for (const [what, file, message, concerns] of cases) {
    it(`refuses ${what} with exit 2, and names flag and file`, async (t) => {
      const cwd = await testFolder(t);
      await mkdir(join(cwd, "folder"));
      await writeFile(join(cwd, "empty.json"), "");
      await writeFile(join(cwd, "bad.json"), "{");
      const wrong = await astray(reading.filter(concerns), wordsOf, async (spec) => {
        const bare = spec.positionals.map(
          ({ name, choices, type }) => choices?.[0] ?? (type === "integer" ? "1" : name),
        );
        const needed = spec.flags
          .filter(({ required, target }) => required && target?.in !== "body")
          .flatMap(({ flag, choices }) => [`--${flag}`, choices?.[0] ?? "1"]);
        const argv = [
          ...spec.words,
          ...bare,
          ...needed.filter((word, i) => word !== "--file" && needed[i - 1] !== "--file"),
          flagOf(spec),
          file,
        ];
        const result = await runCli([...argv, ...nowhere], { cwd, env: credentials });
        return (
          refusedWell(result, [2], message) ??
          (result.err.includes(flagOf(spec)) && result.err.includes(file) ? undefined : said(result))
        );
      });
      assert.deepEqual(wrong, {});
    });
  }
});

/** Answers whose shape is not the client's to judge: whatever came is handed on. */
const anyShape = new Set(["passthrough", "html", "bytes", "events", "redirect"]);

describe("every command that sends a request, to a service in trouble", () => {
  it("exits 75 when nothing listens", async (t) => {
    const wrong = await astray(simple, wordsOf, async (spec) =>
      refusedWell(
        await runExample(t, spec, ["--base-url", "http://127.0.0.1:1", "--retries", "0"]),
        [75],
        /nothing listens there/,
      ),
    );
    assert.deepEqual(wrong, {});
  });

  const cases: [string, (response: ServerResponse) => void, number, RegExp, (spec: CommandSpec) => boolean][] = [
    ["answers 500", (response) => response.writeHead(500).end("{}"), 75, /\(500\)/, () => true],
    [
      "answers 401",
      (response) => response.writeHead(401).end('{"detail":"no"}'),
      4,
      /\(401\): no/,
      ({ output }) => output !== "passthrough",
    ],
    [
      "answers HTML",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Welcome"),
      1,
      /HTML|\(200\)|JSON/,
      ({ output }) => !anyShape.has(output),
    ],
    [
      "cuts its answer off",
      (response) =>
        void response
          .writeHead(200, { "content-length": 999, "content-type": "application/json" })
          .write("{", () => response.destroy()),
      75,
      /Failed to reach/,
      ({ output }) => !anyShape.has(output),
    ],
  ];
  for (const [what, answer, exit, message, concerns] of cases) {
    it(`exits ${exit} when it ${what}`, async (t) => {
      const service = await receiver(t);
      service.answer((_, response) => answer(response));
      const wrong = await astray(simple.filter(concerns), wordsOf, async (spec) =>
        refusedWell(await runExample(t, spec, ["--base-url", service.url, "--retries", "0"]), [exit], message),
      );
      assert.deepEqual(wrong, {});
    });
  }

  it("exits 75 when it hangs", async (t) => {
    const service = await receiver(t);
    service.answer(() => {});
    const wrong = await astray(
      // A stream may be silent for as long as it likes.
      simple.filter(({ output }) => output !== "events"),
      wordsOf,
      async (spec) =>
        refusedWell(
          await runExample(t, spec, ["--base-url", service.url, "--retries", "0", "--timeout", "40ms"]),
          [75],
          /no answer in time/,
        ),
      40,
    );
    assert.deepEqual(wrong, {});
  });
});
