import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planned } from "../../emulator/planned.ts";
import { detail, type Failure } from "../../src/api/failure.ts";
import { failures } from "../../src/api/failures.ts";
import { empty, type Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { contracts } from "../../src/api/services.ts";
import { handWrittenCommands } from "../support/cli/all-commands.ts";
import { badPlans, unprovoked, untested, withoutCommand, withoutHandler } from "./completeness.ts";
import { filesIn, tests } from "./repository.ts";

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
const file = (text: string) => [{ path: "x.ts", text }];

describe("an operation", () => {
  it("without a handler is found, unless it is planned", () => {
    assert.deepEqual(withoutHandler([show], file('"things.showing": f'), {}), ["things.show"]);
    assert.deepEqual(withoutHandler([show], file('"things.show": f'), {}), []);
    assert.deepEqual(withoutHandler([show], file('async "things.show"(input) {}'), {}), []);
    assert.deepEqual(withoutHandler([show], file(""), { "things.show": "Later." }), []);
  });

  it("that is planned needs to exist, a reason, and no handler", () => {
    assert.deepEqual(badPlans([show], file('"things.show": f'), { "things.show": "Later.", gone: "Never." }), [
      "things.show is planned, yet it has a handler",
      "gone is planned but not declared",
    ]);
    assert.deepEqual(badPlans([show], file(""), { "things.show": " " }), ["things.show is planned without a reason"]);
  });

  it("needs the command that it names", () => {
    assert.deepEqual(withoutCommand([show], ["things list"]), ["things.show needs svc things show"]);
    assert.deepEqual(withoutCommand([show], ["things show"]), []);
  });

  it("is tested where its id, its command or its path stands in a test", () => {
    const mentions = [
      '"things.show"',
      '["things", "show", "1"]',
      '"things show 1"',
      'get("/things/1/parts/")',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a test.
      "get(`${url}/things/${id}/parts/?x=1`)",
    ];
    assert.deepEqual(
      mentions.flatMap((text) => untested([show], file(text))),
      [],
    );
    const control = { ...show, id: "x", path: "/_emulator/things/{id}", cli: { by: "x" } };
    assert.deepEqual(untested([control], file('ask("GET", "/things/1")')), []);
    assert.deepEqual(untested([show], file('"/things/1/parts", "/things/1/2/parts/"')), ["things.show"]);
  });

  it("has failures, each provoked where its code or its words stand in a test", () => {
    const says = ({ id }: { id: string }) => `No thing "${id}" here.`;
    const catalogue = { "not-found": detail({ status: 404, when: "x", basis: "public", says }) } as unknown as Record<
      string,
      Failure<unknown>
    >;
    const mentions = ['"not-found"', 'No thing "7" here.', String.raw`"No thing \"7\" here."`];
    assert.deepEqual(
      mentions.flatMap((text) => unprovoked(catalogue, [show], file(text))),
      [],
    );
    assert.deepEqual(unprovoked(catalogue, [show], file("not-found No thing here.")), ["not-found"]);
  });
});

describe("the registry", () => {
  const emulated = filesIn("emulator").filter(({ path }) => path !== "emulator/planned.ts");

  it("has a handler for every operation, or a plan", () =>
    assert.equal(withoutHandler(registry, emulated, planned).join("\n"), ""));

  it("has plans for nothing that is built", () => assert.deepEqual(badPlans(registry, emulated, planned), []));

  it("names commands that exist", async () => {
    const commands = (await handWrittenCommands()).map(({ words }) => words.join(" "));
    assert.deepEqual(withoutCommand(registry, commands), []);
  });

  const outside = tests.filter(({ path }) => !path.startsWith("test/structure/"));
  const built = registry.filter(({ id }) => !(id in planned));

  it("holds no operation that no test mentions", () => assert.equal(untested(built, outside).join("\n"), ""));

  it("holds no failure that no test provokes", () =>
    assert.equal(unprovoked(failures as Record<string, Failure<unknown>>, built, outside).join("\n"), ""));
});
