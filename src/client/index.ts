// The typed client for programs: `import { createClient } from "svc-toolkit/client"`. Its published types are in
// published.d.ts, because those of the schema library are not shipped. A test compares the two.
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
