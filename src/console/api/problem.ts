import { toFields } from "../../base/object.ts";

/** The reason why a request failed, in words for the user. */
export class CallError extends Error {
  /** HTTP status; 0 if the emulator could not be reached. */
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, code: string, message: string, hint?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** Reads an error response of the control plane. */
  static fromResponse(status: number, body: unknown): CallError {
    const { code, message, hint } = toFields(toFields(body).error);
    const words = typeof message === "string" ? message : `The emulator responded with status ${status}.`;
    return new CallError(
      status,
      typeof code === "string" ? code : "unknown",
      words,
      typeof hint === "string" ? hint : undefined,
    );
  }

  get isUnreachable(): boolean {
    return this.status === 0;
  }

  static readonly createUnreachable = (): CallError =>
    new CallError(0, "unreachable", "The emulator does not respond.", "Start it again: svc emulator start");
}
