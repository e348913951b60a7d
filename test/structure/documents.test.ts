import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { activities } from "../../src/api/activities.ts";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { findCitedRows, parseRowIds } from "./citations.ts";
import { extractFirstCommands, findDeadCommands, findDeadPaths } from "./documents.ts";
import { layers } from "./layers.ts";
import { allPaths, documents, root, sources } from "./repository.ts";

const packageManifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const getPage = (path: string) => documents.find((document) => document.path === path)?.text ?? "";

describe("check of the pages", () => {
  it("reports a missing path", () =>
    assert.deepEqual(
      findDeadPaths(
        [{ path: "src/a.md", text: "`src/b` `src/c.ts` [x](../d.md) [y](e.md#z) [w](https://x) `npm test`" }],
        ["src/b/x.ts", "src/e.md"],
      ),
      ["src/a.md names d.md", "src/a.md names src/c.ts"],
    ));

  it("finds only existing paths", () => assert.deepEqual(findDeadPaths(documents, allPaths), []));

  it("finds every page for new users", () => {
    const pages = [
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "CHANGELOG.md",
      "emulator/README.md",
      "emulator/DECISIONS.md",
      "test/README.md",
      "fixtures/README.md",
      "docs/quickstart.md",
    ];
    assert.deepEqual(
      pages.filter((path) => getPage(path) === ""),
      [],
    );
  });

  it("requires the tour and the tests as the first two commands", () =>
    assert.deepEqual(extractFirstCommands(getPage("README.md")), ["npm ci && npx svc tour", "npm ci && npm test"]));

  it("finds the Node.js version and every entry point of the package", () => {
    const { engines, exports } = packageManifest;
    assert.ok(getPage("README.md").includes(`Node.js ${engines.node.replace(">=", "")} or later`));
    const doors = Object.keys(exports).filter((door) => door !== "./package.json");
    assert.deepEqual(
      doors
        .map((door) => `svc-toolkit${door.slice(1)}`)
        .filter((door) => !getPage("docs/testing.md").includes(`\`${door}\``)),
      [],
    );
  });

  it("limits the length of pages for new users", () => {
    for (const [path, limit] of Object.entries({ "README.md": 8_000, "CHANGELOG.md": 2_500 })) {
      const size = Buffer.byteLength(getPage(path));
      assert.ok(
        size <= limit,
        `${path} has ${size} bytes. Shorten it to ${limit} by removing what is least important.`,
      );
    }
  });

  it("reports a missing command", () =>
    assert.deepEqual(
      findDeadCommands(
        [
          {
            path: "a.md",
            text: "`svc files upload x.pdf` `svc files` `svc file upload`\nnpx svc tours\nnpx svc tour --json\nsvc files up",
          },
        ],
        ["files upload", "tour"],
      ),
      ["a.md shows svc file upload", "a.md shows svc tours", "a.md shows svc files up"],
    ));

  it("finds only existing commands in pages and sources", async () => {
    const commands = (await loadAllCommands()).map(({ words }) => words.join(" "));
    const knownCommands = [...commands, "help", "completion", "complete"];
    assert.deepEqual(findDeadCommands([...documents, ...sources], knownCommands), []);
  });

  it("requires a description of each source and test folder", () => {
    const folders = (prefix: string) => {
      const depth = prefix.split("/").length + 1;
      const below = allPaths.filter((path) => path.startsWith(`${prefix}/`) && path.split("/").length > depth);
      return [...new Set(below.map((path) => path.split("/").slice(0, depth).join("/")))];
    };
    assert.deepEqual(
      ["src", "src/api", "src/cli", "src/derive", "emulator"]
        .flatMap(folders)
        .filter((folder) => !getPage("ARCHITECTURE.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("emulator").filter((folder) => !getPage("emulator/README.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("test").filter((folder) => !getPage("test/README.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("fixtures").filter((folder) => !getPage("fixtures/README.md").includes(`\`${folder}\``)),
      [],
    );
  });

  it("requires a list of exactly the hand-written parts", () => {
    const citing = sources.filter(({ text }) =>
      /\(ARCHITECTURE\.md, Written by hand\)/.test(text.replaceAll(/\s+\*? ?/g, " ")),
    );
    const [, table = ""] = getPage("ARCHITECTURE.md").split("## Written by hand");
    const rows = table.split("\n## ")[0]!.split("\n");
    const citedPaths = rows.flatMap((row) =>
      [...row.matchAll(/`((?:src|emulator)\/[\w./-]+)`/g)].map(([, path]) => path!),
    );
    assert.deepEqual(citedPaths.toSorted(), citing.map(({ path }) => path).toSorted());
  });

  it("finds only decisions that a source cites", () => {
    // Facts, conventions of the command line and general rules of the emulator apply in many files.
    const rows = [...parseRowIds(getPage("emulator/DECISIONS.md"))].filter((row) => /^[RCP]/.test(row));
    const cited = new Set(sources.flatMap(({ text }) => findCitedRows(text)));
    assert.deepEqual(
      rows.filter((row) => !cited.has(row)),
      [],
    );
  });

  it("requires the activities that only the control plane causes", () => {
    const operations: readonly Operation[] = registry;
    const caused = new Set<string>(
      operations.flatMap(({ id, emits }) => (id === "activities.fire" ? [] : (emits ?? []))),
    );
    const row = getPage("emulator/DECISIONS.md").match(/^\| C23 \|.*$/m)?.[0] ?? "";
    const words = new Set(row.match(/\w+/g));
    const isNamed = (name: string) => {
      const [, kind, end] = /^(SIGNING|REDLINING)_EMAIL_(.+)$/.exec(name) ?? [];
      return kind === undefined ? words.has(name) : words.has(kind.toLowerCase()) && words.has(end!);
    };
    assert.deepEqual(
      activities.filter((name) => !caused.has(name) !== isNamed(name)),
      [],
    );
  });

  it("assigns a layer to every source", () => {
    const homeless = sources.filter(({ path }) => !layers.some((layer) => path.startsWith(`${layer.path}/`)));
    assert.deepEqual(
      homeless.map(({ path }) => path),
      [],
    );
  });
});
