import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Basis } from "../../src/api/basis.ts";
import type { Failure } from "../../src/api/failure.ts";
import { failures } from "../../src/api/failures.ts";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { formatRoute, publicRoutes, specifiedFailures, specifiedRoutes } from "./sources.ts";

interface Row {
  readonly rule: string;
  readonly basis: string;
}

/** The rows R… and C… of a page of decisions, by ID. */
const parseDecisionRows = (page: string): ReadonlyMap<string, Row> =>
  new Map(
    [...page.matchAll(/^\| ([RC]\d+) \| [^|]* \| (.*) \| ([^|]*) \|$/gm)].map(([, id, rule, basis]) => [
      id!,
      { rule: rule!, basis: basis! },
    ]),
  );

const decisions = parseDecisionRows(readFileSync(join(import.meta.dirname, "../../emulator/DECISIONS.md"), "utf8"));

/** The rows that a basis cites. */
const findCitedRows = (basis: Basis, rows: ReadonlyMap<string, Row>): readonly Row[] =>
  typeof basis === "string" ? [] : [...basis.assumed.matchAll(/\b[RC]\d+\b/g)].flatMap(([id]) => rows.get(id) ?? []);

/** Assumed declarations whose cited rows contain no assumption. */
const findUnbackedClaims = (claims: readonly (readonly [string, Basis])[], rows: ReadonlyMap<string, Row>): string[] =>
  claims.flatMap(([label, basis]) => {
    const found = findCitedRows(basis, rows);
    return found.length > 0 && found.every((row) => !row.basis.includes("assumed")) ? [label] : [];
  });

/** Failures with a status that none of the cited rows contains. */
const findStatusMismatches = (
  failures: Readonly<Record<string, Failure<unknown>>>,
  rows: ReadonlyMap<string, Row>,
): string[] =>
  Object.entries(failures).flatMap(([code, { status, basis }]) => {
    const found = findCitedRows(basis, rows);
    return found.length > 0 && found.every(({ rule }) => !rule.includes(String(status))) ? [`${code} ${status}`] : [];
  });

const operations = (registry as readonly Operation[]).filter(({ service }) => service.name !== "emulator");
const catalogue = failures as unknown as Readonly<Record<string, Failure<unknown>>>;

describe("basis of declarations", () => {
  const rows = parseDecisionRows(
    "| R1 | one | It is 404. | public, assumed |\n| C2 | two | It is 400. | specified |\n",
  );
  const guess = (row: string): Basis => ({ assumed: `Nobody says (DECISIONS.md, ${row}).` });

  it("matches the cited rows", () => {
    const claims = [
      ["a", guess("R1")],
      ["b", guess("C2")],
      ["c", "public"],
    ] as const;
    assert.deepEqual(findUnbackedClaims(claims, rows), ["b"]);
    const createFailure = (status: number, basis: Basis) => ({ status, basis }) as Failure<unknown>;
    const failures = {
      x: createFailure(404, guess("R1")),
      y: createFailure(409, guess("R1")),
      z: createFailure(409, "public"),
    };
    assert.deepEqual(findStatusMismatches(failures, rows), ["y 409"]);
  });

  it("equals “assumed” if the cited rows are assumed", () => {
    const claims = [...operations.map(({ id, basis }) => [id, basis] as const)];
    const ofFailures = Object.entries(catalogue).map(([code, { basis }]) => [code, basis] as const);
    assert.deepEqual(findUnbackedClaims([...claims, ...ofFailures], decisions), []);
  });

  it("matches the rows of failures with the same status", () =>
    assert.deepEqual(findStatusMismatches(catalogue, decisions), []));

  it("equals “specified” for exactly the operations and failures of the specification", () => {
    const specifiedOperations = operations.filter(({ basis }) => basis === "specified").map(formatRoute);
    assert.deepEqual(
      specifiedOperations.filter((route) => !specifiedRoutes.has(route)),
      [],
    );
    const specifiedEntries = Object.entries(catalogue).filter(([, { basis }]) => basis === "specified");
    assert.deepEqual(specifiedEntries.map(([code]) => code).sort(), [...specifiedFailures].sort());
  });

  it("equals “public” for public operations and for specified operations that are fully public", () => {
    const documented = new Set([...specifiedRoutes, ...publicRoutes]);
    const publicOperations = operations.filter(({ basis }) => basis === "public").map(formatRoute);
    assert.deepEqual(
      publicOperations
        .filter((route) => !documented.has(route))
        .map((route) => `${route} is missing in test/api/sources.ts`),
      [],
    );
  });
});
