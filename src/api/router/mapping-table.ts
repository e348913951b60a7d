import * as z from "zod";
import { expectedEmailHash } from "../expectation.ts";
import type { Auth } from "../operation.ts";
import { json } from "../operation.ts";
import { router } from "../services.ts";

/** Every bulk request names the cluster whose identifiers it lists. */
export const clusterId = z.string().describe("Cluster that owns the identifiers");

/** A list of identifiers; its length has no limit (DECISIONS.md, R16). */
export const identifiers = (what: string) => z.array(z.string()).describe(what);

/** The same of e-mail hashes. */
export const emailHashes = z.array(expectedEmailHash).describe("E-mail hashes");

const failures = ["missing-cluster-key", "invalid-cluster-key", "foreign-cluster-key", "unknown-cluster"] as const;

/** What all bulk operations of the mapping tables share (DECISIONS.md, R6, R9, R10). */
const bulk = <const A extends Auth, S extends z.ZodObject>(schema: S, auth: A) =>
  ({
    service: router,
    auth,
    request: { body: json(schema) },
    responses: { 200: json(z.boolean().describe("Always true")) },
    failures,
    basis: "specified",
  }) as const;

/** Maps the listed identifiers to a cluster; those of another cluster are moved to it. */
export const mapping = <S extends z.ZodObject, const A extends Auth = "cluster-key">(schema: S, auth?: A) =>
  ({ ...bulk(schema, (auth ?? "cluster-key") as A), method: "POST" }) as const;

/** Removes those of the listed identifiers that belong to the cluster; unknown ones are ignored. */
export const unmapping = <S extends z.ZodObject, const A extends Auth = "cluster-key">(schema: S, auth?: A) =>
  ({ ...bulk(schema, (auth ?? "cluster-key") as A), method: "DELETE" }) as const;

/** Looks one identifier up. Any known key will do. */
export const lookup = <S extends z.ZodObject>(domain: S) =>
  ({
    service: router,
    method: "GET",
    auth: "cluster-key",
    responses: { 200: json(domain) },
    basis: "specified",
  }) as const;

/** What a look-up may refuse with, beside the missing mapping. */
export const lookupFailures = ["missing-cluster-key", "invalid-cluster-key"] as const;
