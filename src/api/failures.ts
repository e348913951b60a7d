import { StacklessError } from "../base/errors.ts";
import { contractsFailures } from "./contracts/failures.ts";
import { emulatorFailures } from "./emulator/failures.ts";
import type { Failure } from "./failure.ts";
import { routerFailures } from "./router/failures.ts";
import { storageFailures } from "./storage/failures.ts";

/** The catalogue of all failures that an operation may return, by code. A code names one failure in all services. */
export const failures = { ...routerFailures, ...contractsFailures, ...emulatorFailures, ...storageFailures };

export type FailureCode = keyof typeof failures;

/** Data for the message of a failure. */
export type FailureData<Code extends FailureCode> = (typeof failures)[Code] extends Failure<infer Data> ? Data : never;

/** Thrown to respond with a declared failure. Every other error is a bug in the emulator. */
export class DeclaredFailureError extends StacklessError {
  override readonly name = "Refusal";
  readonly code: FailureCode;
  readonly data: unknown;

  constructor(code: FailureCode, data: unknown) {
    super(`rejected: ${code}`);
    this.code = code;
    this.data = data;
  }
}

/**
 * Rejects with one of the failures `Allowed`. A helper declares its failures as `Fail<"unknown-cluster">`, and only
 * operations that declare that failure can call it.
 */
export type Fail<Allowed extends FailureCode = FailureCode> = <Code extends Allowed>(
  code: Code,
  ...data: FailureData<Code> extends void ? [] : [FailureData<Code>]
) => never;

export const fail: Fail = (code, ...data) => {
  throw new DeclaredFailureError(code, data[0]);
};
