import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandGroups } from "../../src/cli/command-tree/groups.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { documents, readFilesIn, sources, tests } from "./repository.ts";
import {
  findBadSummaries,
  findRetiredWords,
  findStrayMarks,
  findUnclearHelp,
  findUnclearMessages,
  findVendorWords,
} from "./words.ts";

// The vendor name is spelled backwards, so that this file passes the check.
const vendor = [..."kcals"].reverse().join("");

/** Files with names of third parties on the wire or of their clients, and the reasons. */
const wireConstants: Readonly<Record<string, string>> = {
  "emulator/domain/apps.ts": "The issuer of chat_b's tokens, and the channels of its keys, are those of real senders.",
  "emulator/router/apps/chat-b.ts": "Tokens of the desktop emulator have these issuers.",
  "src/api/router/chat.ts": "The channel of an example is what real senders put there.",
  "test/cli/connected-apps.test.ts": "An activity names its channel as real senders do.",
  "test/emulator/cluster/apps/chat.test.ts": "Channel as real senders have it.",
  "test/emulator/control/chat-b.test.ts": "Issuer and channel as real senders have them.",
  "test/emulator/router/apps/chat-b.test.ts": "Issuers and channels as real senders have them.",
  "test/support/identity/issuer.ts": "Stands in for the issuer of real senders.",
};

/** Folders with user-facing messages. */
const spoken = [
  "src/cli/",
  "src/console/",
  "src/api/",
  "src/client/",
  "src/schemes/",
  "src/files/",
  "src/base/",
  "src/derive/",
  "emulator/",
];

describe("vocabulary check", () => {
  it("checks paths, identifiers, prose and strings, but not imports", () =>
    assert.deepEqual(
      findVendorWords([
        { path: `src/${vendor}.ts`, text: "" },
        {
          path: "a.ts",
          text: `import { App } from "@${vendor}/bolt";\nconst ${vendor}_id = 1;\n// like ${vendor.toUpperCase()}`,
        },
      ]),
      [`src/${vendor}.ts says ${vendor}`, `a.ts:2 says ${vendor}`, `a.ts:3 says ${vendor}`],
    ));

  it("finds no vendor names", () => {
    const all = [...sources, ...documents, ...tests.filter(({ path }) => !path.startsWith("test/interop/"))];
    assert.deepEqual(findVendorWords(all.filter(({ path }) => !(path in wireConstants))), []);
  });

  it("limits exceptions to files that need them", () => {
    const excused = [...sources, ...tests].filter(({ path }) => path in wireConstants);
    const guilty = new Set(findVendorWords(excused).map((line) => line.split(/[: ]/)[0]));
    assert.deepEqual(
      Object.keys(wireConstants).filter((path) => !guilty.has(path)),
      [],
    );
  });

  it("finds only standard terms in names, paths and prose", () => {
    const findWords = (path: string, text: string) => findRetiredWords([{ path, text }]);
    assert.deepEqual(
      findWords("a.ts", "type Asked = 1; const said = 2; // what was asked and said at HOME, indeed, on a plane"),
      ["a.ts says Asked for a noun, such as SignInRequest", "a.ts says said for a message or a reply"],
    );
    assert.deepEqual(findWords("a/deliver-lanes.ts", "const nextLane = 1; // zod judges\n this.#lane"), [
      "a/deliver-lanes.ts says lanes for concurrency keys",
      "a/deliver-lanes.ts says lane for concurrency key",
      "a/deliver-lanes.ts says judges for checks",
    ]);
    assert.deepEqual(findWords("src/cli/x.ts", "interface Verdict {}"), [
      "src/cli/x.ts says Verdict, which means whether a signature holds",
    ]);
    assert.deepEqual(findWords("src/schemes/x.ts", "export type Verdict = 1;"), []);
  });

  it("finds no retired words", () =>
    assert.deepEqual(
      findRetiredWords(
        [...sources, ...documents, ...tests].filter(
          // The glossary, this test and its list contain the words that they reject.
          ({ path }) => path !== "CONTRIBUTING.md" && !path.startsWith("test/structure/words"),
        ),
      ),
      [],
    ));

  it("requires summaries of at most 60 characters that start with a verb", async () => {
    const summaries = (...texts: string[]) =>
      findBadSummaries(texts.map((summary) => ({ words: ["x"], summary, positionals: [], flags: [], examples: [] })));
    assert.deepEqual(summaries("List, or follow", `List ${"x".repeat(56)}`, "Profiles: where", "Lists it"), [
      `svc x 61 characters: List ${"x".repeat(56)}`,
      "svc x begins with Profiles:: Profiles: where",
      "svc x is more than one phrase: Profiles: where",
      "svc x begins with Lists: Lists it",
    ]);
    assert.deepEqual(findBadSummaries(await loadAllCommands()), []);
    const ofGroups = Object.entries(commandGroups).map(([name, { summary }]) => ({ words: [name], summary }));
    assert.deepEqual(
      findBadSummaries(ofGroups.map((one) => ({ ...one, positionals: [], flags: [], examples: [] }))),
      [],
    );
  });

  it("requires a subject and rejects retired idioms in help texts", async () => {
    const help = { words: ["x"], summary: "List it", positionals: [], examples: [] };
    const flag = { flag: "y", type: "text", description: "Left out: whoever asks" } as const;
    assert.deepEqual(findUnclearHelp([{ ...help, flags: [flag] }]), ["svc x says Left out: Left out: whoever asks"]);
    assert.deepEqual(findUnclearHelp(await loadAllCommands()), []);
  });

  it("requires a named subject and rejects retired idioms in messages", () => {
    const text = [
      'import { x } from "./whoever/nobody/told.ts";',
      "// What nobody is told.",
      'throw new Error("Nobody waits for it");',
      "const note = `$" + "{count} rows left out here: $" + "{why} is no address at all`;",
      'const fine = ["It is no longer there", "told", "There is no room left"];',
    ].join("\n");
    assert.deepEqual(findUnclearMessages([{ path: "a.ts", text }]), [
      "a.ts:3 says Nobody: Nobody waits for it",
      "a.ts:4 says left out: rows left out here:",
      "a.ts:4 says is no: is no address at all",
    ]);
    const page = { path: "a.tsx", text: "const page = <p>What every webhook\n was told</p>;" };
    assert.deepEqual(findUnclearMessages([page]), ["a.tsx:1 says told: What every webhook was told"]);
    assert.deepEqual(
      findUnclearMessages(sources.filter(({ path }) => spoken.some((folder) => path.startsWith(folder)))),
      [],
    );
  });

  it("finds no dependence on a machine or a date", () => {
    const text = ["cd /home/ann/project", "https://registry.npmjs.org/x", `// TO${"DO"}: later`].join("\n");
    assert.deepEqual(findStrayMarks([{ path: "a.md", text }]), [
      "a.md:1 holds a machine path",
      "a.md:2 holds a registry host",
      "a.md:3 holds an unfinished thought",
    ]);
    assert.deepEqual(
      findStrayMarks(
        [...sources, ...documents, ...readFilesIn(".ci", ""), ...tests].filter(
          ({ path }) => !path.startsWith("test/structure/words"),
        ),
      ),
      [],
    );
  });
});
