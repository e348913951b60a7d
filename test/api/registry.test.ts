import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { empty, type Operation } from "../../src/api/operation.ts";
import { registry, requireUniqueOperations } from "../../src/api/registry.ts";
import { contracts } from "../../src/api/services.ts";
import { sources } from "../structure/repository.ts";
import { contractApi, formatRoute, publicRoutes, routingService } from "./sources.ts";

const listRoutes = (service: string): string[] =>
  (registry as readonly Operation[]).filter((operation) => operation.service.name === service).map(formatRoute);

const show: Operation = {
  id: "things.show",
  service: contracts,
  summary: "Show a thing",
  method: "GET",
  path: "/things",
  auth: "none",
  request: {},
  responses: { 204: empty() },
  failures: [],
  cli: { command: "things show" },
  basis: "specified",
  examples: [],
};
const listOperation: Operation = { ...show, id: "things.list", path: "/all", cli: { command: "things list" } };

describe("operation registry", () => {
  it("contains exactly the operations of the routing service", () => {
    assert.equal(routingService.length, 57);
    assert.deepEqual(listRoutes("router").toSorted(), routingService.toSorted());
  });

  it("contains the public contract API and the publicly documented operations", () => {
    const declared = new Set(listRoutes("contracts"));
    assert.deepEqual(
      [...contractApi, ...publicRoutes].filter((route) => !declared.has(route)),
      [],
    );
  });

  it("contains the operations of every file that declares some", () => {
    const declaring = sources.filter(
      ({ path, text }) => path.startsWith("src/api/") && /= defineOperation\(/.test(text),
    );
    const list = sources.find(({ path }) => path === "src/api/all-resources.ts")!.text;
    const missing = declaring.filter(({ path }) => {
      const name = path.slice("src/api/".length, -".ts".length);
      return !list.includes(`"${name}" from "./${name}.ts"`);
    });
    assert.deepEqual(
      missing.map(({ path }) => `${path} is missing in src/api/all-resources.ts`),
      [],
    );
    assert.ok(declaring.length > 40);
  });

  it("contains GET and PUT of the signed storage", () =>
    assert.deepEqual(
      listRoutes("storage").map((route) => route.split(" ")[0]),
      ["GET", "PUT"],
    ));

  for (const [label, twin, message] of [
    ["id", { ...listOperation, id: show.id }, "things.show and things.show both have the id things.show"],
    [
      "route",
      { ...listOperation, path: "/things" },
      "things.list and things.show both have the route contracts GET /things",
    ],
    [
      "route with the other slash",
      { ...listOperation, path: "/things/" },
      "things.list and things.show both have the route contracts GET /things",
    ],
    ["command", { ...listOperation, cli: show.cli }, "things.list and things.show both have the command things show"],
  ] as const) {
    it(`rejects two operations with the same ${label} and names both`, () =>
      assert.throws(() => requireUniqueOperations([show, twin]), { message }));
  }

  it("accepts two different operations", () =>
    assert.deepEqual(requireUniqueOperations([show, listOperation]), [show, listOperation]));
});
