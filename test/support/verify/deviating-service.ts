import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { gzipSync } from "node:zlib";

/** An intercepted message whose JSON can be replaced. */
export interface InterceptedMessage {
  /** Activity of a webhook, or method and path of a request. */
  readonly label: string;
  status: number;
  headers: Record<string, string>;
  /** Parsed body, or undefined if the body is not JSON. */
  json: unknown;
  /** Replaces the serialized `json`. */
  text?: string;
  /** Whether the response is sent with gzip. */
  isCompressed?: boolean;
  /** Whether the message is dropped. */
  isDropped?: boolean;
}

export type Deviation = (passing: InterceptedMessage) => void;

const listen = async (t: Pick<TestContext, "after">, server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const parseJsonIfValid = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Starts a proxy of a service or a webhook receiver that changes messages. Resolves with its URL. */
export async function startDeviatingService(
  t: Pick<TestContext, "after">,
  to: string,
  deviate: Deviation,
  changes: "responses" | "requests",
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", async () => {
      const { method = "GET", url = "/" } = incoming;
      const sent = Buffer.concat(chunks);
      const { host: _, connection: __, "content-length": ___, ...headers } = incoming.headers as Record<string, string>;
      const body = sent.toString();
      const request: InterceptedMessage = {
        label: String((parseJsonIfValid(body) as { activity?: string })?.activity),
        status: 0,
        headers,
        json: parseJsonIfValid(body),
      };
      if (changes === "requests") deviate(request);
      if (request.isDropped) return void outgoing.writeHead(200).end("ok");
      const forwardedBody = changes === "requests" ? (request.text ?? JSON.stringify(request.json)) : sent;
      const response = await fetch(to + url, {
        method,
        headers: request.headers,
        redirect: "manual",
        ...(/^(?:GET|HEAD)$/.test(method) ? {} : { body: forwardedBody }),
      });
      const {
        "content-length": ____,
        "keep-alive": _____,
        connection: ______,
        ...responseHeaders
      } = Object.fromEntries(response.headers);
      const bytes = Buffer.from(await response.arrayBuffer());
      const passing: InterceptedMessage = {
        label: `${method} ${url.split("?")[0]}`,
        status: response.status,
        headers: responseHeaders,
        json: parseJsonIfValid(bytes.toString()),
      };
      if (changes === "responses") deviate(passing);
      const content = passing.json === undefined ? bytes : (passing.text ?? JSON.stringify(passing.json));
      outgoing.writeHead(passing.status, {
        ...passing.headers,
        ...(passing.isCompressed && { "content-encoding": "gzip" }),
      });
      outgoing.end(passing.isCompressed ? gzipSync(content) : content);
    });
  });
  return listen(t, server);
}
