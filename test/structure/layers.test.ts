import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findImportCycles } from "./circles.ts";
import { parseImports } from "./imports.ts";
import { findForbiddenImports, formatLayerTable } from "./layers.ts";
import { documents, sources } from "./repository.ts";

const findForbiddenImportsIn = (path: string, text: string) => findForbiddenImports(parseImports({ path, text }));

describe("import scanner", () => {
  it("finds every form of import and ignores comments", () =>
    assert.deepEqual(
      parseImports({
        path: "src/a/b.ts",
        text: [
          'import { x } from "../c.ts";',
          "import {",
          "  y,",
          '} from "zod";',
          'import type * as z from "zod";',
          'import "node:fs";',
          'export * from "./d.ts";',
          'const late = () => import("./e.ts");',
          '// import "./no.ts";',
          '/* import "./no.ts"; */',
        ].join("\n"),
      }).map(({ target, kind }) => `${kind} ${target}`),
      ["static src/c.ts", "static zod", "type zod", "static node:fs", "static src/a/d.ts", "dynamic src/a/e.ts"],
    ));
});

describe("import cycles", () => {
  const imports = (arrows: string) =>
    arrows.split(" ").map((arrow) => {
      const [from, target] = arrow.split(">") as [string, string];
      return { from, target, kind: "type" as const };
    });

  it("detects cycles of any length, without files that only import them", () =>
    assert.deepEqual(
      ["a>b b>c", "a>b b>a", "a>b b>c c>d d>b x>a", "a>a", "a>b b>a c>d d>c b>c"].map((all) =>
        findImportCycles(imports(all)),
      ),
      [
        [],
        [["a", "b"]],
        [["b", "c", "d"]],
        [["a"]],
        [
          ["c", "d"],
          ["a", "b"],
        ],
      ],
    ));

  it("finds no cycle in the sources", () => assert.deepEqual(findImportCycles(sources.flatMap(parseImports)), []));
});

describe("layer check", () => {
  const violations: [string, string, string][] = [
    ["src/base/x.ts", 'import "../api/basis.ts";', "src/base knows nothing of src/api"],
    ["src/api/x.ts", 'import { readFile } from "node:fs/promises";', "src/api does no I/O"],
    ["src/derive/x.ts", 'import * as z from "zod";', "its home is src/api, emulator, src/cli/commands"],
    ["src/derive/x.ts", 'import type { Io } from "../cli/host.ts";', "src/derive knows nothing of src/cli"],
    [
      "src/cli/commands/x.ts",
      'import { startEmulator } from "../../../emulator/index.ts";',
      "only by a dynamic import",
    ],
    ["src/cli/runtime/x.ts", 'import "../commands/router/y.ts";', "src/cli/runtime knows nothing of src/cli/commands"],
    [
      "src/cli/output/x.ts",
      'import type { Y } from "../command.ts";',
      "src/cli/output knows nothing of src/cli/command.ts",
    ],
    ["src/cli/parse/x.ts", 'const late = () => import("../help/y.ts");', "src/cli/parse knows nothing of src/cli/help"],
    ["src/cli/command-tree/written-commands.ts", 'import "../commands/y.ts";', "only by a dynamic import"],
    ["emulator/http/x.ts", 'import "../../src/client/client.ts";', "emulator/http knows nothing of src/client"],
    ["emulator/store/x.ts", 'import "../http/y.ts";', "emulator/store knows nothing of emulator/http"],
    ["emulator/control/x.ts", 'import "../compose/y.ts";', "emulator/control knows nothing of emulator/compose"],
    [
      "emulator/router/x.ts",
      'import type { Y } from "../cluster/y.ts";',
      "emulator/router knows nothing of emulator/cluster",
    ],
    ["emulator/cluster/x.ts", 'import "../router/y.ts";', "emulator/cluster knows nothing of emulator/router"],
    ["emulator/cluster/x.ts", 'import fastify from "fastify";', "its home is emulator/http"],
    ["src/client/x.ts", 'import { request } from "undici";', "its home is src/client/transport.ts"],
    ["src/cli/x.ts", 'import _ from "lodash";', "the package has no home in the table"],
    ["src/console/x.tsx", 'import { hmac } from "node:crypto";', "src/console runs in a browser"],
    ["src/console/x.tsx", 'import { registry } from "../api/registry.ts";', "src/console knows nothing of src/api"],
    ["src/cli/x.ts", 'import { render } from "preact";', "its home is src/console"],
    ["tools/x.ts", 'import "node:fs";', "the file is in no layer"],
  ];
  for (const [path, text, reason] of violations) {
    it(`rejects ${text} in ${path}`, () => {
      const [violation] = findForbiddenImportsIn(path, text);
      assert.ok(violation?.includes(reason), `${violation} should say: ${reason}`);
    });
  }

  it("allows the imports in the table", () =>
    assert.deepEqual(
      [
        findForbiddenImportsIn("src/cli/commands/x.ts", 'const start = () => import("../../../emulator/index.ts");'),
        findForbiddenImportsIn(
          "src/cli/command-tree/written-commands.ts",
          'const late = () => import("../commands/y.ts");',
        ),
        findForbiddenImportsIn(
          "src/cli/commands/x.ts",
          'import "../connection/settings.ts";\nimport "./router/bulk/y.ts";',
        ),
        findForbiddenImportsIn("src/derive/x.ts", 'import type * as z from "zod";'),
        findForbiddenImportsIn("emulator/http/outgoing/pool.ts", 'import { Agent } from "undici";'),
        findForbiddenImportsIn("emulator/compose/x.ts", 'import "../router/a.ts";\nimport "../cluster/b.ts";'),
        findForbiddenImportsIn(
          "src/console/x.tsx",
          'import { render } from "preact";\nimport type { Y } from "../api/y.ts";',
        ),
        findForbiddenImportsIn("src/base/hmac.ts", 'import { createHmac } from "node:crypto";'),
      ].flat(),
      [],
    ));

  it("assigns a layer to every file", () => assert.deepEqual(findForbiddenImports(sources.flatMap(parseImports)), []));

  it("matches the table in ARCHITECTURE.md", () => {
    const page = documents.find(({ path }) => path === "ARCHITECTURE.md");
    assert.ok(page?.text.includes(formatLayerTable()), `ARCHITECTURE.md should hold:\n${formatLayerTable()}`);
  });
});
