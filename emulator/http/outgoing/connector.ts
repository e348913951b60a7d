import type { buildConnector } from "undici";
import createConnector from "undici/lib/core/connect.js";
import { skipContinue } from "../../../src/base/odd-answers.ts";

/** The head of an answer may have so much: four times what Node takes, since others are not so strict. */
export const maxHeadBytes = 65_536;

/** Connects as undici does, to servers that may answer 100 before they answer. */
export function connectorOf(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = createConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error) return callback(error, null);
      skipContinue(socket);
      callback(null, socket);
    });
}
