import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { empty, type Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { contracts } from "../../src/api/services.ts";
import { loadHandWrittenCommands } from "../support/cli/all-commands.ts";
import { listOperationsWithoutCommand, listUnreturnedFailures, listUntestedOperations } from "./completeness.ts";
import { tests } from "./repository.ts";

const show: Operation = {
  id: "things.show",
  service: { ...contracts, failures: [] },
  summary: "Show a thing",
  method: "GET",
  path: "/things/{thing_id}/parts/",
  auth: "none",
  request: {},
  responses: { 204: empty() },
  failures: ["not-found"],
  cli: { by: "things show" },
  basis: "specified",
  examples: [],
};
const createFiles = (text: string) => [{ path: "x.ts", text }];

describe("completeness check of an operation", () => {
  it("requires the named command", () => {
    assert.deepEqual(listOperationsWithoutCommand([show], ["things list"]), ["things.show needs svc things show"]);
    assert.deepEqual(listOperationsWithoutCommand([show], ["things show"]), []);
  });

  it("accepts a test that contains the operation's ID, command or path", () => {
    const mentions = [
      '"things.show"',
      '["things", "show", "1"]',
      '"things show 1"',
      'get("/things/1/parts/")',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a test.
      "get(`${url}/things/${id}/parts/?x=1`)",
    ];
    assert.deepEqual(
      mentions.flatMap((text) => listUntestedOperations([show], createFiles(text))),
      [],
    );
    const control = { ...show, id: "x", path: "/_emulator/things/{id}", cli: { by: "x" } };
    assert.deepEqual(listUntestedOperations([control], createFiles('control("GET", "/things/1")')), []);
    assert.deepEqual(listUntestedOperations([show], createFiles('"/things/1/parts", "/things/1/2/parts/"')), [
      "things.show has no test: no file below test contains its ID, its command or /things/{thing_id}/parts/",
    ]);
  });

  it("requires each declared failure in the format of its service", () => {
    const service = { ...contracts, failures: ["throttled"] as const };
    const operations: Operation[] = [
      { ...show, service },
      { ...show, service, id: "things.list" },
    ];
    const answered = new Set(["things.show not-found", "contracts throttled", "others.list not-found"]);
    assert.deepEqual(listUnreturnedFailures(operations, answered), ["things.list not-found"]);
    assert.deepEqual(listUnreturnedFailures([{ ...show, service }], new Set()), [
      "things.show not-found",
      "contracts throttled",
    ]);
  });
});

describe("completeness check of the registry", () => {
  it("finds a command for every operation", async () => {
    const commands = (await loadHandWrittenCommands()).map(({ words }) => words.join(" "));
    assert.deepEqual(listOperationsWithoutCommand(registry, commands), []);
  });

  const outside = tests.filter(({ path }) => !path.startsWith("test/structure/"));

  it("finds a test for every operation", () => assert.deepEqual(listUntestedOperations(registry, outside), []));
});
