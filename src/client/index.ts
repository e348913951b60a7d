// Typed client for programs: `import { createClient } from "svc-toolkit/client"`. The published types are in
// published.d.ts and need no schema library.
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
