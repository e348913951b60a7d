import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { fillTemplate } from "../../src/base/urls.ts";
import type { TestEmulator, TestResponse } from "../support/emulator.ts";

/** Calls an operation by its id, where the emulator has it, with the credentials that it needs. */
export type OperationCall = (
  id: string,
  params?: Readonly<Record<string, string | number>>,
  body?: unknown,
) => Promise<TestResponse>;

export const findOperation = (id: string): Operation =>
  (registry as readonly Operation[]).find((each) => each.id === id)!;

export const createOperationCall =
  ({ api, router, control }: TestEmulator): OperationCall =>
  (id, params = {}, body = undefined) => {
    const { method, path, service } = findOperation(id);
    const target = fillTemplate(path, params);
    const sent = body === undefined ? {} : { body };
    const verb = [method].flat()[0]!;
    if (service.name === "emulator") return control(verb, target.replace("/_emulator", ""), sent);
    return (service.name === "contracts" ? api : router)(verb, target, sent);
  };
