import { findOperationAt, type Operation } from "../api/operation.ts";
import { registry } from "../api/registry.ts";
import { CorpusWriter } from "./corpus.ts";
import { getHeader, type RecordedExchange, type RecordedResponse, type RecordedServer } from "./exchange.ts";
import { ExchangeSanitizer } from "./sanitize.ts";
import { StandIns } from "./stand-ins.ts";

/** Exchange whose service and operation can be found by its path. */
export type RawExchange = Omit<RecordedExchange, "callee" | "operation"> &
  Partial<Pick<RecordedExchange, "callee" | "operation">>;

/** Sanitizes exchanges and stores them in a corpus. */
export class ExchangeRecorder {
  readonly #writer: CorpusWriter;
  readonly #sanitizer: ExchangeSanitizer;

  private constructor(writer: CorpusWriter, key: Buffer | undefined) {
    this.#writer = writer;
    this.#sanitizer = new ExchangeSanitizer(new StandIns(key));
  }

  /** Opens a corpus. `key` is the key of the stand-ins. Without a key, a random key exists as long as this object. */
  static async open(folder: string, key?: Buffer, isShared = false): Promise<ExchangeRecorder> {
    return new ExchangeRecorder(await CorpusWriter.open(folder, isShared), key);
  }

  get count(): number {
    return this.#writer.count;
  }

  add(raw: RawExchange): Promise<string> {
    const found = findOperation(raw.request.method, raw.request.target);
    const exchange = {
      ...raw,
      callee: raw.callee ?? (found?.service.name as RecordedServer | undefined) ?? "contracts",
      operation: raw.operation ?? found?.id,
      // The time of the service takes precedence, because an emulator has a virtual clock.
      at: findServiceTime(raw.response) ?? raw.at,
    };
    return this.#writer.add(this.#sanitizer.sanitizeExchange(exchange));
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}

const recordedServices = ["contracts", "router", "storage"] as const;
const recordedOperations = recordedServices.map((callee) =>
  (registry as readonly Operation[]).filter(({ service, id }) => service.name === callee && id !== "catch-all"),
);

/**
 * Finds the operation of a request. Ignores a wrong method if the path is declared. Returns undefined if no operation
 * has this path.
 */
function findOperation(method: string, target: string): Operation | undefined {
  const path = target.split("?")[0]!;
  for (const item of [method, "GET", "POST", "PUT", "PATCH", "DELETE"])
    for (const declared of recordedOperations) {
      const operation = findOperationAt(declared, item, path);
      if (operation) return operation;
    }
  return undefined;
}

/** Returns the time of the service's clock in a response, in milliseconds, with the precision of its headers. */
function findServiceTime(response: RecordedResponse): number | undefined {
  const time = Date.parse(getHeader(response, "x-svc-time") ?? getHeader(response, "date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}
