import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { program } from "../support/program.ts";
import { leftUnderWay } from "./under-way.ts";

describe("an error that nothing catches", () => {
  const begin = 'import { after, before, describe, it } from "node:test";\n';
  const forEver = "new Promise(() => setInterval(() => {}, 1000))";
  const errors = {
    "a rejection": 'void Promise.reject(new Error("lost"));',
    "a rejection after an await": '(async () => { await null; throw new Error("lost"); })();',
    "an error in a callback": 'setImmediate(() => { throw new Error("lost"); });',
    "an error in a callback of a file":
      'import("node:fs").then((fs) => fs.stat(".", () => { throw new Error("lost"); }));',
  };

  for (const [name, error] of Object.entries(errors)) {
    it(`fails the test that is under way, though it waits for ever, and no other: ${name}`, async (t) => {
      const { code, results, text } = await tested(
        t,
        `${begin}it("first", () => {});
describe("some", () => {
  it("losing", async () => { ${error} await ${forEver}; });
  it("next", async () => { await null; });
});
it("last", () => { setImmediate(() => process.exit()); });`,
      );
      assert.deepEqual(
        { code, results },
        { code: 1, results: ["ok first", "not ok losing", "ok next", "ok last"] },
        text,
      );
      assert.match(text, /error: 'lost'/);
    });

    it(`fails the run after the last test has ended: ${name}`, async (t) => {
      const { code, results, text } = await tested(
        t,
        `${begin}it("only", () => { setTimeout(() => { ${error} }, 20); });`,
      );
      assert.deepEqual({ code, results }, { code: 1, results: ["ok only"] }, text);
      assert.match(text, /Test "only" at .* generated asynchronous activity after the test ended.*lost/);
    });
  }

  it("fails the run when a hook of a suite has left it behind", async (t) => {
    const { code, text } = await tested(
      t,
      `${begin}describe("some", () => {
  before(() => { setImmediate(() => { throw new Error("lost"); }); });
  it("one", () => new Promise((resolve) => setTimeout(resolve, 50)));
});`,
    );
    assert.equal(code, 1, text);
    assert.match(text, /lost/);
  });

  it("fails the run outside of all tests", async (t) => {
    const { code, text } = await tested(t, `${begin}setTimeout(() => { throw new Error("lost"); }, 20);`);
    assert.equal(code, 1, text);
    assert.match(text, /lost/);
  });
});

describe("a test that hangs", () => {
  // From Node 24 on the limit counts for each test, which names it where it waits.
  const isOfTests = Number.parseInt(process.versions.node, 10) >= 24;
  for (const [how, body] of [
    ["waiting", "async () => { await new Promise(() => setInterval(() => {}, 1000)); }"],
    ["in a loop", "() => { for (;;); }"],
  ] as const) {
    it(`is named when its process is ended at the limit: ${how}`, async (t) => {
      const { code, text, left } = await tested(
        t,
        `import { describe, it } from "node:test";
it("first", () => {});
describe("some", () => { it("hanging", ${body}); });
it("last", () => {});`,
        "--test-timeout=3000",
        ...(isOfTests ? ["--test-force-exit"] : []),
      );
      const isNamed = isOfTests && how === "waiting" ? /not ok \d+ - hanging/.test(text) : left[0] === "some > hanging";
      assert.deepEqual([code, isNamed], [1, true], `${left}\n${text}`);
    });
  }
});

describe("tests that pass", () => {
  it("pass, each counted once, with those that are skipped", async (t) => {
    const { code, results, text } = await tested(
      t,
      `import assert from "node:assert"; import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { after, describe, it } from "node:test";
let promises = 0;
const storage = new AsyncLocalStorage();
const hook = createHook({ init(id, type) { if (type === "PROMISE") promises += 1; } });
describe("some", () => {
  let ended = false;
  after(() => { ended = true; hook.disable(); });
  it("storage", () => storage.run("kept", async () => { await null; assert.equal(storage.getStore(), "kept"); }));
  it("hooks of others", async () => { hook.enable(); await null; assert.ok(promises > 0); });
  it("skipped", { skip: true }, () => assert.fail());
  it("caught", async (t) => { await assert.rejects(Promise.reject(new Error("caught"))); t.after(() => assert.ok(!ended)); });
});`,
    );
    const passed = ["ok storage", "ok hooks of others", "ok skipped # SKIP", "ok caught"];
    assert.deepEqual({ code, results }, { code: 0, results: passed }, text);
  });
});

/** Runs a file of tests as `npm test` does. `results`: of each test, in order, without the suites and the file. */
async function tested(t: TestContext, file: string, ...options: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "svc-runner-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "some.test.mjs");
  await writeFile(path, file);
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, SVC_TEST_COMPILED: folder };
  const argv = [
    `--import=${pathToFileURL(program("follow-tests"))}`,
    "--test",
    "--test-reporter=tap",
    ...options,
    path,
  ];
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (text += part));
  const code = await new Promise((resolve) => child.on("close", resolve));
  const names = ["some", path];
  const results = [...text.matchAll(/^ *((?:not )?ok) \d+ - (.*)$/gm)]
    .filter(([, , name]) => !names.includes(name!) && !name!.endsWith("some.test.mjs"))
    .map(([, verdict, name]) => `${verdict} ${name}`);
  return { code, results, text, left: leftUnderWay(folder) };
}
