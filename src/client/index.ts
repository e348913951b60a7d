// The typed client for programs: `import { createClient, operationById } from "svc-toolkit/client"`.
export { operationById, registry } from "../api/registry.ts";
export { type CallOptions, type Client, type ClientOptions, createClient } from "./client.ts";
export type { Credentials } from "./credentials.ts";
export {
  InvalidArguments,
  MisroutedCall,
  NetworkError,
  NoCredentials,
  ServiceError,
  UnreadableAnswer,
  WaitTooLong,
} from "./errors.ts";
export type { BaseUrls } from "./request.ts";
export type { Answer } from "./response.ts";
