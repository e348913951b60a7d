import { StacklessError } from "../base/errors.ts";
import { contractsFailures } from "./contracts/failures.ts";
import { emulatorFailures } from "./emulator/failures.ts";
import type { Failure } from "./failure.ts";
import { routerFailures } from "./router/failures.ts";
import { storageFailures } from "./storage/failures.ts";

/** All failures that an operation can return, by code. A code has one meaning in all services. */
export const failures = { ...routerFailures, ...contractsFailures, ...emulatorFailures, ...storageFailures };

export type FailureCode = keyof typeof failures;

/** The failures without the types of their data, for documents. */
export const failureCatalogue = failures as Readonly<Record<FailureCode, Failure<unknown>>>;

/** Data for the message of a failure. */
type FailureData<Code extends FailureCode> = (typeof failures)[Code] extends Failure<infer Data> ? Data : never;

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
 * Rejects a request with one of the failures `Allowed`. A helper declares its failures as `Fail<"unknown-cluster">`,
 * and only operations that declare the same failure can call the helper.
 */
export type Fail<Allowed extends FailureCode = FailureCode> = <Code extends Allowed>(
  code: Code,
  ...data: FailureData<Code> extends void ? [] : [FailureData<Code>]
) => never;

export const fail: Fail = (code, ...data) => {
  throw new DeclaredFailureError(code, data[0]);
};
