import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCommands } from "../support/cli/all-commands.ts";
import { deadCommands, deadPaths, firstCommands } from "./documents.ts";
import { layers } from "./layers.ts";
import { allPaths, documents, sources } from "./repository.ts";

const page = (path: string) => documents.find((one) => one.path === path)?.text ?? "";

describe("the pages", () => {
  it("that name a path which does not exist are found", () =>
    assert.deepEqual(
      deadPaths(
        [{ path: "src/a.md", text: "`src/b` `src/c.ts` [x](../d.md) [y](e.md#z) [w](https://x) `npm test`" }],
        ["src/b/x.ts", "src/e.md"],
      ),
      ["src/a.md names d.md", "src/a.md names src/c.ts"],
    ));

  it("name only paths that exist", () => assert.deepEqual(deadPaths(documents, allPaths), []));

  it("that a newcomer looks for are there", () => {
    const wanted = [
      "README.md",
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "CHANGELOG.md",
      "emulator/README.md",
      "emulator/DECISIONS.md",
      "test/README.md",
      "fixtures/README.md",
    ];
    assert.deepEqual(
      wanted.filter((path) => page(path) === ""),
      [],
    );
  });

  it("begin with the two commands: one that shows it, one that proves it", () =>
    assert.deepEqual(firstCommands(page("README.md")), ["npm ci && npx svc tour", "npm ci && npm test"]));

  it("that show a command which does not exist are found", () =>
    assert.deepEqual(
      deadCommands(
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

  it("show only commands that exist, as do the sources", async () => {
    const commands = (await allCommands()).map(({ words }) => words.join(" "));
    const known = [...commands, "help", "completion", "complete"];
    assert.deepEqual(deadCommands([...documents, ...sources], known), []);
  });

  it("describe each folder of the sources, of the emulator and of the tests", () => {
    const folders = (prefix: string) => {
      const depth = prefix.split("/").length + 1;
      const below = allPaths.filter((path) => path.startsWith(`${prefix}/`) && path.split("/").length > depth);
      return [...new Set(below.map((path) => path.split("/").slice(0, depth).join("/")))];
    };
    assert.deepEqual(
      ["src", "src/api", "src/cli", "src/derive", "emulator"]
        .flatMap(folders)
        .filter((folder) => !page("ARCHITECTURE.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("emulator").filter((folder) => !page("emulator/README.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("test").filter((folder) => !page("test/README.md").includes(`\`${folder}\``)),
      [],
    );
    assert.deepEqual(
      folders("fixtures").filter((folder) => !page("fixtures/README.md").includes(`\`${folder}\``)),
      [],
    );
  });

  it("place every source in a layer", () => {
    const homeless = sources.filter(({ path }) => !layers.some((layer) => path.startsWith(`${layer.path}/`)));
    assert.deepEqual(
      homeless.map(({ path }) => path),
      [],
    );
  });
});
