// The typed client for programs: `import { createClient } from "svc-toolkit/client"`. Its published types are in
// published.d.ts: no schema library is needed to compile against them.
export {
  InvalidArgumentsError,
  InvalidResponseError,
  MisroutedRequestError,
  MissingCredentialsError,
  NetworkError,
  ResponseTooLargeError,
  RetryAfterTooLongError,
  ServiceError,
} from "./errors.ts";
export { createClient, operationIds } from "./named-client.ts";
