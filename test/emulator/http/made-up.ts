import * as z from "zod";
import { createPart, type PartHandler } from "../../../emulator/http/handler.ts";
import { json, type Operation, type RequestShape } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { stateless } from "./serving.ts";

export * from "../../../src/api/operation.ts";
export { contracts, emulator, router } from "../../../src/api/services.ts";
export { z };

/** A handler for the context of these tests. */
export type TestHandler = PartHandler<typeof stateless>;

/** A small operation of a service, for tests of the HTTP layer. */
export const createOperation = (
  service: Service,
  method: Operation["method"],
  path: string,
  request: RequestShape = {},
  overrides: Partial<Operation> = {},
): Operation => ({
  id: `made.${[method].flat()[0]!.toLowerCase()}`,
  service,
  summary: "Made up for a test",
  method,
  path,
  auth: "none",
  request,
  responses: { 200: json(z.any()) },
  failures: [],
  cli: { by: "made" },
  basis: "specified",
  examples: [],
  ...overrides,
});

/** One operation with its handler. */
export const createSingleOperationPart = (operation: Operation, handler: TestHandler) =>
  createPart({ operations: [operation], handlers: { [operation.id]: handler }, context: stateless });

/** Returns its input as a document. */
export const echo: TestHandler = (input: unknown) => input;
