import type { Readable, Writable } from "node:stream";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  CancelledNotificationSchema,
  ErrorCode,
  InitializeRequestSchema,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  type RequestId,
  RequestIdSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";

const maxBytes = 10 * 1024 * 1024;
const newline = 0x0a;

/** Requests that the server handles. The SDK answers invalid parameters with an internal error. */
const requestSchemas = [InitializeRequestSchema, ListToolsRequestSchema, CallToolRequestSchema];

/**
 * Reads one message per line. The SDK's stdio transport does not answer an unreadable line, and ends at one that is too
 * long.
 */
export class LineTransport implements Transport {
  readonly #input: Readable;
  readonly #output: Writable;
  #pieces: Buffer[] = [];
  #size = 0;
  readonly #open = new Set<RequestId>();
  #onAnswered: (() => void) | undefined;
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#read).on("end", this.#endLine).on("error", this.#fail);
  }

  /** Resolves once every request that was not cancelled has its response. */
  async waitForAnswers(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onAnswered = resolve;
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settleRequest(message.id);
    await this.#write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#input.off("data", this.#read).off("end", this.#endLine).off("error", this.#fail);
    this.#input.pause();
    this.onclose?.();
  }

  readonly #fail = (error: Error): void => this.onerror?.(error);

  readonly #read = (chunk: Buffer): void => {
    let rest = chunk;
    for (let at = rest.indexOf(newline); at !== -1; at = rest.indexOf(newline)) {
      this.#add(rest.subarray(0, at));
      this.#endLine();
      rest = rest.subarray(at + 1);
    }
    this.#add(rest);
  };

  /** Nothing of a line that is too long is stored. */
  #add(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  readonly #endLine = (): void => {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    const isTooLong = this.#size > maxBytes;
    this.#pieces = [];
    this.#size = 0;
    if (!isTooLong && line.trim() === "") return;
    let read: JSONRPCMessage;
    try {
      if (isTooLong) throw new InvalidMessageError(ErrorCode.InvalidRequest, "The message has more than 10 MiB.");
      read = readMessage(line);
    } catch (error) {
      if (!(error instanceof InvalidMessageError)) throw error;
      const { id, code, message } = error;
      void this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
      return;
    }
    if (isJSONRPCRequest(read)) this.#open.add(read.id);
    const cancelled = CancelledNotificationSchema.safeParse(read);
    if (cancelled.success) this.#settleRequest(cancelled.data.params.requestId);
    this.onmessage?.(read);
  };

  #settleRequest(id: RequestId | undefined): void {
    if (id !== undefined) this.#open.delete(id);
    if (this.#open.size === 0) this.#onAnswered?.();
  }

  async #write(text: string): Promise<void> {
    if (!this.#output.write(text)) await new Promise((resolve) => this.#output.once("drain", resolve));
  }
}

/** Answers a message that does not reach the server, with its ID if it has one. */
class InvalidMessageError extends Error {
  readonly code: ErrorCode;
  readonly id: RequestId | null;

  constructor(code: ErrorCode, what: string, given?: unknown) {
    super(what);
    this.code = code;
    this.id = RequestIdSchema.safeParse((given as { id?: unknown } | null | undefined)?.id).data ?? null;
  }
}

function readMessage(line: string): JSONRPCMessage {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch {
    throw new InvalidMessageError(ErrorCode.ParseError, "The message is not JSON.");
  }
  if (Array.isArray(given)) {
    throw new InvalidMessageError(ErrorCode.InvalidRequest, "The message is a batch, which is not supported.");
  }
  const { data, success } = JSONRPCMessageSchema.safeParse(given);
  if (!success) {
    const what = "The message is not a request, a notification or a response of JSON-RPC 2.0.";
    throw new InvalidMessageError(ErrorCode.InvalidRequest, what, given);
  }
  if (!isJSONRPCRequest(data)) return data;
  const problem = requestSchemas.find(({ shape }) => shape.method.value === data.method)?.safeParse(data).error;
  if (problem) throw new InvalidMessageError(ErrorCode.InvalidParams, formatIssues(problem), data);
  return data;
}

export const formatIssues = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");
